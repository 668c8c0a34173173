"""Common quantities of two runs, as numbers side by side; and those that only one has.

Flows are matched by name, or in their order if no name is in both runs: the flows of a simulated run and the
conversations of a program bear different names. Handovers are matched in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from baton.report.shares import Series
from baton.report.tables import Run
from baton.summary import Json

from .remarks import remarks
from .runs import flows, handovers
from .signalling import HandoverPair, at_handovers

# Keys of a flow's summary, with the name that is shown and the unit.
OF_SUMMARY = {
    "goodput_bps": ("goodput", "bit/s"),
    "completion_s": ("completion", "s"),
    "delivered_bytes": ("delivered", "B"),
    "retransmitted": ("retransmissions", ""),
    "spurious_retransmitted": ("of these spurious", ""),
    "timeouts": ("timeouts", ""),
    "lost_packets": ("packets lost", ""),
    "longest_stall_s": ("longest stall", "s"),
}
# By preference: what both runs recorded is compared. Smoothed, a live run has it too.
ROUND_TRIP_TIMES = {"smoothed round-trip time": "smoothed RTT", "round-trip time": "RTT"}
QUANTILES = (5, 50, 95)


@dataclass(frozen=True)
class Quantity:
    """One quantity in both runs; nothing where a run has no value."""

    key: str
    name: str
    unit: str
    a: float | None
    b: float | None

    @property
    def difference(self) -> float | None:
        """Excess of the second over the first."""
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def relative(self) -> float | None:
        """The difference as a share of the first."""
        return self.difference / abs(self.a) if self.difference is not None and self.a else None

    def to_json(self) -> Json:
        """Returns the object that `--json` prints."""
        values = {"a": self.a, "b": self.b, "difference": self.difference, "relative": self.relative}
        return {"quantity": self.key, "unit": self.unit, **values}


@dataclass(frozen=True)
class FlowPair:
    """A flow of the first run, its counterpart in the second, and their quantities."""

    a: str
    b: str
    transport: str
    quantities: list[Quantity]

    @property
    def name(self) -> str:
        """One name for both."""
        return self.a if self.a == self.b else f"{self.a} / {self.b}"


@dataclass(frozen=True)
class Comparison:
    """Two runs, their common quantities, and remarks on the rest."""

    a: Run
    b: Run
    pairs: list[FlowPair]
    handovers: list[HandoverPair]
    remarks: list[str]


def compare(a: Run, b: Run) -> Comparison:
    """Compares two runs."""
    flows_a, flows_b = ({flow["name"]: flow for flow in flows(run)} for run in (a, b))
    common = [(name, name) for name in flows_a if name in flows_b]
    matched = common or list(zip(flows_a, flows_b, strict=False))
    pairs = [
        FlowPair(one, other, str(flows_a[one].get("transport")), [*_quantities(a, flows_a[one], b, flows_b[other])])
        for one, other in matched
    ]
    return Comparison(a, b, pairs, at_handovers(a, b), [*remarks(a, b, matched)])


def _quantities(a: Run, flow_a: Json, b: Run, flow_b: Json) -> Iterator[Quantity]:
    rows = [
        *(Quantity(key, name, unit, flow_a.get(key), flow_b.get(key)) for key, (name, unit) in OF_SUMMARY.items()),
        *_round_trip_times(a, flow_a["name"], b, flow_b["name"]),
        *_at_handovers(a, flow_a["name"], b, flow_b["name"]),
    ]
    yield from (row for row in rows if row.a is not None or row.b is not None)


def _round_trip_times(a: Run, name_a: str, b: Run, name_b: str) -> Iterator[Quantity]:
    def of_both(quantity: str) -> list[Series | None]:
        return [a.find(f"flow {name_a}", quantity), b.find(f"flow {name_b}", quantity)]

    quantity = next(
        (each for each in ROUND_TRIP_TIMES if all(one is not None for one in of_both(each))), "round-trip time"
    )
    series, shown, weighted = of_both(quantity), ROUND_TRIP_TIMES[quantity], quantity.startswith("smoothed")
    for percent in QUANTILES:
        values = [None if one is None else quantile(one, percent / 100, weighted=weighted) for one in series]
        key = f"{'smoothed_' if weighted else ''}rtt_{percent}_percent_s"
        yield Quantity(key, f"{shown}, {percent} %", "s", *values)


def quantile(series: Series, share: float, *, weighted: bool) -> float:
    """Returns a quantile of the samples; with `weighted`, for a state, each value counts for as long as it lasts.

    So a state that one run records at each change and another at intervals is measured alike.
    """
    if not weighted or len(series.value) == 1:
        return float(np.quantile(series.value, share))
    lasted = np.diff(series.time_ns).astype(float)
    order = np.argsort(series.value[:-1], kind="stable")
    below = np.cumsum(lasted[order])
    place = min(int(np.searchsorted(below, share * below[-1])), len(order) - 1)
    return float(series.value[:-1][order][place])


def _at_handovers(a: Run, name_a: str, b: Run, name_b: str) -> Iterator[Quantity]:
    for number, pair in enumerate(zip(handovers(a), handovers(b), strict=False), start=1):
        named = list(zip((a, b), pair, (name_a, name_b), strict=True))
        windows = [_window(run, handover, name) for run, handover, name in named]
        stalls = [_of_flow(handover, name, "stall_s") for _, handover, name in named]
        yield Quantity(f"handover_{number}_window_bytes", f"window at handover {number}", "B", *windows)
        yield Quantity(f"handover_{number}_stall_s", f"stall at handover {number}", "s", *stalls)
        lost = [_lost(handover, name) for _, handover, name in named]
        yield Quantity(f"handover_{number}_lost_packets", f"packets lost at handover {number}", "", *lost)


def _window(run: Run, handover: Json, name: str) -> float | None:
    """Returns the congestion window when a handover begins: the last that was recorded by then."""
    series = run.find(f"flow {name}", "congestion window")
    if series is None:
        return None
    place = int(np.searchsorted(series.time_ns, round(handover["at_s"] * 1e9), side="right"))
    return float(series.value[place - 1]) if place else None


def _lost(handover: Json, name: str) -> float | None:
    """Returns the lost packets of a flow, including those that a host without a link could not send."""
    lost = _of_flow(handover, name, "lost_packets")
    by_cause = _of_flow(handover, name, "lost_by") or {}
    return None if lost is None else lost + sum(causes.get("host", 0) for causes in by_cause.values())


def _of_flow(handover: Json, name: str, key: str) -> Any:
    return next((flow.get(key) for flow in handover.get("flows") or [] if flow["name"] == name), None)
