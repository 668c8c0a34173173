"""Panels drawn from the packet table: time-sequence, one-way delay, packets, goodput by link."""

from __future__ import annotations

import numpy as np

from .figures import Panel, Trace, scaled
from .journeys import FlowPackets, distinct
from .segments import tcp_events
from .text_tables import number

# Steps of a distribution: as many as are to be seen.
MOST_STEPS = 1000


def time_sequence(flow: FlowPackets) -> Panel:
    """Draws segments as the sender offers them to its first link, ACKs as they arrive there, and losses where they
    happen."""
    events = tcp_events(flow)
    new, again = ~events.retransmission, events.retransmission
    end = events.offset + events.length
    gone, ack_gone = (events.drop_ns, events.drop_offset, None), (events.ack_drop_ns, events.ack_drop_offset, None)
    sack = (events.sack_ns, events.sack_left, events.sack_right)
    traces = [
        Trace("ACK", "acknowledgement", "steps", events.ack_ns, events.acknowledged),
        Trace("SACK", "selective acknowledgement", "bars", *sack),
        Trace("segment", "segment", "bars", events.sent_ns[new], events.offset[new], end[new]),
        Trace("retransmission", "retransmission", "bars", events.sent_ns[again], events.offset[again], end[again]),
        Trace("lost segment", "drop", "marks", *gone, *_where(flow, events.drop_row)),
        Trace("lost ACK", "dropped acknowledgement", "marks", *ack_gone, *_where(flow, events.ack_drop_row)),
    ]
    note = f"Segments as sent, ACKs as they arrive at the sender, losses when and where they happen.{_share(flow)}"
    shown = [trace for trace in traces if len(trace.time_ns)]
    return Panel("Time\u2013sequence", "byte offset", "B", shown, note, tall=True)


def delay(flow: FlowPackets, *, tall: bool = True) -> Panel:
    """Draws the delay of each packet with data against the time at which it was sent; lost ones at their loss."""
    decided = flow.packets.decided_ns
    sent, arrived, gone = _datagrams(flow)
    order = np.argsort(_begun(flow, sent, arrived), kind="stable")
    begun = _begun(flow, sent, arrived)[order]
    taken = (decided[arrived][order] - begun) / 1e9
    until_loss = (decided[gone] - _begun(flow, sent, gone)) / 1e9
    factor, unit = scaled([taken, until_loss], "s")
    traces = [Trace("delivered", "delivered", "dots", begun, taken * factor)]
    if len(gone):
        when = decided[gone].astype(np.int64)
        traces.append(Trace("lost", "drop", "marks", when, until_loss * factor, None, *_where(flow, gone)))
    counts = _counts(flow, sent, arrived, gone) if flow.packets.every == 1 else ""
    note = f"{counts}{'. ' if counts else ''}A lost packet stands at its loss.{_share(flow)}"
    return Panel("One-way delay", "delay", unit, traces, note, tall=tall)


def _counts(flow: FlowPackets, sent: np.ndarray, arrived: np.ndarray, gone: np.ndarray) -> str:
    """Counts the packets by their fate; lost copies are lost packets, too."""
    under_way = len(flow.under_way(flow.outward[np.isin(_numbers(flow, flow.outward), _numbers(flow, sent))]))
    given_up = len(sent) - len(arrived) - len(gone) - under_way
    counts = [(len(sent), "packets sent"), (len(arrived), "delivered"), (len(gone), "lost on links")]
    counts += [(under_way, "under way"), (given_up, "discarded by hosts or in buffers")]
    told = [each for place, each in enumerate(counts) if place < 3 or each[0] > 0]
    return ", ".join(f"{number(count)} {what}" for count, what in told)


def _numbers(flow: FlowPackets, rows: np.ndarray) -> np.ndarray:
    """Returns the running numbers of packets."""
    return np.asarray(flow.packets.numbers["packet"][rows])


def distribution(flow: FlowPackets) -> Panel:
    """Draws the share of delivered packets that took at most a given time."""
    sent, arrived, _ = _datagrams(flow)
    taken = np.sort(flow.packets.decided_ns[arrived] - _begun(flow, sent, arrived))
    panel = Panel("Distribution of the one-way delay", "share of packets", "", [], "", across="one-way delay")
    if not len(taken):
        panel.note = "No packet was delivered."
        return panel
    share = np.linspace(0.0, 1.0, min(len(taken), MOST_STEPS) + 1)
    least = np.ceil(share * len(taken)).astype(np.int64).clip(1) - 1
    panel.traces = [Trace("delivered", "congestion window", "line", taken[least].astype(np.int64), share)]
    marks = ", ".join(f"{percent:g} %: {_milliseconds(taken, percent)}" for percent in (50, 95, 99, 99.9))
    panel.note = f"Percentiles of the delay: {marks}.{_share(flow)}"
    return panel


def _milliseconds(taken: np.ndarray, percent: float) -> str:
    """Returns a percentile of sorted times in ns."""
    value = taken[int(np.ceil(len(taken) * percent / 100)) - 1] / 1e6
    return f"{value:.4g} ms" if value < 1000 else f"{value / 1000:.4g} s"


def numbers(flow: FlowPackets) -> Panel:
    """Draws packets in the order of sending: the slope is the rate, crosses are losses."""
    decided, packet = flow.packets.decided_ns, flow.packets.numbers["packet"]
    sent, arrived, gone = _datagrams(flow)
    known = np.sort(packet[sent])

    def trace(name: str, role: str, shape: str, rows: np.ndarray) -> Trace:
        rank = 1 + np.searchsorted(known, packet[rows])
        return Trace(name, role, shape, decided[rows].astype(np.int64), rank, None, *_where(flow, rows))

    traces = [trace("delivered", "delivered", "dots", arrived)]
    if len(gone):
        traces.append(trace("lost", "drop", "marks", gone))
    return Panel("Packets", "running number", "packets", traces)


def new_data_by_link(flow: FlowPackets, moved: set[str]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Returns, for each link that brought new data to the receiver, times of arrival in ns and payload bytes.

    That link is a packet's last one, except for a packet that crossed a link in `moved`, between which a mobile moves:
    for it, that one counts, since the mobile sends, or its network is behind it.
    """
    packets = flow.packets
    payload, link, protocol = packets.numbers["payload_bytes"], packets.names["link"], packets.names["protocol"]
    rows = flow.arrived(flow.outward[payload[flow.outward] > 0], flow.inward)
    if len(rows) and protocol.codes[rows[0]] == protocol.code("tcp"):
        rows = rows[_first_copies(packets.numbers["sequence"][rows], packets.names["source"].codes[rows])]
    carriers = _carriers(flow, rows, moved)
    found = {}
    for code in distinct(carriers).tolist():
        mine = rows[carriers == code]
        found[link.values[code]] = (packets.decided_ns[mine].astype(np.int64), payload[mine])
    return found


def _carriers(flow: FlowPackets, rows: np.ndarray, moved: set[str]) -> np.ndarray:
    """Returns the number of the link that counts for each packet that arrived with one of `rows`."""
    link, packet = flow.packets.names["link"], flow.packets.numbers["packet"]
    carriers = link.codes[rows].copy()
    crossed = flow.outward[flow.index.delivered[flow.outward]]
    crossed = crossed[np.isin(link.codes[crossed], [link.code(name) for name in sorted(moved)])]
    if len(crossed):
        crossed = crossed[np.argsort(packet[crossed], kind="stable")]
        last = np.searchsorted(packet[crossed], packet[rows], side="right") - 1
        known = (last >= 0) & (packet[crossed][last] == packet[rows])
        carriers[known] = link.codes[crossed[last[known]]]
    return np.asarray(carriers)


def data_ways(flow: FlowPackets) -> dict[str, str]:
    """Returns the direction in which each link carried the flow's data."""
    names, ways = flow.packets.names["link"].values, flow.index.link_direction
    rows = flow.outward[flow.packets.numbers["payload_bytes"][flow.outward] > 0]
    return {names[way // 2]: "up" if way % 2 else "down" for way in distinct(ways[rows]).tolist()}


def links_used(flow: FlowPackets) -> list[tuple[str, str]]:
    """Returns links and directions on which packets of the flow were offered, in the order of the links."""
    names, ways = flow.packets.names["link"].values, flow.index.link_direction
    # Not `np.union1d`, for which numpy imports its masked arrays.
    used = sorted({*distinct(ways[flow.outward]).tolist(), *distinct(ways[flow.inward]).tolist()})
    return [(names[way // 2], "up" if way % 2 else "down") for way in used]


def _share(flow: FlowPackets) -> str:
    """Describes the part of a table too large for a page that is shown."""
    every, rows = flow.packets.every, flow.packets.recorded
    if every == 1:
        return ""
    shown = f"1 packet of {every} is shown, and all that were lost or sent again"
    return f" Of {rows:,} rows, {shown}; packets.parquet has all."


def _datagrams(flow: FlowPackets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns rows of the first offers, arrivals and losses of the packets that go outwards; over TCP, of those with
    data."""
    packets, rows = flow.packets, flow.outward
    protocol = packets.names["protocol"]
    if len(rows) and protocol.codes[rows[0]] == protocol.code("tcp"):
        rows = rows[packets.numbers["payload_bytes"][rows] > 0]
    return flow.offered(rows), flow.arrived(rows, flow.inward), flow.lost(rows)


def _begun(flow: FlowPackets, sent: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Returns the times at which the packets in `rows` were offered to their first link, in ns."""
    packet = flow.packets.numbers["packet"]
    order = np.argsort(packet[sent], kind="stable")
    first = sent[order[np.searchsorted(packet[sent][order], packet[rows])]]
    return np.asarray(flow.packets.numbers["sent_ns"][first])


def _where(flow: FlowPackets, rows: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Describes, for the hover, a packet's fate, its link and the direction."""
    link, fate = flow.packets.names["link"], flow.packets.names["fate"]
    key = fate.codes[rows].astype(np.int64) * (2 * len(link.values)) + flow.index.link_direction[rows]
    kinds = distinct(key)
    labels = []
    for what, way in zip(*np.divmod(kinds, 2 * len(link.values)), strict=True):
        labels.append(f"{fate.values[what]}, {link.values[way // 2]} ({'up' if way % 2 else 'down'})")
    return np.searchsorted(kinds, key), labels


def _first_copies(sequence: np.ndarray, connection: np.ndarray) -> np.ndarray:
    """Returns the rows, ascending in time, that bring a segment for the first time."""
    key = connection.astype(np.int64) << 32 | sequence.astype(np.int64)
    order = np.argsort(key, kind="stable")
    first = np.ones(len(key), bool)
    first[order[1:]] = key[order[1:]] != key[order[:-1]]
    return first
