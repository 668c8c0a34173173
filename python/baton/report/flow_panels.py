"""The panels of one flow: time–sequence, window, round-trip time, queues, goodput, delay."""

from __future__ import annotations

import numpy as np

from . import segments
from .figures import Panel, Trace, link_of, link_roles, nice_interval, scaled, thinned
from .tables import Run

NO_PACKETS = "Packets were not recorded (the scenario has packets = false in [record]), so this diagram is missing."
NO_SERIES = "Series were not recorded (the scenario has series = false in [record]), so this diagram is missing."
RATIO_FOR_LOGARITHM = 200


class FlowPanels:
    """Builds the panels of the flow `name` from its rows of the packet table (`None`: not recorded)."""

    def __init__(
        self,
        run: Run,
        name: str,
        rows: np.ndarray | None,
        hop: segments.Hops | None,
        source: np.ndarray | None,
    ) -> None:
        self.run, self.subject, self.hop, self.source = run, f"flow {name}", hop, source
        self.rows = rows if rows is not None else np.zeros(0, np.int64)
        self.roles = link_roles(run)
        self.sender = -1
        if run.packets is not None and source is not None:
            self.sender = segments.data_sender(run.packets, self.rows, source)

    def tcp(self) -> list[Panel]:
        """Panels of a TCP flow."""
        return [self.time_sequence(), self.window(), self.round_trip(), self.queues(), self.goodput()]

    def datagrams(self) -> list[Panel]:
        """Panels of a flow without acknowledgements of its own: UDP, ping."""
        panels = [self.delay(), self.numbers()]
        if self.run.find(self.subject, "round-trip time"):
            panels.append(self.round_trip())
        return [*panels, self.queues(), self.goodput()]

    def time_sequence(self) -> Panel:
        """Segments as the sender offers them to its first link, ACKs as they arrive there, drops where they happen."""
        panel = Panel("Time–sequence", "byte offset in the stream", "B", [], tall=True)
        if self.run.packets is None or self.hop is None or self.source is None:
            panel.note = NO_PACKETS
            return panel
        events = segments.tcp_events(self.run.packets, self.rows, self.hop, self.source, self.sender)
        new, again = ~events.retransmission, events.retransmission
        end = events.offset + events.length
        where = self._where
        panel.traces = [
            Trace("ACK", "acknowledgement", "steps", events.ack_ns, events.acknowledged),
            Trace("SACK", "selective acknowledgement", "bars", events.sack_ns, events.sack_left, events.sack_right),
            Trace("segment", "segment", "bars", events.sent_ns[new], events.offset[new], end[new]),
            Trace("retransmission", "retransmission", "bars", events.sent_ns[again], events.offset[again], end[again]),
            Trace("lost segment", "drop", "marks", events.drop_ns, events.drop_offset, None, *where(events.drop_row)),
            Trace(
                "lost ACK",
                "dropped acknowledgement",
                "marks",
                events.ack_drop_ns,
                events.ack_drop_offset,
                None,
                *where(events.ack_drop_row),
            ),
        ]
        panel.traces = [trace for trace in panel.traces if len(trace.time_ns)]
        panel.note = "Segments as sent, ACKs as they arrive at the sender, losses when and where they happen."
        return panel

    def window(self) -> Panel:
        """Congestion window, slow-start threshold and bytes in flight."""
        chosen = [
            ("in flight", "in flight", "bytes in flight"),
            ("congestion window", "congestion window", "congestion window"),
            ("slow-start threshold", "slow-start threshold", "slow-start threshold"),
        ]
        return self._series_panel("Congestion window", "window", "B", chosen)

    def round_trip(self) -> Panel:
        """Samples of the round-trip time, the smoothed one and the retransmission timeout."""
        chosen = [
            ("RTT sample", "round-trip time", "round-trip time"),
            ("smoothed RTT", "smoothed round-trip time", "smoothed round-trip time"),
            ("RTO", "retransmission timeout", "retransmission timeout"),
        ]
        panel = self._series_panel("Round-trip time and timeout", "time", "s", chosen)
        values = np.concatenate([trace.value for trace in panel.traces]) if panel.traces else np.zeros(0)
        positive = values[values > 0]
        if len(positive) and positive.max() > RATIO_FOR_LOGARITHM * positive.min():
            panel.logarithmic = True
        return panel

    def queues(self) -> Panel:
        """Packets that wait in each link direction that the flow uses."""
        panel = Panel("Queues", "packets that wait", "packets", [])
        if self.run.series is None:
            panel.note = NO_SERIES
            return panel
        crossed = self._crossed()
        for (subject, quantity), series in sorted(self.run.series.items()):
            link, direction = link_of(subject)
            if quantity != "queue packets" or (crossed is not None and (link, direction) not in crossed):
                continue
            if not len(series.time_ns) or not np.any(series.value > 0):
                continue
            kept = thinned(series)
            role = self.roles.get(link, "link 1")
            name = f"{link}, {direction}"
            trace = Trace(name, role, "steps", kept.time_ns, kept.value, dashed=direction == "up")
            panel.traces.append(trace)
        if not panel.traces:
            panel.note = "No packet of this flow had to wait."
        return panel

    def goodput(self) -> Panel:
        """New data per second: in all, and by the link over which it reached the receiver."""
        interval = nice_interval(self.run.duration_s)
        panel = Panel("Goodput", "rate", "bit/s", [])
        panel.note = f"New data per {interval:g} s, by the link that delivered it."
        delivered = self.run.find(self.subject, "delivered bytes")
        if delivered is not None:
            increments = np.diff(delivered.value, prepend=0.0)
            panel.traces.append(
                self._binned("read by the application", "total", delivered.time_ns, increments, interval)
            )
        if self.run.packets is not None:
            panel.traces += self._goodput_by_link(interval)
        elif delivered is not None:
            panel.note = f"Data read by the application per {interval:g} s. By link it would need recorded packets."
        else:
            panel.note = NO_SERIES
        factor, panel.unit = scaled([trace.value for trace in panel.traces], "bit/s")
        for trace in panel.traces:
            trace.value = trace.value * factor
        return panel

    def delay(self) -> Panel:
        """How long each packet took, against the time at which it was sent; lost ones when they were lost."""
        panel = Panel("One-way delay", "delay", "s", [], tall=True)
        if self.run.packets is None:
            panel.note = NO_PACKETS
            return panel
        sent, arrived, gone, begun = self._datagram_rows()
        taken = (self.run.packets.decided_ns[arrived] - begun[0]) / 1e9
        until_loss = (self.run.packets.decided_ns[gone] - begun[1]) / 1e9
        factor, panel.unit = scaled([taken, until_loss], "s")
        order = np.argsort(begun[0], kind="stable")
        panel.traces = [Trace("delivered", "delivered", "dots", begun[0][order], taken[order] * factor)]
        if len(gone):
            when = self.run.packets.decided_ns[gone].astype(np.int64)
            lost = Trace("lost", "drop", "marks", when, until_loss * factor, None, *self._where(gone))
            panel.traces.append(lost)
        panel.note = f"{len(sent)} packets sent, {len(arrived)} delivered, {len(gone)} lost. A lost packet stands at the time of its loss."
        return panel

    def numbers(self) -> Panel:
        """Packets in the order of sending: slope is the rate, crosses are losses."""
        panel = Panel("Packets", "running number", "packets", [])
        if self.run.packets is None:
            panel.note = NO_PACKETS
            return panel
        sent, arrived, gone, _ = self._datagram_rows()
        packet = self.run.packets.numbers["packet"]
        order = np.argsort(packet[sent], kind="stable")
        ranks = np.empty(len(sent), np.int64)
        ranks[order] = np.arange(1, len(sent) + 1)

        def rank(rows: np.ndarray) -> np.ndarray:
            return ranks[order[np.searchsorted(packet[sent][order], packet[rows])]]

        arrived = arrived[np.argsort(self.run.packets.decided_ns[arrived], kind="stable")]
        when = self.run.packets.decided_ns
        panel.traces = [Trace("delivered", "delivered", "dots", when[arrived].astype(np.int64), rank(arrived))]
        if len(gone):
            where = self._where(gone)
            panel.traces.append(Trace("lost", "drop", "marks", when[gone].astype(np.int64), rank(gone), None, *where))
        return panel

    def _datagram_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Rows of the data packets: first offers, arrivals, losses; and when those last two were first offered."""
        packets, hop = self.run.packets, self.hop
        assert packets is not None and hop is not None and self.source is not None
        outward = self.rows[self.source[self.rows] == self.sender]
        sent = outward[hop.first[outward]]
        arrived = segments.arrivals(packets, outward, hop, self._answers())
        gone = outward[segments.lost(packets, outward)]
        gone = gone[np.argsort(packets.decided_ns[gone], kind="stable")]
        packet, begin = packets.numbers["packet"], packets.numbers["sent_ns"]
        order = np.argsort(packet[sent], kind="stable")

        def begun(rows: np.ndarray) -> np.ndarray:
            return begin[sent[order[np.searchsorted(packet[sent][order], packet[rows])]]]

        return sent, arrived, gone, (begun(arrived), begun(gone))

    def _answers(self) -> np.ndarray:
        """Rows with which the receiver offers packets of its own to its first link."""
        assert self.hop is not None and self.source is not None
        return self.rows[(self.source[self.rows] != self.sender) & self.hop.first[self.rows]]

    def _where(self, rows: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """For the hover: over which link, in which direction and why a packet was lost."""
        packets = self.run.packets
        assert packets is not None
        link, direction, fate = (packets.names[n] for n in ("link", "direction", "fate"))
        triples = np.stack([link.codes[rows], direction.codes[rows], fate.codes[rows]], axis=1)
        kinds, codes = np.unique(triples, axis=0, return_inverse=True) if len(rows) else (triples, np.zeros(0, int))
        labels = [f"{fate.values[f]}, {link.values[k]} ({direction.values[d]})" for k, d, f in kinds.tolist()]
        return codes.ravel(), labels

    def _crossed(self) -> set[tuple[str, str]] | None:
        """Link directions on which packets of this flow were offered; `None` when packets were not recorded."""
        packets = self.run.packets
        if packets is None:
            return None
        link, direction = packets.names["link"], packets.names["direction"]
        ways = len(direction.values)
        pairs = np.unique(link.codes[self.rows].astype(np.int64) * ways + direction.codes[self.rows])
        return {(link.values[p // ways], direction.values[p % ways]) for p in pairs.tolist()}

    def _series_panel(self, title: str, quantity: str, unit: str, chosen: list[tuple[str, str, str]]) -> Panel:
        panel = Panel(title, quantity, unit, [])
        if self.run.series is None:
            panel.note = NO_SERIES
            return panel
        for name, role, series_name in chosen:
            series = self.run.find(self.subject, series_name)
            if series is not None:
                kept = thinned(series)
                shape = "dots" if role == "round-trip time" else "steps"
                panel.traces.append(Trace(name, role, shape, kept.time_ns, kept.value))
        if not panel.traces:
            panel.note = "Nothing was recorded for this flow."
        _forget_unset_threshold(panel)
        factor, panel.unit = scaled([trace.value for trace in panel.traces], unit)
        for trace in panel.traces:
            trace.value = trace.value * factor
        return panel

    def _goodput_by_link(self, interval: float) -> list[Trace]:
        packets, hop = self.run.packets, self.hop
        assert packets is not None and hop is not None and self.source is not None
        payload = packets.numbers["payload_bytes"]
        outward = self.rows[(self.source[self.rows] == self.sender) & (payload[self.rows] > 0)]
        rows = segments.arrivals(packets, outward, hop, self._answers())
        rows = rows[np.argsort(packets.decided_ns[rows], kind="stable")]
        protocol = packets.names["protocol"]
        if len(rows) and protocol.values[protocol.codes[rows[0]]] == "tcp":
            rows = rows[_first_copies(packets.numbers["sequence"][rows], packets.names["source"].codes[rows])]
        link = packets.names["link"]
        traces = []
        for code in np.unique(link.codes[rows]).tolist():
            mine = rows[link.codes[rows] == code]
            name = link.values[code]
            when = packets.decided_ns[mine].astype(np.int64)
            traces.append(self._binned(f"over {name}", self.roles[name], when, payload[mine], interval))
        return traces

    def _binned(self, name: str, role: str, time_ns: np.ndarray, size: np.ndarray, interval: float) -> Trace:
        """Bits per second in bins of `interval` seconds; the last bin counts only as far as the run went."""
        count = max(int(np.ceil(self.run.duration_s / interval - 1e-9)), 1)
        place = np.minimum((time_ns / (interval * 1e9)).astype(np.int64), count - 1)
        total = np.bincount(place, weights=size.astype(np.float64), minlength=count) * 8
        edges = np.minimum(np.arange(count + 1) * interval, max(self.run.duration_s, 1e-9))
        rate = total / np.maximum(np.diff(edges), 1e-9)
        return Trace(name, role, "steps", np.round(edges * 1e9).astype(np.int64), np.append(rate, rate[-1]))


def _first_copies(sequence: np.ndarray, connection: np.ndarray) -> np.ndarray:
    """Which rows, ascending in time, bring a segment for the first time."""
    key = connection.astype(np.int64) << 32 | sequence.astype(np.int64)
    first = np.zeros(len(key), bool)
    first[np.unique(key, return_index=True)[1]] = True
    return first


def _forget_unset_threshold(panel: Panel) -> None:
    """Leaves out a slow-start threshold that was never set: it is recorded as infinite or very large."""
    windows = [t.value for t in panel.traces if t.role != "slow-start threshold"]
    largest = max((float(values.max()) for values in windows), default=0.0)
    for trace in panel.traces:
        if trace.role == "slow-start threshold" and largest:
            trace.value = np.where(trace.value > 20 * largest, np.nan, trace.value)
    panel.traces = [trace for trace in panel.traces if not np.all(np.isnan(trace.value))]
