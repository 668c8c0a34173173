"""A run in a few sentences: who moved where and when, the cost, and the flows' results."""

from __future__ import annotations

from typing import Any

from baton import losses
from baton.cells import CellNames
from baton.many import unlisted_sentences
from baton.overload import overload_sentences

from .handovers import handovers_in_order
from .text_tables import number, quantity

# Handovers of one mobile, and flows, that are told one by one; of more, how many, and the worst.
MOST_TOLD, MOST_FLOWS = 2, 2


def what_happened(summary: dict[str, Any]) -> str:
    """Returns the sentences; none for a summary without flows and handovers."""
    told = [
        _moves(summary),
        _flows(summary.get("flows") or []),
        _failures(summary),
        *unlisted_sentences(summary),
        *overload_sentences(summary),
    ]
    return " ".join(sentence for sentence in told if sentence)


def _moves(summary: dict[str, Any]) -> str:
    listed, names = handovers_in_order(summary), CellNames.of(summary)
    if not listed:
        return "There was no handover." if summary.get("flows") else ""
    mobiles = list(dict.fromkeys(str(handover.get("mobile") or "mobile") for handover in listed))
    if len(mobiles) > 1:
        return f"{number(len(mobiles))} mobiles moved {number(len(listed))} times{_worst(listed)}."
    moves = [
        f"from {names.shown(each.get('from') or 'no link')} to {names.shown(each.get('to') or 'no link')}"
        f" at {_seconds(each['at_s'])}{'' if each.get('completed_s') is not None else ', which did not complete'}"
        for each in listed
    ]
    if len(moves) <= MOST_TOLD:
        return f"The {mobiles[0]} moved {' and '.join(moves)}{_worst(listed)}."
    return f"The {mobiles[0]} moved {number(len(moves))} times, first {moves[0]}{_worst(listed)}."


def _worst(listed: list[dict[str, Any]]) -> str:
    """Describes the handovers' effect on the flow with the longest stall, as the end of a sentence."""
    found = [
        (float(flow["stall_s"]), flow, handover)
        for handover in listed
        for flow in handover.get("flows") or []
        if flow.get("stall_s") is not None
    ]
    if not found:
        return ""
    stall, flow, handover = max(found, key=lambda each: each[0])
    lost = losses.at_handover(flow)
    what = f" and lost {number(lost)} packet{'' if lost == 1 else 's'}" if lost else ""
    if len(found) == 1:
        return f"; {flow['name']} stalled for {_seconds(stall)}{what}"
    where = f" after the one at {_seconds(handover['at_s'])}" if len(listed) > 1 else ""
    return f"; {flow['name']} stalled longest{where}, for {_seconds(stall)}{what}"


def _flows(flows: list[dict[str, Any]]) -> str:
    ran = [flow for flow in flows if flow.get("delivered_bytes") is not None]
    if not ran:
        return ""
    if len(ran) <= MOST_FLOWS:
        parts = [
            f"{flow['name']} delivered {quantity(flow['delivered_bytes'], 'B')}"
            + (f" at {quantity(flow['goodput_bps'], 'bit/s')}" if flow.get("goodput_bps") is not None else "")
            + _completion(flow)
            for flow in ran
        ]
        return f"The flow {'; '.join(parts)}."
    total = quantity(sum(flow["delivered_bytes"] for flow in ran), "B")
    return f"{number(len(ran))} flows delivered {total}."


def _completion(flow: dict[str, Any]) -> str:
    done = flow.get("completion_s")
    return f" and was complete after {_seconds(done)}" if done is not None else ""


def _failures(summary: dict[str, Any]) -> str:
    failed = [flow for flow in summary.get("flows") or [] if flow.get("failure")]
    if not failed:
        return ""
    if len(failed) == 1:
        return f"The flow {failed[0]['name']} failed: {failed[0]['failure']}."
    return f"{number(len(failed))} flows failed."


def _seconds(value: Any) -> str:
    """Writes a time with three digits, which are enough for a sentence."""
    return f"{float(value):.3g}\u00a0s" if float(value) < 1000 else f"{number(round(float(value)))}\u00a0s"
