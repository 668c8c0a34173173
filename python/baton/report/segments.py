"""Segments, ACKs and losses as byte offsets, from the packet table, for a time-sequence diagram."""

from typing import NamedTuple

import numpy as np

from .journeys import FlowPackets
from .tables import Packets


class TcpEvents(NamedTuple):
    """Events of a TCP flow's data, seen from the sender; times in ns, ascending; offsets in bytes."""

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
    """Returns distances of 32-bit sequence numbers from `origin`, without the wrap at 2³².

    Neighbours may differ by less than 2³¹ in either direction, as in RFC 9293, section 3.4.
    """
    with_origin = np.concatenate(([origin % 2**32], numbers)).astype(np.uint32)
    return np.asarray(np.cumsum(np.diff(with_origin).view(np.int32).astype(np.int64)))


def tcp_events(flow: FlowPackets) -> TcpEvents:
    """Collects a TCP flow's events at the sender. Several connections of a flow each begin at offset zero."""
    packets = flow.packets
    offset, acknowledged = _offsets(packets, flow.outward, flow.inward)
    payload, decided = packets.numbers["payload_bytes"], packets.decided_ns

    def offset_of(rows: np.ndarray) -> np.ndarray:
        return np.asarray(offset[np.searchsorted(flow.outward, rows)])

    def acknowledged_by(rows: np.ndarray) -> np.ndarray:
        return np.asarray(acknowledged[np.searchsorted(flow.inward, rows)])

    offered = flow.offered(flow.outward)
    sent = offered[payload[offered] > 0]
    heard = flow.arrived(flow.inward, flow.outward)
    heard = heard[~np.isnan(acknowledged_by(heard))]
    sack_ns, left, right = _sacks(packets, heard, acknowledged_by(heard))
    gone = flow.lost(flow.outward[payload[flow.outward] > 0])
    ack_gone = flow.lost(flow.inward[(payload[flow.inward] == 0) & ~np.isnan(acknowledged)])
    return TcpEvents(
        sent_ns=packets.numbers["sent_ns"][sent],
        offset=offset_of(sent),
        length=payload[sent].astype(np.int64),
        retransmission=packets.numbers["retransmission"][sent].astype(bool),
        ack_ns=decided[heard].astype(np.int64),
        acknowledged=acknowledged_by(heard).astype(np.int64),
        sack_ns=sack_ns,
        sack_left=left,
        sack_right=right,
        drop_ns=decided[gone].astype(np.int64),
        drop_offset=offset_of(gone),
        drop_row=gone,
        ack_drop_ns=decided[ack_gone].astype(np.int64),
        ack_drop_offset=acknowledged_by(ack_gone).astype(np.int64),
        ack_drop_row=ack_gone,
    )


def _offsets(packets: Packets, outward: np.ndarray, inward: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns byte offsets of the segments and of the acknowledgements (NaN without ACK flag), by connection."""
    sequence, acknowledgment = packets.numbers["sequence"], packets.numbers["acknowledgment"]
    source, destination = packets.names["source"], packets.names["destination"]
    flags = packets.names["flags"]
    syn = np.array(["SYN" in value.split() for value in flags.values] + [False])
    ack = np.array(["ACK" in value.split() for value in flags.values] + [False])
    offset = np.zeros(len(outward), np.int64)
    acknowledged = np.full(len(inward), np.nan)
    ends = outward.astype(np.int64)
    pair = source.codes[ends].astype(np.int64) * (len(destination.values) + 1) + destination.codes[ends]
    for key in pair[:1] if np.all(pair == pair[:1]) else np.unique(pair):
        mine = np.flatnonzero(pair == key)
        rows = outward[mine]
        opening = rows[syn[flags.codes[rows]]]
        origin = int(sequence[opening[0]]) + 1 if len(opening) else int(sequence[rows[0]])
        offset[mine] = unwrap(sequence[rows], origin)
        here, there = source.values[source.codes[rows[0]]], destination.values[destination.codes[rows[0]]]
        back = (source.codes[inward] == source.code(there)) & (destination.codes[inward] == destination.code(here))
        replies = np.flatnonzero(back & ack[flags.codes[inward]])
        acknowledged[replies] = unwrap(acknowledgment[inward[replies]], origin)
    return offset, acknowledged


def _sacks(packets: Packets, rows: np.ndarray, acknowledged: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns blocks that the ACKs in `rows` report: time of arrival, left edge, right edge."""
    begin, end = packets.sack_start[rows], packets.sack_start[rows + 1]
    blocks = (end - begin) // 2
    owner = np.repeat(np.arange(len(rows)), blocks)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    left = begin[owner] + 2 * within
    base = packets.numbers["acknowledgment"][rows][owner].astype(np.uint32)
    shift = acknowledged[owner].astype(np.int64)
    edges = packets.sack.astype(np.uint32)

    def absolute(at: np.ndarray) -> np.ndarray:
        return np.asarray(shift + (edges[at] - base).view(np.int32).astype(np.int64))

    return packets.decided_ns[rows][owner].astype(np.int64), absolute(left), absolute(left + 1)
