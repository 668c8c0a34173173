"""The figures of one run, simulated or live, from the same code."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from baton.live.trials import Figures
from baton.report.shares import Series
from baton.report.tables import Run
from baton.summary import Json

OF_SUMMARY = ("goodput_bps", "completion_s", "retransmitted", "spurious_retransmitted", "timeouts", "longest_stall_s")


def figures(run: Run) -> Figures:
    """Returns the figures of the first flow of a run, by the key of the quantity.

    The key of a handover's figure ends in its number, as in `stall_s.1`.
    """
    flow = run.summary["flows"][0]
    return {**{key: flow.get(key) for key in OF_SUMMARY}, **dict(_at_handovers(run, flow["name"]))}


def _at_handovers(run: Run, flow: str) -> Iterator[tuple[str, float | None]]:
    handovers: list[Json] = sorted(run.summary.get("handovers") or [], key=lambda handover: float(handover["at_s"]))
    moments = [*(float(handover["at_s"]) for handover in handovers), run.duration_s]
    rto = run.find(f"flow {flow}", "retransmission timeout")
    window = run.find(f"flow {flow}", "congestion window")
    for number, (handover, (at, end)) in enumerate(zip(handovers, pairwise(moments), strict=True), start=1):
        told: Json = next((each for each in handover.get("flows") or [] if each["name"] == flow), {})
        yield f"rto_before_s.{number}", _state(rto, at)
        yield f"rto_after_s.{number}", _largest(rto, at, end)
        yield f"window_bytes.{number}", _state(window, at)
        yield f"stall_s.{number}", told.get("stall_s")
        yield f"to_90_percent_s.{number}", told.get("time_to_90_percent_s")
        yield f"spurious_after.{number}", told.get("spurious_retransmissions")


def _state(series: Series | None, at_s: float) -> float | None:
    """Returns the last recorded value up to a moment."""
    if series is None:
        return None
    place = int(np.searchsorted(series.time_ns, round(at_s * 1e9), side="right"))
    return float(series.value[place - 1]) if place else None


def _largest(series: Series | None, begin_s: float, end_s: float) -> float | None:
    """Returns the largest value between two moments."""
    if series is None:
        return None
    begin, end = np.searchsorted(series.time_ns, [round(begin_s * 1e9), round(end_s * 1e9)])
    return float(series.value[begin:end].max()) if end > begin else None
