"""From the packet table to what a time–sequence diagram shows: which rows are what, and byte offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .tables import Packets

UNDECIDED = ("delivered", "under way")


@dataclass
class Hops:
    """For each row of the packet table: is it the packet's first link, is it its last one."""

    first: np.ndarray
    last: np.ndarray


@dataclass
class TcpEvents:
    """What happened to a TCP flow's data, seen from the sender; times in ns, ascending; offsets in bytes."""

    sent_ns: np.ndarray
    offset: np.ndarray
    length: np.ndarray
    retransmission: np.ndarray
    ack_ns: np.ndarray
    acknowledged: np.ndarray
    sack_ns: np.ndarray
    sack_left: np.ndarray
    sack_right: np.ndarray
    drop_ns: np.ndarray
    drop_offset: np.ndarray
    drop_row: np.ndarray
    ack_drop_ns: np.ndarray
    ack_drop_offset: np.ndarray
    ack_drop_row: np.ndarray


def unwrap(numbers: np.ndarray, origin: int) -> np.ndarray:
    """Distances of 32-bit sequence numbers from `origin`, without the wrap at 2³².

    Neighbours may differ by less than 2³¹ in either direction, as in RFC 9293, section 3.4.
    """
    with_origin = np.concatenate(([origin % 2**32], numbers)).astype(np.uint32)
    return np.cumsum(np.diff(with_origin).view(np.int32).astype(np.int64))


def hops(packets: Packets) -> Hops:
    """Finds each packet's first and last link. Rows ascend in the time of sending."""
    packet = packets.numbers["packet"].astype(np.int64)
    rows = np.arange(len(packet))
    if len(packet) and packet.max() > 8 * len(packet) + 1024:
        packet = np.unique(packet, return_inverse=True)[1]
    size = int(packet.max()) + 1 if len(packet) else 0
    earliest, latest = np.zeros(size, np.int64), np.zeros(size, np.int64)
    earliest[packet[::-1]] = rows[::-1]  # of several writes to one place the last one stays
    latest[packet] = rows
    return Hops(earliest[packet] == rows, latest[packet] == rows)


def rows_by_flow(packets: Packets) -> dict[str, np.ndarray]:
    """The rows of each flow, ascending."""
    flow = packets.names["flow"]
    order = np.argsort(flow.codes, kind="stable")
    codes, begins = np.unique(flow.codes[order], return_index=True)
    parts = np.split(order, begins[1:]) if len(codes) else []
    return {flow.values[code]: rows for code, rows in zip(codes.tolist(), parts, strict=True) if code >= 0}


def hosts(packets: Packets, column: str) -> np.ndarray:
    """The host of each row's `source` or `destination`: numbers that are equal for equal addresses."""
    names = packets.names[column]
    known = sorted({address_of(v) for n in ("source", "destination") for v in packets.names[n].values})
    place = {address: number for number, address in enumerate(known)}
    numbers = np.array([place[address_of(value)] for value in names.values] + [-1])
    return numbers[names.codes]


def address_of(endpoint: str) -> str:
    """The address of `10.0.0.1:80`, `[fd00::1]:80` or an address alone."""
    if endpoint.startswith("["):
        return endpoint[1:].partition("]")[0]
    return endpoint.partition(":")[0] if endpoint.count(":") == 1 else endpoint


def data_sender(packets: Packets, rows: np.ndarray, source: np.ndarray) -> int:
    """The host that sends most of a flow's payload; of equals, the one that speaks first."""
    senders = source[rows]
    if not len(senders) or senders.max() < 0:
        return -1
    payload = packets.numbers["payload_bytes"][rows].astype(np.float64)
    sums = np.bincount(senders[senders >= 0], weights=payload[senders >= 0])
    sums[senders[0]] += 0.5
    return int(sums.argmax())


def lost(packets: Packets, rows: np.ndarray) -> np.ndarray:
    """Which of the rows are packets that a link lost."""
    fate = packets.names["fate"]
    kept = [fate.code(name) for name in UNDECIDED]
    return ~np.isin(fate.codes[rows], kept) & ~np.isnan(packets.decided_ns[rows])


def delivered(packets: Packets, rows: np.ndarray) -> np.ndarray:
    """Which of the rows are packets that a link delivered."""
    fate = packets.names["fate"]
    return fate.codes[rows] == fate.code("delivered")


def arrivals(packets: Packets, rows: np.ndarray, hop: Hops, sending: np.ndarray) -> np.ndarray:
    """Of `rows`, those with which a packet reached the end that offers the rows `sending`.

    A packet has arrived when its last link delivered it and that link begins, or ends, at this end: a
    packet that was delivered half-way and had no route from there has not arrived.
    """
    link, direction = packets.names["link"].codes, packets.names["direction"].codes
    ways = max(len(packets.names["direction"].values), 1)
    outward = np.unique(link[sending].astype(np.int64) * ways + direction[sending])
    candidates = rows[hop.last[rows] & delivered(packets, rows)]
    if not len(outward):
        return candidates
    adjacent = np.isin(link[candidates], outward // ways)
    same_way = np.isin(link[candidates].astype(np.int64) * ways + direction[candidates], outward)
    return candidates[adjacent & ~same_way] if np.any(adjacent & ~same_way) else candidates


def tcp_events(packets: Packets, rows: np.ndarray, hop: Hops, source: np.ndarray, sender: int) -> TcpEvents:
    """What a TCP flow's sender saw. Several connections of a flow each begin at offset zero."""
    outward = rows[source[rows] == sender]
    inward = rows[source[rows] != sender]
    first = outward[hop.first[outward]]
    offset, acknowledged = _offsets(packets, outward, inward)
    payload = packets.numbers["payload_bytes"]
    sent = first[payload[first] > 0]
    heard = arrivals(packets, inward, hop, first)
    decided = packets.decided_ns
    heard = heard[np.argsort(decided[heard], kind="stable")]
    has_ack = ~np.isnan(acknowledged[_places(inward, heard)])
    heard = heard[has_ack]
    sack_ns, left, right = _sacks(packets, heard, acknowledged[_places(inward, heard)])
    gone = _in_time(outward[lost(packets, outward) & (payload[outward] > 0)], decided)
    ack_gone = inward[lost(packets, inward) & (payload[inward] == 0) & ~np.isnan(acknowledged)]
    ack_gone = _in_time(ack_gone, decided)
    return TcpEvents(
        sent_ns=packets.numbers["sent_ns"][sent],
        offset=offset[_places(outward, sent)],
        length=payload[sent].astype(np.int64),
        retransmission=packets.numbers["retransmission"][sent].astype(bool),
        ack_ns=decided[heard].astype(np.int64),
        acknowledged=acknowledged[_places(inward, heard)].astype(np.int64),
        sack_ns=sack_ns,
        sack_left=left,
        sack_right=right,
        drop_ns=decided[gone].astype(np.int64),
        drop_offset=offset[_places(outward, gone)],
        drop_row=gone,
        ack_drop_ns=decided[ack_gone].astype(np.int64),
        ack_drop_offset=acknowledged[_places(inward, ack_gone)].astype(np.int64),
        ack_drop_row=ack_gone,
    )


def _in_time(rows: np.ndarray, time: np.ndarray) -> np.ndarray:
    return rows[np.argsort(time[rows], kind="stable")]


def _places(of: np.ndarray, these: np.ndarray) -> np.ndarray:
    """Where `these` rows stand in the ascending rows `of`."""
    return np.searchsorted(of, these)


def _offsets(packets: Packets, outward: np.ndarray, inward: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Byte offsets of the segments and of the acknowledgements (NaN without ACK flag), by connection."""
    sequence, acknowledgment = packets.numbers["sequence"], packets.numbers["acknowledgment"]
    source, destination = packets.names["source"], packets.names["destination"]
    flags = packets.names["flags"]
    syn = np.array(["SYN" in value.split() for value in flags.values] + [False])[flags.codes]
    ack = np.array(["ACK" in value.split() for value in flags.values] + [False])[flags.codes]
    offset = np.zeros(len(outward), np.int64)
    acknowledged = np.full(len(inward), np.nan)
    ends = outward.astype(np.int64)
    pair = source.codes[ends].astype(np.int64) * (len(destination.values) + 1) + destination.codes[ends]
    for key in np.unique(pair):
        mine = np.flatnonzero(pair == key)
        rows = outward[mine]
        opening = rows[syn[rows]]
        origin = int(sequence[opening[0]]) + 1 if len(opening) else int(sequence[rows[0]])
        offset[mine] = unwrap(sequence[rows], origin)
        here, there = source.values[source.codes[rows[0]]], destination.values[destination.codes[rows[0]]]
        back = (source.codes[inward] == source.code(there)) & (destination.codes[inward] == destination.code(here))
        replies = np.flatnonzero(back & ack[inward])
        acknowledged[replies] = unwrap(acknowledgment[inward[replies]], origin)
    return offset, acknowledged


def _sacks(packets: Packets, rows: np.ndarray, acknowledged: np.ndarray) -> tuple[np.ndarray, ...]:
    """Blocks that the ACKs in `rows` report: time of arrival, left edge, right edge."""
    begin, end = packets.sack_start[rows], packets.sack_start[rows + 1]
    blocks = (end - begin) // 2
    owner = np.repeat(np.arange(len(rows)), blocks)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    left = begin[owner] + 2 * within
    base = packets.numbers["acknowledgment"][rows][owner].astype(np.uint32)
    shift = acknowledged[owner].astype(np.int64)
    edges = packets.sack.astype(np.uint32)

    def absolute(at: np.ndarray) -> np.ndarray:
        return shift + (edges[at] - base).view(np.int32).astype(np.int64)

    return packets.decided_ns[rows][owner].astype(np.int64), absolute(left), absolute(left + 1)
