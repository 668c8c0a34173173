"""TDMA links with fixed slots against closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from validation import lab
from validation.aerotp import CHECK, HEADER, IP, PRELUDE
from validation.row import Row

FRAME_S, RATE, SLOT_BYTES, UDP = 0.05, 1e6, 1125, 28
"""A frame of five slots of 10 ms; 9 ms at 1 Mbit/s carry 1125 B."""
SPREAD = (1 + 5**0.5) / 2
"""Intervals of so many frames spread arrivals evenly over the frame."""
EDGES = "a frame at either end of the run"


def link(cut: bool = False, **keys: Any) -> dict[str, Any]:
    """Returns a link whose ends own a slot each."""
    frame = {"slots": 5, "slot": "10 ms", "guard": "1 ms", "down_slots": [1], "up_slots": [2], "fragmentation": cut}
    return lab.wire(**{"kind": "tdma", "rate": "1 Mbit/s", "frame": frame, **keys})


def datagrams(length: int, interval_s: float) -> dict[str, Any]:
    """Returns datagrams of this length with headers, in a constant interval."""
    payload = length - UDP
    return lab.datagrams({"packet_size": f"{payload} B", "rate": f"{payload * 8 / interval_s} bit/s"})


def throughput(length: int, cut: bool = False) -> float:
    """Returns the rate of packets of this length, headers included, that always wait."""
    rows = lab.packets(lab.run("100 s", link(cut), datagrams(length, 0.002), record="packets"))
    return float(np.sum(rows["delivered"])) * length * 8 / 100


def closed(length: int) -> float:
    """Returns the rate of the whole packets that fit into a slot."""
    return SLOT_BYTES // length * length * 8 / FRAME_S


def aerotp(mtu: int) -> float:
    """Returns AeroTP's goodput in a transfer of 1 MB over a link with this MTU."""
    transport = {"kind": "aerotp", "coding": "none"}
    flow = lab.flow(transport=transport, traffic={"bytes": "1 MB"})
    return 8e6 / float(lab.first(lab.run("200 s", link(mtu=f"{mtu} B"), flow))["completion_s"])


def tdma() -> Iterator[Row]:
    """Yields rows on TDMA links."""
    rows = lab.packets(lab.run("400 s", link(), datagrams(500, FRAME_S * SPREAD), record="packets"))
    ours = float(np.mean((rows["decided"] - rows["sent"])[rows["delivered"]]))
    source = "closed form: half a frame of 50 ms, 500 B · 8 / 1 Mbit/s + 10 ms"
    reason = "five thousand arrivals, evenly spread over the frame"
    yield Row("tdma.wait", "tdma", "mean time over the link", "s", ours, 0.025 + 0.004 + 0.01, source, 1e-3, reason)
    for length in (SLOT_BYTES, 600, 562, 200):
        source = f"closed form: floor(1125 B / {length} B) packets in each frame of 50 ms"
        what = f"throughput of packets of {length} B"
        yield Row(f"tdma.{length}", "tdma", what, "bit/s", throughput(length), closed(length), source, 1e-3, EDGES)
    source = "closed form: 1125 B in each frame of 50 ms"
    full = SLOT_BYTES * 8 / FRAME_S
    what = "throughput of packets of 600 B, cut"
    yield Row("tdma.cut", "tdma", what, "bit/s", throughput(600, cut=True), full, source, 1e-3, EDGES)
    for mtu in (SLOT_BYTES, 800):
        payload = mtu - IP - PRELUDE - HEADER - CHECK
        source = f"closed form: {payload} B of data in each frame of 50 ms"
        what = f"AeroTP's goodput, MTU of {mtu} B"
        reason = "a frame at either end, and the first packet's longer header"
        expected = payload * 8 / FRAME_S
        yield Row(f"tdma.aerotp.{mtu}", "tdma", what, "bit/s", aerotp(mtu), expected, source, 5e-3, reason)


CASES: dict[str, Any] = {"tdma": tdma}
