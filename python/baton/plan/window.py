"""Windows and buffers that a path, and a handover to another one, need: the advice of studies T and D as numbers.

Study T (sections 6.2 and 7.1): the capacity of a path is its rate times its round-trip time; a window of that and one
segment more keeps it full, since a segment is acknowledged when all of it has arrived. A larger window waits in the
bottleneck, lengthens the timeout, and is retransmitted as a whole when the timer fires at a handover. Study D (section
5.4): the receive window follows from the rate and the round-trip time that the link has measured.

Bytes on the link include headers; windows are counted in payload. Seconds, bytes and bit/s throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FAST_RETRANSMIT_SEGMENTS = 4
"""A lost segment and three behind it, whose duplicate acknowledgements tell of it (RFC 5681, section 3.2)."""
SEGMENT_SIZES = (256, 512, 536, 1024, 1220, 1460)
"""Payloads in bytes that are compared: study D's three, the default and study T's, and those of a full frame."""


@dataclass(frozen=True)
class Segments:
    """Segments of a flow: payload of each, and all headers that the bottleneck carries with it."""

    payload_bytes: int = 1460
    header_bytes: int = 40

    @property
    def wire_bytes(self) -> int:
        """A full segment on the link."""
        return self.payload_bytes + self.header_bytes


@dataclass(frozen=True)
class Path:
    """A path: its bottleneck's rate, the round-trip time of a small packet, and the room in the bottleneck's queue."""

    rate_bps: float
    rtt_s: float
    queue_bytes: float | None = None


@dataclass(frozen=True)
class PathAdvice:
    """Needs of a path. `most_window_bytes` and `full_queue_rtt_s` are `None` where the queue is not known."""

    capacity_bytes: float
    """Bandwidth-delay product, in bytes on the link."""
    segment_s: float
    """Time that the bottleneck works on one segment."""
    filling_window_bytes: int
    """The least window that keeps the path full."""
    receive_window_bytes: int
    """The same, but at least so much that a loss is found without a timeout."""
    buffer_bytes: int
    """Room in the bottleneck with which a window that a loss halves still fills the path: its capacity."""
    most_window_bytes: int | None
    """The largest window that loses nothing in the queue."""
    full_queue_rtt_s: float | None
    """Round-trip time behind a full queue."""


def advise(path: Path, cut: Segments) -> PathAdvice:
    """Computes windows and buffer of one path."""
    capacity = path.rate_bps * path.rtt_s / 8
    filling = math.ceil(capacity / cut.wire_bytes) + 1
    most = full = None
    if path.queue_bytes is not None:
        most = (math.floor((capacity + path.queue_bytes) / cut.wire_bytes) + 1) * cut.payload_bytes
        full = path.rtt_s + 8 * (path.queue_bytes + cut.wire_bytes) / path.rate_bps
    return PathAdvice(
        capacity_bytes=capacity,
        segment_s=8 * cut.wire_bytes / path.rate_bps,
        filling_window_bytes=filling * cut.payload_bytes,
        receive_window_bytes=max(filling, FAST_RETRANSMIT_SEGMENTS) * cut.payload_bytes,
        buffer_bytes=math.ceil(capacity / cut.wire_bytes) * cut.wire_bytes,
        most_window_bytes=most,
        full_queue_rtt_s=full,
    )


@dataclass(frozen=True)
class HandoverAdvice:
    """Effect of a change of path on a window in flight, and ways to avoid it."""

    in_flight_segments: int
    old_timeout_s: float
    """The timeout on the old path, at least: the round-trip time with this window, or the floor."""
    first_answer_s: float
    """The first segment's round-trip time on the new path."""
    early_timeouts: int
    """Times that the timer fires before that, doubling each time, although nothing is lost."""
    new_timeout_s: float
    """A timeout set to more than this at the handover does not fire early: the window's last segment."""
    window_s: float
    """Time that the new bottleneck works on the window, once."""
    stall_s: float
    """The longest that new data wait, about: for the first segment; with early timeouts, for the window sent twice."""
    buffer_bytes: int
    """Room in the new bottleneck that takes this window without a loss."""
    lost_segments: int | None
    """Segments of the window that the new queue has no room for; `None` where it is not known."""
    old_drain_s: float
    """Time for which a soft handover leaves the new path idle: until the old bottleneck has worked off the window."""
    old_timeout_ratio: float
    """The old timeout in round-trip times of the new path: how late a loss right after the handover is found."""


def advise_handover(old: Path, new: Path, cut: Segments, window_bytes: float, floor_s: float) -> HandoverAdvice:
    """Computes a handover from one path to another with a window in flight; `floor_s` is the sender's minimum
    timeout."""
    count = max(1, int(window_bytes // cut.payload_bytes))
    before, after = advise(old, cut), advise(new, cut)
    timeout = max(floor_s, old.rtt_s + before.segment_s, count * before.segment_s)
    first = new.rtt_s + after.segment_s
    early = 0 if first <= timeout else math.ceil(math.log2(first / timeout + 1)) - 1
    window_s = count * after.segment_s
    most = after.most_window_bytes
    room = math.ceil((count - 1) * cut.wire_bytes - after.capacity_bytes)
    return HandoverAdvice(
        in_flight_segments=count,
        old_timeout_s=timeout,
        first_answer_s=first,
        early_timeouts=early,
        new_timeout_s=new.rtt_s + window_s,
        window_s=window_s,
        stall_s=new.rtt_s + 2 * window_s if early else first,
        buffer_bytes=max(room, cut.wire_bytes),
        lost_segments=None if most is None else max(0, count - most // cut.payload_bytes),
        old_drain_s=count * before.segment_s,
        old_timeout_ratio=timeout / (new.rtt_s + after.segment_s),
    )


@dataclass(frozen=True)
class SizeAdvice:
    """Cost of a segment size."""

    payload_bytes: int
    overhead: float
    """Share of the link that headers take."""
    segment_s: float
    receive_window_bytes: int


def compare_sizes(path: Path, cut: Segments) -> list[SizeAdvice]:
    """Compares segment sizes up to the given one, on one path."""
    sizes = sorted({size for size in SEGMENT_SIZES if size < cut.payload_bytes} | {cut.payload_bytes})
    cuts = [Segments(size, cut.header_bytes) for size in sizes]
    return [
        SizeAdvice(each.payload_bytes, each.header_bytes / each.wire_bytes, found.segment_s, found.receive_window_bytes)
        for each, found in ((each, advise(path, each)) for each in cuts)
    ]
