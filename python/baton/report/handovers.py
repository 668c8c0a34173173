"""Events at each handover: marks for the panels and the rows of the table."""

from typing import Any, NamedTuple

from baton import losses
from baton.cells import CellNames


class Mark(NamedTuple):
    """A handover in the panels. With `outage` nothing passed from its beginning to its completion.

    A close-up shows the stretch from `from_s` to `to_s`, in which its effects are visible.
    """

    at_s: float
    completed_s: float | None
    label: str
    outage: bool
    from_s: float
    to_s: float
    flows: list[str]
    """Flows of the mobile; of none that is known, all flows are drawn with it."""


def marks(summary: dict[str, Any], duration_s: float) -> list[Mark]:
    """Returns the handovers of a run, ascending in time. The first attachment of a mobile does not count."""
    found, names = [], CellNames.of(summary)
    for handover in handovers_in_order(summary):
        at, completed = float(handover["at_s"]), handover.get("completed_s")
        label = names.shown(f"{handover.get('from') or 'none'} → {handover.get('to') or 'none'}")
        flows = [str(flow.get("name")) for flow in handover.get("flows") or []]
        hard = handover.get("kind") == "hard" and completed is not None and completed > at
        length = max(_affects(handover), duration_s / 500)
        found.append(Mark(at, completed, label, hard, at - 0.35 * length, at + 1.35 * length, flows))
    return found


def _affects(handover: dict[str, Any]) -> float:
    """Returns the longest duration measured of a handover, in seconds."""
    times = [(handover.get("completed_s") or 0.0) - float(handover["at_s"])]
    for flow in handover.get("flows") or []:
        times += [flow.get("stall_s") or 0.0, flow.get("time_to_90_percent_s") or 0.0]
    return max(times)


def handovers_in_order(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the handovers of a summary, ascending in time."""
    listed = [h for h in summary.get("handovers") or [] if h.get("at_s") is not None]
    return sorted(listed, key=lambda handover: float(handover["at_s"]))


def links_moved_between(summary: dict[str, Any], flow: str) -> set[str]:
    """Returns the links between which the mobiles of a flow move."""
    met = [
        each for each in summary.get("handovers") or [] if flow in [one.get("name") for one in each.get("flows") or []]
    ]
    return {str(each[end]) for each in met for end in ("from", "to") if each.get(end)}


class HandoverRow(NamedTuple):
    """A row of the table: a handover as one flow met it. `None` means not measured or not reached."""

    number: int
    at_s: float
    mobile: str
    way: str
    kind: str
    switch_s: float | None
    flow: str
    stall_s: float | None
    interruption_s: tuple[float | None, float | None]
    """Time from the last packet over the old link to the first over the new, to the sink and back."""
    lost: str | None
    spurious_retransmissions: int | None
    time_to_90_percent_s: float | None


def rows(summary: dict[str, Any]) -> list[HandoverRow]:
    """Returns a row for each handover and flow; one row without a flow where no flow was measured."""
    table, names = [], CellNames.of(summary)
    for number, handover in enumerate(handovers_in_order(summary), start=1):
        at, completed = float(handover["at_s"]), handover.get("completed_s")
        flows = handover.get("flows") or [{"name": "", "lost_packets": handover.get("lost_packets")}]
        for flow in flows:
            interrupted, lost = flow.get("packet_interruption_s") or {}, flow.get("lost_packets")
            table.append(
                HandoverRow(
                    number,
                    at,
                    str(handover.get("mobile") or ""),
                    names.shown(f"{handover.get('from') or 'none'} → {handover.get('to') or 'none'}"),
                    str(handover.get("kind") or ""),
                    completed - at if completed is not None else None,
                    str(flow.get("name") or ""),
                    flow.get("stall_s"),
                    (interrupted.get("to_sink"), interrupted.get("to_source")),
                    losses.of_handover_flow(flow) or (None if lost is None else f"{lost:,}"),
                    flow.get("spurious_retransmissions"),
                    flow.get("time_to_90_percent_s"),
                )
            )
    return table
