"""A capture from elsewhere (pcap, pcapng) as a run to compare with: its TCP conversations, as seen at the point of
capture.

It yields the acknowledged bytes, the retransmitted segments, the longest wait for a new acknowledgment, and the
round-trip times from the point of capture to the receiver and back (Karn's rule). In a capture made at the sender,
these are the sender's own; elsewhere, round-trip times lack the path from the sender to the point of capture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from baton.errors import InputError
from baton.report.arrow import Names
from baton.report.shares import Series
from baton.report.tables import Packets, Run
from baton.summary import Json
from baton.trace_import import capture, pcap
from baton.trace_import.pcap import Packet
from baton.trace_import.trace import TraceError

# Conversations, those with the most data first; a capture may hold thousands of short ones.
MOST_CONVERSATIONS = 100
FLAGS = ((capture.SYN, "SYN"), (capture.FIN, "FIN"), (4, "RST"), (capture.ACK, "ACK"))


@dataclass
class Conversation:
    """A TCP connection: `sender` is the end with most of the data. Times in ns."""

    sender: str
    receiver: str
    packets: list[Packet]
    retransmission: list[bool] = field(default_factory=list)
    """True for each packet that repeats data."""
    delivered: list[tuple[int, int]] = field(default_factory=list)
    """Times of acknowledgments, and the bytes that each newly acknowledged."""
    round_trips: list[tuple[int, int]] = field(default_factory=list)
    longest_wait: int = 0
    is_finished: bool = False

    @property
    def name(self) -> str:
        """Name, formed as those of observed flows in live runs."""
        return f"{self.sender} to {self.receiver}"

    @property
    def payload_bytes(self) -> int:
        """Bytes that the sender sent, retransmissions included."""
        return sum(packet.payload_bytes for packet in self.packets if source(packet) == self.sender)


def is_capture(path: Path) -> bool:
    """Returns true if a file is a capture."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return pcap.is_capture(file.read(4))


def read_capture(path: Path, begins_ns: int) -> Run:
    """Returns a capture as a run in which its first packet stands at `begins_ns`. Raises `InputError`."""
    notes: list[str] = []
    try:
        packets = [packet for packet in pcap.read(path, notes) if packet.ports is not None]
    except TraceError as error:
        raise InputError(str(error)) from error
    found = sorted(conversations(packets), key=lambda each: -each.payload_bytes)[:MOST_CONVERSATIONS]
    if not found or not found[0].payload_bytes:
        raise InputError("; ".join([f"{path}: has no TCP data; expected a capture of a transfer", *notes]))
    shift = begins_ns - min(packet.time_ns for packet in packets)
    end_s = (max(packet.time_ns for packet in packets) + shift) / 1e9
    series = {}
    for each in found:
        Observer(each)
        series[f"flow {each.name}", "delivered bytes"] = _series(each.delivered, shift, 1.0)
        series[f"flow {each.name}", "round-trip time"] = _series(each.round_trips, shift, 1e-9)
    summary = {"scenario": path.name, "simulated_s": end_s, "flows": [*map(summarise, found)]}
    summary |= {"capture": True, "notes": notes}
    return Run(path, {"scenario": path.name}, summary, _table(found, shift), series)


def conversations(packets: Sequence[Packet]) -> list[Conversation]:
    """Returns the TCP connections of a capture, their packets in order of time."""
    by_ends: dict[tuple[str, ...], list[Packet]] = {}
    for packet in sorted(packets, key=lambda packet: packet.time_ns):
        by_ends.setdefault(tuple(sorted((source(packet), destination(packet)))), []).append(packet)
    found = []
    for ends, mine in by_ends.items():
        sent = {end: sum(packet.payload_bytes for packet in mine if source(packet) == end) for end in ends}
        sender = max(ends, key=lambda end: sent[end])
        found.append(Conversation(sender, next((end for end in ends if end != sender), sender), mine))
    return found


class Observer:
    """Follows the sequence numbers of a conversation, in the order of its packets."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.sequence = capture.Sequence()
        self.origin: int | None = None
        self.acknowledged = 0
        self.closes = False
        self.waits_since: int | None = None
        """Sending time of the first unacknowledged data, or the time of the last acknowledgment."""
        for packet in conversation.packets:
            again = False
            if source(packet) == conversation.sender:
                again = self.sent(packet)
            elif packet.flags & capture.ACK and self.origin is not None:
                self.heard(packet)
            conversation.retransmission.append(again)
        self.finish()

    def sent(self, packet: Packet) -> bool:
        """Notes a packet of the sender; returns true if it repeats data."""
        assert packet.sequence is not None  # conversations are of TCP
        opens, closes = bool(packet.flags & capture.SYN), bool(packet.flags & capture.FIN)
        if self.origin is None:
            self.origin = packet.sequence + opens
        self.closes |= closes
        length = packet.payload_bytes + opens + closes
        if not length:
            return False
        if self.waits_since is None and packet.payload_bytes:
            self.waits_since = packet.time_ns
        return self.sequence.sent(packet.time_ns, packet.sequence, length) and packet.payload_bytes > 0

    def heard(self, packet: Packet) -> None:
        """Notes an acknowledgment."""
        assert packet.acknowledgment is not None
        assert self.origin is not None
        sample = self.sequence.acknowledged(packet.time_ns, packet.acknowledgment)
        if sample is not None:
            self.conversation.round_trips.append((packet.time_ns, sample))
        now = self.sequence.unwrap(packet.acknowledgment) - self.origin
        if now <= self.acknowledged:
            return
        if self.waits_since is not None:
            waited = packet.time_ns - self.waits_since
            self.conversation.longest_wait = max(self.conversation.longest_wait, waited)
        self.acknowledged = now
        self.conversation.delivered.append((packet.time_ns, now))
        self.waits_since = packet.time_ns if self.sequence.unacknowledged else None

    def finish(self) -> None:
        """Marks a connection that was closed, with all data acknowledged, as finished; the last byte was then the
        FIN."""
        delivered, highest = self.conversation.delivered, self.sequence.highest
        if not (self.closes and delivered and self.origin is not None and highest == self.origin + self.acknowledged):
            return
        self.conversation.is_finished = True
        delivered[-1] = (delivered[-1][0], self.acknowledged - 1)


def summarise(conversation: Conversation) -> Json:
    """Returns the keys of a flow's summary that a capture can fill."""
    begun = conversation.packets[0].time_ns
    at, delivered = conversation.delivered[-1] if conversation.delivered else (begun, 0)
    with_data = [entry for entry in conversation.delivered if entry[1] >= delivered]
    last_s = ((with_data[0][0] if with_data else at) - begun) / 1e9
    return {
        "name": conversation.name,
        "transport": "tcp",
        "delivered_bytes": delivered,
        "completion_s": last_s if conversation.is_finished else None,
        "goodput_bps": delivered * 8 / last_s if last_s else 0.0,
        "retransmitted": sum(conversation.retransmission),
        "longest_stall_s": conversation.longest_wait / 1e9,
    }


def source(packet: Packet) -> str:
    """Returns the address and port that a TCP packet comes from."""
    return _end(packet.source, packet.ports[0] if packet.ports else 0)


def destination(packet: Packet) -> str:
    """Returns the address and port that a TCP packet goes to."""
    return _end(packet.destination, packet.ports[1] if packet.ports else 0)


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _series(points: Sequence[tuple[int, int]], shift: int, unit: float) -> Series:
    times, values = (np.array([point[column] for point in points], np.int64) for column in (0, 1))
    return Series(times + shift, values * unit)


def _table(found: Sequence[Conversation], shift: int) -> Packets:
    """Returns the packets as rows of one link, on which all arrived."""
    rows = [
        (packet.time_ns + shift, each, packet, again)
        for each in found
        for packet, again in zip(each.packets, each.retransmission, strict=True)
    ]
    rows.sort(key=lambda row: row[0])
    time_ns = np.array([row[0] for row in rows], np.int64)
    numbers: dict[str, np.ndarray] = {
        "packet": np.arange(len(rows)),
        "sent_ns": time_ns,
        "sequence": np.array([row[2].sequence for row in rows], np.uint32),
        "acknowledgment": np.array([row[2].acknowledgment for row in rows], np.uint32),
        "payload_bytes": np.array([row[2].payload_bytes for row in rows], np.uint32),
        "retransmission": np.array([row[3] for row in rows], bool),
    }
    names = {
        "link": _names(["capture"] * len(rows)),
        "direction": _names(["down" if source(row[2]) == row[1].sender else "up" for row in rows]),
        "flow": _names([row[1].name for row in rows]),
        "fate": _names(["delivered"] * len(rows)),
        "protocol": _names(["tcp"] * len(rows)),
        "source": _names([source(row[2]) for row in rows]),
        "destination": _names([destination(row[2]) for row in rows]),
        "flags": _names([" ".join(name for bit, name in FLAGS if row[2].flags & bit) for row in rows]),
    }
    sack = np.zeros(0, np.uint32), np.zeros(len(rows) + 1, np.int64)
    return Packets(numbers, names, time_ns.astype(np.float64), *sack, recorded=len(rows), every=1)


def _names(values: list[str]) -> Names:
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return Names(np.array([places[value] for value in values], np.int32), list(places))
