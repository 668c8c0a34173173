"""Study C: a cross-layer architecture for handovers between satellite and WiFi (C1 to C8)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from baton.live.trials import Figures
from baton.report.tables import Run

from .checks import Check, judge, load_expected, load_notes
from .transfer import Floats

#: Runs of each scenario; the seed draws the flow's start (ten RTTs) and the handovers' times (± one RTT).
RUNS = 10
#: Latencies of a handover (C3, C4, C6), in seconds: from five round trips of the new network up to 5 s.
TO_SATELLITE = (2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
TO_WIFI = (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
#: Packet error rates of C5, on the link of each direction.
ERRORS = (1e-4, 1e-3, 1e-2)
#: Chosen: the rate at which standard TCP counts as being at full rate, of what a link carries, and over which time.
FULL, OVER_S = 0.9, 2.0
#: Payload rates in bytes a second, of packets with 1460 B in 1500 B.
RATE = {"wifi": 2e6 / 8 * 1460 / 1500, "satellite": 1e6 / 8 * 1460 / 1500}
#: How long ahead each link says that it goes down, and its round-trip time.
AHEAD = {"wifi": 0.1, "satellite": 1.1}
ROUND_TRIP = {"wifi": "20 ms", "satellite": "500 ms"}
#: The same in seconds.
RTT = {"wifi": 0.02, "satellite": 0.5}


def reproduce(folder: Path, progress: Callable[[str], None] = lambda _: None) -> list[Check]:
    """All checks of the study, in the order of its file of expectations."""
    cases = (_baseline, _latencies, _errors, _ladder)
    tasks = [(case, seed) for seed in range(1, RUNS + 1) for case in cases]
    samples: dict[str, list[float]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda task: task[0](folder, task[1]), tasks)
        for (_, seed), figures in zip(tasks, found, strict=True):
            progress(f"seed {seed} of {RUNS}")
            _put(samples, figures)
    notes = load_notes(folder / "notes.toml")
    expected = load_expected(folder / "expected.toml")
    return [judge(check, samples.get(check.id, []), notes.get(check.id, "")) for check in expected]


def _put(samples: dict[str, list[float]], figures: Mapping[str, float | None]) -> None:
    for name, value in figures.items():
        if value is not None:
            samples.setdefault(name, []).append(float(value))


class Delivery:
    """A run's bytes over time, and its handovers."""

    def __init__(self, run: Run):
        series = run.find("flow transfer", "delivered bytes")
        assert series is not None, "the scenarios of the study record their series"
        self.times: Floats = series.time_ns / 1e9
        self.bytes: Floats = series.value
        self.handovers = run.summary["handovers"]
        self.flow = run.summary["flows"][0]
        self.end: float = run.summary["simulated_s"]

    def at(self, times: Floats | float) -> Floats:
        """Bytes delivered by these times."""
        place = np.searchsorted(self.times, times, side="right")
        known: Floats = np.concatenate([[0.0], self.bytes])[place]
        return known

    def at_full_rate(self, after: float, until: float, link: str) -> float:
        """When the transfer is at the link's full rate, or the end of what is looked at."""
        starts = np.arange(after, until - OVER_S, 0.01)
        rates = (self.at(starts + OVER_S) - self.at(starts)) / OVER_S
        full = np.flatnonzero(rates >= FULL * RATE[link])
        return float(starts[full[0]]) if len(full) else until


def simulate(file: Path, seed: int, remedies: str, overrides: list[str]) -> Delivery:
    """Runs one of the study's scenarios. Raises `ScenarioError`."""
    from baton import Scenario
    from baton.report.tables import run_of

    settings = [f"flows.transfer.remedies={remedies}", *overrides]
    return Delivery(run_of(Scenario.load(str(file), overrides=settings).run(seed=seed)))


def gain(scheme: Delivery, standard: Delivery, number: int, link: str) -> tuple[float, float]:
    """Bytes that a scheme has delivered more than standard TCP, from the trigger of a handover until standard TCP is at
    full rate; and the same in percent of what standard TCP has delivered by then."""
    handovers = standard.handovers
    begun = handovers[number]["at_s"]
    until = handovers[number + 1]["at_s"] if number + 1 < len(handovers) else standard.end
    old = "satellite" if link == "wifi" else "wifi"
    trigger, end = begun - AHEAD[old], standard.at_full_rate(handovers[number]["completed_s"], until, link)
    times = np.array([trigger, end])
    more, usual = np.diff(scheme.at(times))[0], np.diff(standard.at(times))[0]
    return float(more - usual), float(100 * (more - usual) / usual)


def _baseline(folder: Path, seed: int) -> Figures:
    """C1, C2 and C7: the study's three handovers."""
    figures: Figures = {}
    for group, file in (("C1", "upload.toml"), ("C2", "download.toml")):
        with_, without = (simulate(folder / file, seed, remedy, []) for remedy in ("eclair", "none"))
        for number, link in enumerate(("satellite", "wifi", "satellite")):
            letter = chr(ord("a") + number)
            figures[f"{group}.{letter}"] = gain(with_, without, number, link)[0] / 1e6
        lost = sum(handover["lost_packets"] for handover in with_.handovers)
        figures["C7.a" if group == "C1" else "C7.b"] = lost
        seconds = [_ahead(with_, without, number) for number in range(3)]
        figures["C7.c" if group == "C1" else "C7.d"] = min(seconds)
    return figures


def _ahead(scheme: Delivery, standard: Delivery, number: int) -> float:
    """Seconds after a handover in which the scheme is more than 0.5 Mbit/s faster, by means over a second."""
    completed = scheme.handovers[number]["completed_s"]
    starts = np.arange(completed, min(completed + 11, scheme.end - 1), 0.1)
    faster = np.array([(d.at(starts + 1) - d.at(starts)) * 8 for d in (scheme, standard)])
    return float(np.count_nonzero(faster[0] - faster[1] > 5e5) * 0.1)


def _single(link: str, latency: float, at: float) -> list[str]:
    """What leaves a scenario one handover, to a link."""
    old = "wifi" if link == "satellite" else "satellite"
    first = f"{{ at = '0 s', attach = '{old}' }}"
    second = (
        f"{{ at = '{at} s', attach = '{link}', handover = 'hard', outage = '{latency} s',"
        f" announced = '{AHEAD[old]} s', jitter = '{ROUND_TRIP[old]}' }}"
    )
    return [f"mobiles.mobile.timetable=[{first}, {second}]"]


def _latencies(folder: Path, seed: int) -> Figures:
    """C3, C4 and C6: one handover, by its latency."""
    figures: Figures = {}
    for group, link, latencies in (("C3", "satellite", TO_SATELLITE), ("C4", "wifi", TO_WIFI)):
        gains: dict[str, list[float]] = {"upload": [], "download": []}
        beaten = 0
        for latency in latencies:
            settings = _single(link, latency, 20)
            for way, found in gains.items():
                file = folder / f"{way}.toml"
                standard = simulate(file, seed, "none", settings)
                scheme = simulate(file, seed, "eclair", settings)
                found.append(gain(scheme, standard, 0, link)[1])
                if way == "upload":
                    peer = simulate(file, seed, "atcp", settings)
                    beaten += gain(peer, standard, 0, link)[0] < gain(scheme, standard, 0, link)[0]
        figures[f"{group}.a"] = min(gains["upload"])
        figures[f"{group}.b"] = max(gains["upload"])
        figures[f"{group}.c"] = float(np.mean(gains["download"]) - np.mean(gains["upload"]))
        figures["C6.a" if group == "C3" else "C6.b"] = beaten / len(latencies)
    return figures


def _errors(folder: Path, seed: int) -> Figures:
    """C5: a transfer of 100 s, its handover at 50 s, with packet errors on the links."""
    figures: Figures = {}
    names = iter("abcdef")
    for link in ("satellite", "wifi"):
        for rate in ERRORS:
            errors = [f"links.{each}.packet_error_rate={rate}" for each in ("wifi", "satellite")]
            settings = ["duration=100 s", *_single(link, 4, 50), *errors]
            scheme, standard = (simulate(folder / "upload.toml", seed, each, settings) for each in ("eclair", "none"))
            whole = scheme.flow["delivered_bytes"] - standard.flow["delivered_bytes"]
            figures[f"C5.{next(names)}"] = whole / 1e6
    return figures


def _ladder(folder: Path, seed: int) -> Figures:
    """C8: the signalling of a handover to each link, by the table of signals."""
    from baton import Scenario
    from baton.report.tables import run_of

    run = run_of(Scenario.load(str(folder / "ladder.toml")).run(seed=seed))
    figures: Figures = {}
    for handover, names, link in zip(run.summary["handovers"], ("ac", "bd"), ("satellite", "wifi"), strict=True):
        begun = round(handover["at_s"] * 1e9)
        told = (s.sent_ns for s in run.signals if s.name == "Route Optimized" and s.sent_ns > begun)
        end = next(told, None)
        if end is None:
            continue
        whole, under_way = (end - begun) / 1e9, _under_way(run, begun, end) / 1e9
        for name, seconds in zip(names, (whole, under_way), strict=True):
            figures[f"C8.{name}"] = seconds / RTT[link]
    return figures


def _under_way(run: Run, begin: int, end: int) -> int:
    """Nanoseconds between two moments in which a message of the mobile's, or to it, is under way."""
    total, until = 0, begin
    for signal in run.signals:
        if signal.kind != "message" or "mobile" not in (signal.sender, signal.receiver) or signal.decided_ns is None:
            continue
        since, arrived = max(signal.sent_ns, until), min(signal.decided_ns, end)
        total += max(arrived - since, 0)
        until = max(until, arrived)
    return total
