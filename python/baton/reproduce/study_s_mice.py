"""Study S's Web pages beside a download (S9; section 8, note 2): their times, and their losses beside others."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from baton.live.trials import Figures
from baton.report.tables import Packets, Run

from .study_s_run import result
from .transfer import Floats

#: The connections of mice.toml that load pages, with their page and the time to read it.
PAGES = ("page-1", "page-2")
PAGE_BYTES, THINK_S = 60_000, 3.0
#: A download that is over before the first page: the pages are alone.
ALONE = ["flows.download.traffic.bytes=1 kB"]
#: A round trip by the satellite, within which losses count as synchronised, in seconds.
ROUND_TRIP_S = 0.58


def measured(file: Path, seed: int) -> Figures:
    """Measures S9, of one seed."""
    beside = {key: result(file, seed, {"download": key}, ["record.packets=true"]) for key in ("newreno", "method-2")}
    alone = _page_s(result(file, seed, {}, ALONE))
    newreno = _page_s(beside["newreno"])
    return {
        "S9.a": newreno / alone,
        "S9.b": synchronised(beside["newreno"]),
        "S9.c": alone,
        "S9.d": newreno,
        "S9.e": _page_s(beside["method-2"]),
    }


def _page_s(run: Run) -> float:
    """Returns the mean time from a page's request to its end, by the bytes that came in the run's time."""
    delivered = [int(flow["delivered_bytes"]) for flow in run.summary["flows"] if flow["name"] in PAGES]
    return len(PAGES) * run.duration_s * PAGE_BYTES / sum(delivered) - THINK_S


def synchronised(run: Run) -> float | None:
    """Returns the share of the pages' packets lost in queues within a round trip of which another connection lost one,
    too; none if the pages lost none."""
    assert run.packets is not None, "the scenario is told to record its packets"
    lost = {flow: _lost_s(run.packets, flow) for flow in ("download", *PAGES)}
    with_others = []
    for page in PAGES:
        others = np.sort(np.concatenate([times for flow, times in lost.items() if flow != page]))
        near = np.searchsorted(others, lost[page] + ROUND_TRIP_S) > np.searchsorted(others, lost[page] - ROUND_TRIP_S)
        with_others.append(near)
    together = np.concatenate(with_others)
    return float(together.mean()) if len(together) else None


def _lost_s(packets: Packets, flow: str) -> Floats:
    """Returns the times at which packets of a flow found a queue full."""
    flows, fates = packets.names["flow"], packets.names["fate"]
    lost = (flows.codes == flows.code(flow)) & (fates.codes == fates.code("queue full"))
    times: Floats = packets.decided_ns[lost] / 1e9
    return times
