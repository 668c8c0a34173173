"""Study C: a cross-layer architecture for handovers between satellite and WiFi (C1 to C9)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from baton import Scenario
from baton.live.trials import Figures
from baton.report.tables import Run, run_of
from baton.sweep.engines import Engine

from .checks import Reproduced, judged, put
from .spread import spread
from .study_c_figures import draw
from .study_c_mobility import mobility
from .study_c_run import ERRORS, LATENCIES, RTT, Delivery, gain, simulate, single

#: Runs of each scenario; the seed draws the flow's start (ten RTTs) and the handovers' times (± one RTT).
RUNS = 20


def reproduce(
    folder: Path,
    progress: Callable[[str], None] = lambda _: None,
    seeds: int = RUNS,
    engine: Engine | None = None,
) -> Reproduced:
    """Makes all checks of the study, in the order of its file of expectations."""
    cases = (_baseline, _latencies, _errors, _ladder, mobility)
    tasks = [(case, (seed,)) for seed in range(1, seeds + 1) for case in cases]
    samples: dict[str, list[float]] = {}
    for (_, (seed,)), values in zip(tasks, spread(engine, folder, tasks), strict=True):
        progress(f"seed {seed} of {seeds}")
        put(samples, values)
    return Reproduced(judged(folder, samples), draw(folder, samples))


def _baseline(folder: Path, seed: int) -> Figures:
    """Measures C1, C2 and C7: the study's three handovers."""
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
    """Returns the seconds after a handover in which the scheme is more than 0.5 Mbit/s faster, by means over a
    second."""
    completed = scheme.handovers[number]["completed_s"]
    starts = np.arange(completed, min(completed + 11, scheme.end - 1), 0.1)
    faster = np.array([(d.at(starts + 1) - d.at(starts)) * 8 for d in (scheme, standard)])
    return float(np.count_nonzero(faster[0] - faster[1] > 5e5) * 0.1)


def _latencies(folder: Path, seed: int) -> Figures:
    """Measures C3, C4 and C6: one handover, by its latency; returns the gains, too, for the figures."""
    figures: Figures = {}
    for group, link in (("C3", "satellite"), ("C4", "wifi")):
        gains: dict[str, list[float]] = {"upload": [], "download": []}
        beaten = 0
        for latency in LATENCIES[link]:
            settings = single(link, latency, 20)
            for way, found in gains.items():
                file = folder / f"{way}.toml"
                standard = simulate(file, seed, "none", settings)
                scheme = simulate(file, seed, "eclair", settings)
                found.append(gain(scheme, standard, 0, link)[1])
                figures[f"{way} {link} {latency}"] = found[-1]
                if way == "upload":
                    peer = gain(simulate(file, seed, "atcp", settings), standard, 0, link)[1]
                    figures[f"atcp {link} {latency}"] = peer
                    beaten += peer < found[-1]
        figures[f"{group}.a"] = min(gains["upload"])
        figures[f"{group}.b"] = max(gains["upload"])
        figures[f"{group}.c"] = float(np.mean(gains["download"]) - np.mean(gains["upload"]))
        figures["C6.a" if group == "C3" else "C6.b"] = beaten / len(LATENCIES[link])
    return figures


def _errors(folder: Path, seed: int) -> Figures:
    """Measures C5: a transfer of 100 s each way, its handover at 50 s, with packet errors on the links; returns the
    megabytes delivered, too, for the figures."""
    figures: Figures = {}
    names = iter("abcdefghijkl")
    for way in ("upload", "download"):
        for link in ("satellite", "wifi"):
            for rate in ERRORS:
                errors = [f"links.{each}.packet_error_rate={rate}" for each in ("wifi", "satellite")]
                settings = ["duration=100 s", *single(link, 4, 50), *errors]
                delivered = {
                    remedy: simulate(folder / f"{way}.toml", seed, remedy, settings).flow["delivered_bytes"] / 1e6
                    for remedy in ("eclair", "none")
                }
                figures[f"C5.{next(names)}"] = delivered["eclair"] - delivered["none"]
                for remedy, megabytes in delivered.items():
                    figures[f"errors {way} {link} {rate} {remedy}"] = megabytes
    return figures


def _ladder(folder: Path, seed: int) -> Figures:
    """Measures C8: the signalling of a handover to each link, by the table of signals."""
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
    """Returns the nanoseconds between two moments in which a message from or to the mobile is under way."""
    total, until = 0, begin
    for signal in run.signals:
        if signal.kind != "message" or "mobile" not in (signal.sender, signal.receiver) or signal.decided_ns is None:
            continue
        since, arrived = max(signal.sent_ns, until), min(signal.decided_ns, end)
        total += max(arrived - since, 0)
        until = max(until, arrived)
    return total
