"""Runs of study S, and its measures: windows, goodput, timeouts and convergence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from baton import Scenario
from baton.report.tables import Run, run_of

from .transfer import Floats

#: Payload of a packet of 1500 B behind 20 B of TCP, 40 B of IPv6 and 40 B of tunnel.
SEGMENT = 1400
#: The train enters the tunnel and leaves it, in seconds.
ENTERS, LEAVES = 405.0, 525.0
#: The most that a window can be over the satellite, in packets: 242 of its pipe, and 250 of its queue (section 7).
MOST = 492
#: Goodput of both flows, in bit/s, when the satellite's 5 Mbit/s are full.
AVAILABLE = 5e6 * SEGMENT / 1500
#: Chosen: the part of the most at which a window is full; δ of the δ-fair convergence time, and the time over which
#: goodput is averaged for it, in seconds (studies/S/parameters.toml).
FULL, DELTA, OVER_S = 0.9, 0.1, 50

#: Chosen: share of the window that a loss takes from BIC, as in the code of its authors (studies/S/README.md).
BIC_DECREASE = 0.2
#: The study's S_min and S_max (section 7).
_BIC = (
    'transport.congestion={ kind = "bic", smallest_increment = 0.25, largest_increment = 32, decrease = BIC_DECREASE }'
)
_SCPS = ["transport.profile=scps-tp", "transport.sack=false", "transport.recovery=newreno"]


@dataclass(frozen=True)
class Scheme:
    """Scheme of a flow: settings of a flow, and those that only a flow with handovers can have."""

    name: str
    settings: Sequence[str] = ()
    moving: Sequence[str] = ()


#: The study's, and those that it names for further study. The proxy is its gateways': of two trains both have it.
SCHEMES = {
    "newreno": Scheme("NewReno"),
    "method-1": Scheme("method #1", moving=["remedies=method-1"]),
    "method-2": Scheme("method #2", moving=["remedies=method-2"]),
    "bic": Scheme("BIC", [_BIC]),
    "scalable": Scheme("Scalable", ["transport.congestion=scalable"]),
    "westwood": Scheme("Westwood+", ["transport.congestion=westwood"]),
    "forgetting": Scheme("Westwood+, reset", ["transport.congestion=westwood"], ["remedies=forgotten-path"]),
    "cubic": Scheme("CUBIC", ["transport.congestion=cubic"]),
    "bbr": Scheme("BBR", ["transport.congestion=bbr", "transport.profile=linux-6", "transport.recovery=linux"]),
    "scps-vj": Scheme("SCPS-TP, VJ", [*_SCPS, "transport.congestion=newreno"]),
    "scps-vegas": Scheme("SCPS-TP, Vegas", [*_SCPS, "transport.congestion=vegas"]),
    "pep": Scheme("satellite PEP", ["remedies=satellite-pep"]),
}
#: Of one flow: the study's six schemes, and those that go beyond it.
STUDIED = ("newreno", "method-1", "method-2", "bic", "scalable", "westwood")
BEYOND = ("cubic", "bbr", "scps-vj", "scps-vegas", "pep")

#: What a flow is measured by; queues, most of all rows, are left out.
_RECORDED = 'record.series=["congestion window", "delivered bytes", "smoothed round-trip time"]'


@dataclass(frozen=True)
class Flow:
    """A flow of a run, second by second; windows in packets."""

    window: Floats
    #: Bytes delivered by the end of each second.
    delivered: Floats
    #: Smoothed, in seconds.
    rtt: Floats
    #: Times at which the window fell to one packet: a timeout that did not follow another one.
    timeouts: Floats
    #: The largest window in the tunnel, from ten seconds after its beginning.
    largest_in_tunnel: float

    def mean_window(self, begin: float, end: float) -> float:
        """Returns the mean window over a time."""
        return float(self.window[int(begin) : int(end)].mean())

    def goodput(self, begin: float, end: float) -> float:
        """Returns the goodput in bit/s, over a time."""
        return float(self.delivered[int(end)] - self.delivered[int(begin)]) * 8 / (end - begin)

    def goodputs(self) -> Floats:
        """Returns the goodput in bit/s, over ``OVER_S`` from each second on."""
        rates: Floats = (self.delivered[OVER_S:] - self.delivered[:-OVER_S]) * 8 / OVER_S
        return rates

    def full_after(self, at: float) -> float:
        """Returns the time from a moment until the window is full, or the run ends."""
        full = np.flatnonzero(self.window[int(at) :] >= FULL * MOST)
        return float(full[0]) if len(full) else len(self.window) - 1 - at

    def timeouts_in(self, begin: float, end: float) -> int:
        """Counts the falls of the window to one packet."""
        return int(np.count_nonzero((self.timeouts >= begin) & (self.timeouts < end)))

    def round_trips(self, begin: float, end: float) -> float:
        """Returns the round trips that fit a time, each as long as it was then."""
        known = self.rtt[int(begin) : int(end)]
        return float(np.sum(1 / known[known > 0]))


def simulate(file: Path, seed: int, schemes: Mapping[str, str], overrides: Sequence[str] = ()) -> list[Flow]:
    """Runs a scenario of the study, with a scheme for each of its flows. Raises `ScenarioError`."""
    run = result(file, seed, schemes, overrides)
    return [_flow(run, name) for name in schemes]


def result(file: Path, seed: int, schemes: Mapping[str, str], overrides: Sequence[str] = ()) -> Run:
    """Simulates the same, and returns the whole result."""
    settings = [_RECORDED, *overrides]
    for place, (flow, key) in enumerate(schemes.items()):
        chosen = SCHEMES[key]
        # Of two trains only the first meets the tunnel; of the other nobody sends updates to hear.
        own = [*chosen.settings, *(chosen.moving if place == 0 else [])]
        settings += [f"flows.{flow}.{setting.replace('BIC_DECREASE', str(BIC_DECREASE))}" for setting in own]
    return run_of(Scenario.load(str(file), overrides=settings).run(seed=seed))


def series(run: Run, flow: str, quantity: str) -> tuple[Floats, Floats]:
    """Returns times and values of one of a flow's series."""
    found = run.find(f"flow {flow}", quantity)
    assert found is not None, "the scenarios of the study record their series"
    return found.time_ns / 1e9, found.value


def _flow(run: Run, name: str) -> Flow:
    seconds = np.arange(int(run.duration_s) + 1, dtype=np.float64)
    times, window = series(run, name, "congestion window")
    window = window / SEGMENT
    fell = (window[1:] <= 1) & (window[:-1] > 1)
    in_tunnel = window[(times > ENTERS + 10) & (times < LEAVES - 1)]
    return Flow(
        window=_at(seconds, times, window),
        delivered=_at(seconds, *series(run, name, "delivered bytes")),
        rtt=_at(seconds, *series(run, name, "smoothed round-trip time")),
        timeouts=times[1:][fell],
        largest_in_tunnel=float(in_tunnel.max(initial=0)),
    )


def _at(moments: Floats, times: Floats, values: Floats) -> Floats:
    """Returns a series' values at moments; zero before its first."""
    known: Floats = np.concatenate([[0.0], values])[np.searchsorted(times, moments, side="right")]
    return known


def jain(one: Floats, other: Floats) -> Floats:
    """Returns Jain's index of two rates: 1 if they are equal, a half if one is zero; zero if both are."""
    squares = 2 * (one**2 + other**2)
    index: Floats = np.divide((one + other) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    return index


def convergence(one: Flow, other: Flow) -> float:
    """Returns the δ-fair convergence time (RFC 5166): from the second handover until each of two flows has a share of
    (1 - δ)/2 of what the satellite can deliver, or until the run ends."""
    slower = np.minimum(one.goodputs(), other.goodputs())[int(LEAVES) :]
    return _first(slower >= (1 - DELTA) / 2 * AVAILABLE, one)


def equal_windows(one: Flow, other: Flow) -> float:
    """Returns the time from the second handover until two windows differ by a packet at most, or until the run ends."""
    return _first(np.abs(one.window - other.window)[int(LEAVES) :] <= 1, one)


def _first(holds: np.ndarray, flow: Flow) -> float:
    found = np.flatnonzero(holds)
    return float(found[0]) if len(found) else len(flow.delivered) - 1 - LEAVES
