"""The figures of a row, from what its ways and its simulation have left."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rows import Row
from ways import GATEWAYS, Transfer

Json = dict[str, Any]
#: Bytes of the packets that the control stream may wait for: one that has begun, and its own.
PACKET_BYTES, WAITED_PACKETS = 1500, 2
#: The folder names under which `baton compare` shows both.
SIMULATED, DEPLOYED = "simulated", "deployed"


def simulate(row: Row, out: Path) -> Json:
    """Simulates the row's scenario; returns the gateways' figures."""
    settings = [word for key, text in row.settings.items() for word in ("--set", f"{key}={text}")]
    if "control" in row.flows:
        settings += ["--set", "record.packets=true"]
    folder = out / SIMULATED
    command = [sys.executable, "-m", "baton", "run", row.file, *settings, "--force", "--out", folder]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    flow = download(folder)
    figures = {"taken_s": flow["completion_s"], "longest_stall_s": flow["longest_stall_s"]}
    if flow["completion_s"]:
        figures["share"] = row.bytes * 8 / row.rate_bps / flow["completion_s"]
    delivered = pq.read_table(folder / "series.parquet", filters=[("subject", "=", "flow download")])
    rows = zip(*(delivered[key].to_pylist() for key in ("series", "time_ns", "value")), strict=True)
    # A series ends with the run; the download ends before.
    ended = flow["completion_s"] or float("inf")
    arrivals = [(min(time / 1e9, ended), value) for series, time, value in rows if series == "delivered bytes"]
    figures |= both_there(row, arrivals, row.outages)
    return figures | control(row, control_delays(folder) if "control" in row.flows else None)


def download(folder: Path) -> Json:
    """Returns the summary of a run's download."""
    flows: list[Json] = json.loads((folder / "summary.json").read_text())["flows"]
    return next(flow for flow in flows if flow["name"] == "download")


def control_delays(folder: Path) -> list[float]:
    """Returns the delays of the simulated stream from its sender to its receiver, if nothing was lost.

    A gateway makes a packet of its own of each datagram, so they are matched by their order.
    """
    table = pq.read_table(folder / "packets.parquet", filters=[("flow", "=", "control")]).to_pydict()
    hops = list(zip(table["link"], table["sent_ns"], table["decided_ns"], table["fate"], strict=True))
    sent = sorted(sent for link, sent, _, _ in hops if link == "network")
    arrived = sorted(at for link, _, at, fate in hops if link == "ship" and fate == "delivered")
    return [(to - at) / 1e9 for at, to in zip(sent, arrived, strict=True)]


def measured(row: Row, transfer: Transfer) -> Json:
    """Returns the figures of one way."""
    is_done = transfer["bytes"] >= row.bytes
    share = transfer["bytes"] * 8 / row.rate_bps / transfer["taken_s"]
    figures: Json = {"taken_s": transfer["taken_s"], "is_done": is_done, "bytes": transfer["bytes"], "share": share}
    figures["longest_stall_s"] = transfer["longest_stall_s"]
    made = transfer["changes"]
    outages = list(zip(made[::2], made[1::2], strict=True))
    figures |= both_there(row, transfer.get("arrivals", []), outages)
    return figures | control(row, transfer.get("delays"))


def both_there(row: Row, arrivals: list[tuple[float, int]], outages: list[tuple[float, float]]) -> Json:
    """Returns the share of the links' rates while all are there.

    From the first byte to the last, without the outages: each ends for the receiver when the first byte that was sent
    after it can have come.
    """
    if not row.outages or not arrivals:
        return {}
    first, last = arrivals[0], arrivals[-1]
    edges = [first[0]]
    for begin, end in outages:
        edges += [begin, end + row.delay_s]
    edges.append(last[0])
    spans = [(a, min(b, last[0])) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < last[0]]
    carried = sum(come_by(arrivals, end) - come_by(arrivals, begin) for begin, end in spans)
    lasted = sum(end - begin for begin, end in spans)
    return {"share_of_both": carried * 8 / row.rate_bps / lasted} if lasted else {}


def come_by(arrivals: list[tuple[float, int]], time: float) -> int:
    """Returns the bytes that had come by a time."""
    return max((total for at, total in arrivals if at <= time), default=0)


def control(row: Row, delays: list[float] | None) -> Json:
    """Returns the figures of the control stream."""
    if delays is None:
        return {}
    if len(delays) < 2:
        sys.exit(f"{row.name}: {len(delays)} datagrams of the control stream have come")
    return {"delay_p99_s": statistics.quantiles(delays, n=100)[98], "datagrams": len(delays)}


def limit_s(row: Row) -> float:
    """Returns the longest 99th percentile of the stream's delay that the row allows."""
    return row.delay_s + WAITED_PACKETS * PACKET_BYTES * 8 / row.rate_bps


def write_deployed(row: Row, transfers: Json, version: str, out: Path) -> None:
    """Writes the gateways' deployed run as a folder that `baton compare` takes beside the simulated one."""
    folder = out / DEPLOYED
    folder.mkdir(parents=True, exist_ok=True)
    manifest = json.loads((out / SIMULATED / "manifest.json").read_text())
    of_scenario = ("format", "version", "commit", "scenario", "seed", "resolved")
    (folder / "manifest.json").write_text(json.dumps({key: manifest[key] for key in of_scenario}))
    transfer = transfers[GATEWAYS]
    flow = {"name": "download", "transport": "tcp", "delivered_bytes": transfer["bytes"]}
    flow |= {"goodput_bps": transfer["bytes"] * 8 / transfer["taken_s"]}
    flow |= {"completion_s": transfer["taken_s"] if transfer["bytes"] >= row.bytes else None}
    flow |= {"longest_stall_s": transfer["longest_stall_s"]}
    summary = json.loads((out / SIMULATED / "summary.json").read_text())
    kept = ("format", "scenario", "seed", "simulated_s")
    whole = {key: summary[key] for key in kept} | {"flows": [flow], "deployed": version}
    (folder / "summary.json").write_text(json.dumps(whole))
