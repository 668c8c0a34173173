"""Packets on their way: the rows of the packet table with a packet's first link, its last one, its loss."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .arrow import Names
from .tables import Packets


class PacketIndex(NamedTuple):
    """Index of the packet table for all flows at once."""

    packets: Packets
    first: np.ndarray  # is this row the packet's first link
    last: np.ndarray  # is it its last one so far
    source_host: np.ndarray  # a number for the address of the sender
    delivered: np.ndarray
    lost: np.ndarray
    link_direction: np.ndarray  # link · 2 + direction
    rows: dict[str, np.ndarray]  # of each flow, ascending

    @classmethod
    def of(cls, packets: Packets) -> "PacketIndex":
        """Reads the whole table once. Rows ascend in the time of sending."""
        first, last = _first_and_last(packets.numbers["packet"])
        fate, direction = packets.names["fate"], packets.names["direction"]
        delivered = fate.codes == fate.code("delivered")
        lost = ~delivered & (fate.codes != fate.code("under way")) & ~np.isnan(packets.decided_ns)
        up = direction.codes == direction.code("up")
        way = packets.names["link"].codes.astype(np.int64) * 2 + up
        return cls(packets, first, last, _hosts(packets), delivered, lost, way, _rows(packets.names["flow"]))


@dataclass
class FlowPackets:
    """The packets of one flow. Arrays hold numbers of rows, ascending."""

    index: PacketIndex
    outward: np.ndarray
    """Packets of the end that sends most of the data (of equals, the one that speaks first), on all links."""
    inward: np.ndarray
    """Packets of the other end."""

    @classmethod
    def of(cls, index: PacketIndex, flow: str) -> "FlowPackets":
        """Returns the packets of the flow with this name; none if it has no rows."""
        rows = index.rows.get(flow, np.zeros(0, np.int64))
        sender = _data_sender(index, rows)
        from_sender = index.source_host[rows] == sender
        return cls(index, rows[from_sender], rows[~from_sender])

    @property
    def packets(self) -> Packets:
        """The table that the rows are of."""
        return self.index.packets

    def offered(self, rows: np.ndarray) -> np.ndarray:
        """Returns those of `rows` with which an end offers a packet to its first link."""
        return np.asarray(rows[self.index.first[rows]])

    def under_way(self, rows: np.ndarray) -> np.ndarray:
        """Returns those of `rows` with which a packet is on a link at the end of the run."""
        index = self.index
        return np.asarray(rows[index.last[rows] & ~index.delivered[rows] & ~index.lost[rows]])

    def lost(self, rows: np.ndarray) -> np.ndarray:
        """Returns those of `rows` with which a link lost a packet, in order of the loss."""
        gone = rows[self.index.lost[rows]]
        return np.asarray(gone[np.argsort(self.packets.decided_ns[gone], kind="stable")])

    def arrived(self, rows: np.ndarray, opposite: np.ndarray) -> np.ndarray:
        """Returns those of `rows` with which a packet reached its end, in order of arrival.

        A packet has arrived when its last link delivered it and the end uses this link for its own packets,
        the rows `opposite`: one that was delivered half-way and had no route from there has not arrived.
        An end that never sends is taken to be wherever packets got to.
        """
        index = self.index
        found = rows[index.last[rows] & index.delivered[rows]]
        used = distinct(index.link_direction[self.offered(opposite)])
        at_end = np.isin(index.link_direction[found], used ^ 1)
        if np.any(at_end):
            found = found[at_end]
        return np.asarray(found[np.argsort(self.packets.decided_ns[found], kind="stable")])


def distinct(codes: np.ndarray) -> np.ndarray:
    """Returns the distinct values of an array of small numbers, ascending."""
    return np.flatnonzero(np.bincount(codes)) if len(codes) else np.zeros(0, np.int64)


def address_of(endpoint: str) -> str:
    """Returns the address of `10.0.0.1:80`, `[fd00::1]:80` or an address alone."""
    if endpoint.startswith("["):
        return endpoint[1:].partition("]")[0]
    return endpoint.partition(":")[0] if endpoint.count(":") == 1 else endpoint


def _first_and_last(packet: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    packet = packet.astype(np.int64)
    rows = np.arange(len(packet))
    if len(packet) and packet.max() > 8 * len(packet) + 1024:
        packet = np.unique(packet, return_inverse=True)[1]
    size = int(packet.max()) + 1 if len(packet) else 0
    earliest, latest = np.zeros(size, np.int64), np.zeros(size, np.int64)
    earliest[packet[::-1]] = rows[::-1]  # of several writes to one place the last one stays
    latest[packet] = rows
    return earliest[packet] == rows, latest[packet] == rows


def _hosts(packets: Packets) -> np.ndarray:
    names = packets.names["source"]
    place = {address: number for number, address in enumerate(dict.fromkeys(map(address_of, names.values)))}
    numbers = np.array([place[address_of(value)] for value in names.values] + [-1])
    return np.asarray(numbers[names.codes])


def _rows(flow: Names) -> dict[str, np.ndarray]:
    if len(flow.values) == 1 and np.all(flow.codes == 0):
        return {flow.values[0]: np.arange(len(flow.codes))}
    order = np.argsort(flow.codes, kind="stable")
    ends = np.cumsum(np.bincount(flow.codes + 1, minlength=len(flow.values) + 1))
    return {name: order[ends[code] : ends[code + 1]] for code, name in enumerate(flow.values)}


def _data_sender(index: PacketIndex, rows: np.ndarray) -> int:
    senders = index.source_host[rows]
    if not len(senders) or senders.min() < 0:
        return -1
    sums = np.bincount(senders, weights=index.packets.numbers["payload_bytes"][rows])
    sums[senders[0]] += 0.5
    return int(sums.argmax())
