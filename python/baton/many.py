"""Many flows and handovers in few rows: one for each class, which the scenario writes as one."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

# From more flows or handovers on, those of a class share a row; of those in none, so many are listed.
MOST_ROWS = 20

Json = dict[str, Any]


class Spread(NamedTuple):
    """Median, 95th percentile and largest of some values; `None` without values."""

    median: float | None
    p95: float | None
    largest: float | None

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "Spread":
        """Returns percentiles of nearest rank, which are measured values."""
        known = sorted(value for value in values if value is not None)
        if not known:
            return cls(None, None, None)
        return cls(*(known[math.ceil(share * len(known)) - 1] for share in (0.5, 0.95, 1.0)))


class FlowClass(NamedTuple):
    """The flows of a class together."""

    name: str
    flows: list[Json]

    @property
    def completed(self) -> int:
        """Number of completed flows."""
        return sum(flow.get("completion_s") is not None for flow in self.flows)

    @property
    def goodput_bps(self) -> float:
        """Mean over the flows."""
        return float(sum(flow["goodput_bps"] for flow in self.flows)) / len(self.flows)

    def total(self, key: str) -> int | None:
        """Returns the sum of a count; `None` if it is unknown for one of the flows."""
        values = [flow.get(key) for flow in self.flows]
        return None if any(value is None for value in values) else sum(value for value in values if value is not None)

    @property
    def stall_s(self) -> Spread:
        """Longest stall of each flow."""
        return Spread.of(flow.get("longest_stall_s") for flow in self.flows)


class Fleet(NamedTuple):
    """The handovers of all mobiles that are written as one."""

    name: str
    handovers: list[Json]

    @property
    def mobiles(self) -> int:
        """Number of mobiles with a handover."""
        return len({handover["mobile"] for handover in self.handovers})

    @property
    def completed(self) -> int:
        """Number of completed handovers."""
        return sum(handover.get("completed_s") is not None for handover in self.handovers)

    @property
    def lost_packets(self) -> int:
        """Packets lost with old links and their queues."""
        return sum(handover.get("lost_packets") or 0 for handover in self.handovers)

    @property
    def stall_s(self) -> Spread:
        """Longest stall of a flow at each handover."""
        stalls = (
            max(
                (flow["stall_s"] for flow in handover.get("flows") or [] if flow.get("stall_s") is not None),
                default=None,
            )
            for handover in self.handovers
        )
        return Spread.of(stalls)


def unlisted_sentences(summary: Json) -> list[str]:
    """Returns a sentence about flows that are not listed, and one for each class whose last handovers are counted."""
    sentences = [_unlisted(each) for each in summary.get("unlisted_handovers") or []]
    if flows := summary.get("unlisted_flows"):
        listed = f"tables of flows have {len(summary['flows']):,} of all"
        sentences.insert(0, f"{flows:,} more flows are not listed (record.flows): {listed}, those of classes all.")
    return sentences


def _unlisted(counted: Json) -> str:
    mobiles = counted["mobile_class"] or "other mobiles"
    sentence = (
        f"{counted['handovers']:,} more handovers of {mobiles} are counted and not listed (record.handovers): "
        f"{counted['completed']:,} completed, {counted['lost_packets']:,} packets lost"
    )
    if counted["mean_s"] is None:
        return f"{sentence}."
    times = ", ".join(f"{name} {counted[key]:.3g} s" for name, key in _TIMES)
    return f"{sentence}. Time to completion: {times}."


_TIMES = (("mean", "mean_s"), ("median", "p50_s"), ("95 %", "p95_s"), ("99 %", "p99_s"), ("longest", "largest_s"))


def flow_classes(flows: Sequence[Json]) -> tuple[list[FlowClass], list[Json]]:
    """Returns classes of flows, in the order of their first flows, and the flows in none; no classes if there are few
    flows."""
    classes, others = _grouped(flows, lambda flow: flow.get("flow_class"))
    return [FlowClass(name, members) for name, members in classes.items()], others


def fleets(handovers: Sequence[Json]) -> tuple[list[Fleet], list[Json]]:
    """Returns mobiles that are written as one, and the handovers of others; no fleets if there are few handovers."""
    found, others = _grouped(handovers, lambda handover: handover.get("mobile_class"))
    return [Fleet(name, members) for name, members in found.items()], others


def _grouped(listed: Sequence[Json], name_of: Callable[[Json], str | None]) -> tuple[dict[str, list[Json]], list[Json]]:
    groups: dict[str, list[Json]] = {}
    others: list[Json] = []
    for each in listed:
        name = name_of(each) if len(listed) > MOST_ROWS else None
        (others if name is None else groups.setdefault(name, [])).append(each)
    return groups, others
