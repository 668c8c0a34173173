"""A run of study C, its deliveries over time, and the gain of a scheme."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from baton import Scenario
from baton.report.tables import Run, run_of

from .transfer import Floats

#: Latencies of a handover to each link (C3, C4, C6), in seconds: from five round trips of the new network up to 5 s.
LATENCIES = {"satellite": (2.5, 3.0, 3.5, 4.0, 4.5, 5.0), "wifi": (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)}
#: Packet error rates of C5, on the link of each direction.
ERRORS = (1e-4, 1e-3, 1e-2)
#: Chosen: the rate at which standard TCP counts as being at full rate, of what a link carries, and over which time.
FULL, OVER_S = 0.9, 2.0
#: Payload rates in bytes a second, of packets with 1460 B in 1500 B.
RATE = {"wifi": 2e6 / 8 * 1460 / 1500, "satellite": 1e6 / 8 * 1460 / 1500}

#: Time from each link's announcement that it goes down until it does, and the link's round-trip time, in seconds.
AHEAD = {"wifi": 0.35, "satellite": 1.2}
RTT = {"wifi": 0.02, "satellite": 0.5}


class Delivery:
    """A run's bytes over time, and its handovers."""

    def __init__(self, run: Run):
        series = run.find("flow transfer", "delivered bytes")
        assert series is not None, "the scenarios of the study record their series"
        self.times: Floats = series.time_ns / 1e9
        self.bytes: Floats = series.value
        self.handovers = run.summary["handovers"]
        self.flow = run.summary["flows"][0]
        #: End of the observed time, in seconds, and the share of a link's rate that counts as full.
        self.end: float = run.summary["simulated_s"]
        self.full = FULL

    def at(self, times: Floats | float) -> Floats:
        """Returns the bytes delivered by these times."""
        place = np.searchsorted(self.times, times, side="right")
        known: Floats = np.concatenate([[0.0], self.bytes])[place]
        return known

    def at_full_rate(self, after: float, until: float, link: str) -> float:
        """Returns the time at which the transfer is at the link's full rate, or the end of the observed time."""
        starts = np.arange(after, until - OVER_S, 0.01)
        rates = (self.at(starts + OVER_S) - self.at(starts)) / OVER_S
        full = np.flatnonzero(rates >= self.full * RATE[link])
        return float(starts[full[0]]) if len(full) else until


def simulate(file: Path, seed: int, remedies: str, overrides: list[str]) -> Delivery:
    """Runs one of the study's scenarios. Raises `ScenarioError`."""
    settings = [f"flows.transfer.remedies={remedies}", 'record.series=["delivered bytes"]', *overrides]
    return Delivery(run_of(Scenario.load(str(file), overrides=settings).run(seed=seed)))


def gain(scheme: Delivery, standard: Delivery, number: int, link: str) -> tuple[float, float]:
    """Returns the bytes that a scheme delivers beyond standard TCP, from the trigger of a handover until standard TCP
    is at full rate, and the same in percent of standard TCP's bytes by then."""
    handovers = standard.handovers
    begun = handovers[number]["at_s"]
    until = handovers[number + 1]["at_s"] if number + 1 < len(handovers) else standard.end
    old = "satellite" if link == "wifi" else "wifi"
    trigger, end = begun - AHEAD[old], standard.at_full_rate(handovers[number]["completed_s"], until, link)
    times = np.array([trigger, end])
    more, usual = np.diff(scheme.at(times))[0], np.diff(standard.at(times))[0]
    return float(more - usual), float(100 * (more - usual) / usual)


def single(link: str, latency: float, at: float) -> list[str]:
    """Returns the overrides that leave a scenario one handover, to a link."""
    old = "wifi" if link == "satellite" else "satellite"
    first = f"{{ at = '0 s', attach = '{old}' }}"
    second = (
        f"{{ at = '{at} s', attach = '{link}', handover = 'hard', outage = '{latency} s',"
        f" announced = '{AHEAD[old]} s', jitter = '{RTT[old]} s' }}"
    )
    return [f"mobiles.mobile.timetable=[{first}, {second}]"]
