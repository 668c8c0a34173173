"""A run in a few numbers: the results of the transfers with the remedy at each handover, and those of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from baton.summary import Json
from baton.sweep.flatten import Row

from .loads import CALL, OTHER, PAGE


def row(summary: Mapping[str, Any]) -> Row:
    """Returns the numbers of a run by name.

    `bytes`, `spurious`: of all that have the remedy, over the whole run. `page_load_s`, `pages_unfinished`,
    `voice_gap_s`: of passengers. `handovers.N.…`: see `_of_handover`.
    """
    found: Row = {
        "bytes": sum(flow["delivered_bytes"] for flow in summary["flows"] if _is_treated(flow)),
        "spurious": sum(flow["spurious_retransmitted"] for flow in summary["flows"] if _is_treated(flow)),
        "aborted": sum(flow["failure"] is not None for flow in summary["flows"] if _is_treated(flow)),
    }
    found |= _of_pages(summary)
    begun = [_begin_s(handover) for handover in summary["handovers"]] + [summary["simulated_s"]]
    for number, handover in enumerate(summary["handovers"]):
        found |= {f"handovers.{number}.{key}": value for key, value in _of_handover(handover, begun[number + 1])}
    return found


def carried(handover: Json, end_s: float) -> float:
    """Returns bytes that the links carry from the announcement, or the start, to `end_s`: the old one as long as it is
    in use, in a soft handover until the new one is; then the new one, from the end of the outage on.
    """
    begun = _begin_s(handover)
    completed = end_s if handover["completed_s"] is None else handover["completed_s"]
    left = handover["at_s"] if handover["kind"] == "hard" else completed
    old, new = (handover[rate] or 0 for rate in ("old_rate_bps", "new_rate_bps"))
    return float(old * (left - begun) + new * (end_s - completed)) / 8


def _begin_s(handover: Json) -> float:
    announced: float | None = handover["announced_s"]
    return float(handover["at_s"]) if announced is None else announced


def _of_handover(handover: Json, end_s: float) -> Iterator[tuple[str, Any]]:
    """Measures a handover until the next one or the end: `bytes` of those with the remedy, bytes `carried` by the
    links, the longest `stall_s` (mean of downloads), `spurious` retransmissions; `other_bytes` and `fair` (Jain's
    index) if there is one without the remedy; and `voice_gap_s`, the mean of the calls' longest silences.
    """
    treated = [flow for flow in handover["flows"] if _is_treated(flow)]
    downloads = [flow for flow in treated if not flow["name"].startswith(PAGE)]
    yield "bytes", sum(flow["delivered_bytes"] for flow in treated)
    yield "carried", carried(handover, end_s)
    yield "stall_s", _mean([flow["stall_s"] for flow in downloads])
    yield "spurious", sum(flow["spurious_retransmissions"] for flow in treated)
    others = [flow["delivered_bytes"] for flow in handover["flows"] if flow["name"] == OTHER]
    if others:
        yield "other_bytes", sum(others)
        yield "fair", jain([*(flow["delivered_bytes"] for flow in treated), *others])
    calls = [flow["stall_s"] for flow in handover["flows"] if flow["name"].startswith(CALL)]
    if calls:
        yield "voice_gap_s", _mean(calls)


def _of_pages(summary: Mapping[str, Any]) -> Row:
    """Measures pages: the mean time from the request to completion of the finished ones, and the number of unfinished
    ones."""
    pages = [flow for flow in summary["flows"] if flow["name"].startswith(PAGE)]
    if not pages:
        return {}
    finished = [flow["completion_s"] for flow in pages if flow["completion_s"] is not None]
    return {"page_load_s": _mean(finished), "pages_unfinished": len(pages) - len(finished)}


def jain(shares: Sequence[float]) -> float | None:
    """Computes Jain's index: 1 if all have the same, 1/n if one has all (Jain, Chiu and Hawe, 1984)."""
    squares = sum(share * share for share in shares)
    return float(sum(shares)) ** 2 / (len(shares) * squares) if squares else None


def _is_treated(flow: Json) -> bool:
    return flow["name"] != OTHER and not flow["name"].startswith(CALL)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
