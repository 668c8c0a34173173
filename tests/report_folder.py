"""Results folders for tests of the report, made by a small model of a transfer: no engine is needed.

A sender, a wired link, and two access links with a handover between them; slow start and additive increase,
SACK, fast retransmit and a timeout. It follows no standard to the letter: it only has to look like one.
"""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SERVER, LAPTOP = "10.0.0.1:80", "10.0.0.2:5001"
SECOND = 1_000_000_000
NAME_COLUMNS = ("link", "direction", "flow", "fate", "protocol", "source", "destination", "flags")


@dataclass
class Rows:
    """The two tables as they grow."""

    packets: list[dict] = field(default_factory=list)
    series: list[tuple] = field(default_factory=list)

    def write(self, folder: Path, summary: dict, manifest: dict) -> Path:
        """Writes a whole results folder."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.packets:
            write_packets(folder, {name: [row[name] for row in self.packets] for name in self.packets[0]})
        if self.series:
            time, subject, quantity, value = zip(*sorted(self.series, key=lambda row: row[0]), strict=True)
            write_series(folder, time, subject, quantity, value)
        (folder / "summary.json").write_text(json.dumps(summary))
        (folder / "manifest.json").write_text(json.dumps(manifest))
        return folder


def write_packets(folder: Path, columns: dict) -> None:
    """`packets.parquet` from columns; the types as the engine writes them."""
    unsigned = {"wire_bytes", "sequence", "acknowledgment", "payload_bytes", "window"}
    types = {"packet": pa.uint64(), "sent_ns": pa.int64(), "decided_ns": pa.int64(), "retransmission": pa.bool_()}
    types |= {name: pa.uint32() for name in unsigned} | {"sack": pa.list_(pa.uint32())}
    arrays = {}
    for name, values in columns.items():
        if isinstance(values, pa.Array):
            arrays[name] = values
        elif name in NAME_COLUMNS:
            arrays[name] = pa.array(values, pa.string()).dictionary_encode()
        else:
            arrays[name] = pa.array(values, types[name])
    pq.write_table(pa.table(arrays), folder / "packets.parquet")


def write_series(folder: Path, time, subject, quantity, value) -> None:
    """`series.parquet` from columns."""
    table = pa.table(
        {
            "time_ns": pa.array(time, pa.int64()),
            "subject": subject if isinstance(subject, pa.Array) else pa.array(subject).dictionary_encode(),
            "series": quantity if isinstance(quantity, pa.Array) else pa.array(quantity).dictionary_encode(),
            "value": pa.array(value, pa.float64()),
        }
    )
    pq.write_table(table, folder / "series.parquet")


class Pipe:
    """One direction of a link: rate, delay, drop-tail queue, losses."""

    def __init__(self, world: World, name: str, direction: str, rate: float, delay_s: float, queue: int, loss=0.0):
        self.world, self.name, self.direction = world, name, direction
        self.rate, self.delay_s, self.queue, self.loss = rate, delay_s, queue, loss
        self.free_ns, self.waiting = 0, 0

    def offer(self, packet: dict, arrived: Callable[[dict], None]) -> None:
        now = self.world.now
        row = dict(packet, link=self.name, direction=self.direction, sent_ns=now, decided_ns=None, fate="under way")
        self.world.rows.packets.append(row)
        if self.waiting >= self.queue:
            row.update(decided_ns=now, fate="queue full")
            return
        self.count(1)
        serialised = max(now, self.free_ns) + int(packet["wire_bytes"] * 8 / self.rate * SECOND)
        self.free_ns = serialised
        self.world.at(serialised, lambda: self.count(-1))
        lost = self.world.random.random() < self.loss

        def decide() -> None:
            row.update(decided_ns=self.world.now, fate="channel error" if lost else "delivered")
            if not lost:
                arrived(packet)

        self.world.at(serialised + int(self.delay_s * SECOND), decide)

    def count(self, change: int) -> None:
        self.waiting += change
        self.world.series(f"link {self.name} {self.direction}", "queue packets", self.waiting)


class World:
    """Time, pending events and the tables."""

    def __init__(self, seed: int):
        self.now, self.rows, self.random = 0, Rows(), random.Random(seed)
        self.events, self.count, self.packets = [], 0, 0

    def at(self, time: int, action: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.events, (time, self.count, action))

    def run(self, until_s: float) -> None:
        while self.events and self.events[0][0] <= until_s * SECOND:
            self.now, _, action = heapq.heappop(self.events)
            action()

    def series(self, subject: str, quantity: str, value: float) -> None:
        self.rows.series.append((self.now, subject, quantity, float(value)))

    def packet(
        self, flow: str, source: str, destination: str, sequence: int, acknowledgment: int, payload: int, **more
    ):
        self.packets += 1
        base = dict(packet=self.packets, flow=flow, protocol="tcp", source=source, destination=destination)
        base |= dict(sequence=sequence % 2**32, acknowledgment=acknowledgment % 2**32, payload_bytes=payload)
        base |= dict(wire_bytes=payload + 40, flags="ACK", window=65535, sack=None, retransmission=False)
        return base | more


class Transfer:
    """A download from the server to the laptop over the `route` of pipes of the moment."""

    def __init__(self, world: World, name: str, route: Callable[[], tuple[list[Pipe], list[Pipe]]], port: int = 80):
        self.world, self.name, self.route = world, name, route
        self.source = f"10.0.0.1:{port}"
        self.isn = 2**32 - 60_000  # the sequence numbers wrap soon
        self.mss, self.next, self.acked, self.window, self.threshold = 1460, 0, 0, 2 * 1460, 1 << 40
        self.received, self.above, self.sacked, self.again = 0, set(), set(), set()
        self.sent_at, self.duplicates, self.recover, self.srtt, self.rto, self.deadline = {}, 0, 0, 0.0, 1.0, 0
        world.at(0, lambda: self.transmit(0, syn=True))

    def forward(self, packet: dict, pipes: list[Pipe], end: Callable[[dict], None]) -> None:
        first, rest = pipes[0], pipes[1:]
        first.offer(packet, lambda p: self.forward(p, rest or self.route()[0][1:], end) if rest else end(p))

    def transmit(self, offset: int, again: bool = False, syn: bool = False) -> None:
        sequence, size = (self.isn, 0) if syn else (self.isn + 1 + offset, self.mss)
        flags = "SYN" if syn else "ACK"
        packet = self.world.packet(self.name, self.source, LAPTOP, sequence, 0, size, flags=flags, retransmission=again)
        if not syn and not again:
            self.sent_at[offset] = self.world.now
        elif again:
            self.sent_at.pop(offset, None)
        self.arm()
        self.forward(packet | {"offset": offset, "syn": syn}, self.route()[0], self.arrive)

    def arm(self) -> None:
        self.deadline = deadline = self.world.now + int(self.rto * SECOND)
        self.world.at(deadline, lambda: self.timeout() if deadline == self.deadline else None)

    def timeout(self) -> None:
        if self.acked >= self.next:
            return
        self.threshold, self.window = max((self.next - self.acked) // 2, 2 * self.mss), self.mss
        self.rto, self.recover = min(self.rto * 2, 60), self.next
        self.sacked.clear()
        self.again = {self.acked}
        self.transmit(self.acked, again=True)
        self.note()

    def arrive(self, packet: dict) -> None:
        if not packet["syn"] and packet["offset"] >= self.received:
            self.above.add(packet["offset"])
        while self.received in self.above:
            self.above.remove(self.received)
            self.received += self.mss
        self.world.series(f"flow {self.name}", "delivered bytes", self.received)
        held, sack = sorted(self.above), []
        for offset in held:
            if sack and sack[-1] == (self.isn + 1 + offset) % 2**32:
                sack[-1] = (sack[-1] + self.mss) % 2**32
            else:
                sack += [(self.isn + 1 + offset) % 2**32, (self.isn + 1 + offset + self.mss) % 2**32]
        acknowledgment = self.isn + 1 + self.received
        flags = "SYN ACK" if packet["syn"] else "ACK"
        reply = self.world.packet(
            self.name, LAPTOP, self.source, 7, acknowledgment, 0, flags=flags, sack=sack[-6:] or None
        )
        reply |= {"acked": self.received, "held": set(held)}
        self.forward(reply, self.route()[1], self.acknowledge)

    def acknowledge(self, packet: dict) -> None:
        acked, self.sacked = packet["acked"], self.sacked | packet["held"]
        if acked > self.acked or self.next == 0:
            sample_from = self.sent_at.get(acked - self.mss)
            if sample_from is not None:
                self.measure((self.world.now - sample_from) / SECOND)
            growth = self.mss if self.window < self.threshold else self.mss * self.mss // self.window
            self.window, self.acked, self.duplicates = self.window + growth, acked, 0
            self.arm()
            if acked < self.recover and acked not in self.sacked:
                self.transmit(acked, again=True)
        elif acked == self.acked:
            self.duplicates += 1
            if self.duplicates == 3 and acked >= self.recover:
                self.threshold = self.window = max(self.window // 2, 2 * self.mss)
                self.recover = self.next
                self.transmit(acked, again=True)
        while self.next - self.acked + self.mss <= min(self.window, 65535):
            offset, self.next = self.next, self.next + self.mss
            self.transmit(offset)
        self.note()

    def measure(self, sample: float) -> None:
        self.srtt = sample if not self.srtt else 0.875 * self.srtt + 0.125 * sample
        self.rto = max(2 * self.srtt, 0.2)
        self.world.series(f"flow {self.name}", "round-trip time", sample)
        self.world.series(f"flow {self.name}", "smoothed round-trip time", self.srtt)

    def note(self) -> None:
        subject = f"flow {self.name}"
        self.world.series(subject, "retransmission timeout", self.rto)
        self.world.series(subject, "congestion window", self.window)
        self.world.series(subject, "slow-start threshold", self.threshold)
        self.world.series(subject, "bytes in flight", self.next - self.acked)


MANIFEST = {
    "version": "0.1.0",
    "complete": True,
    "seed": 1,
    "scenario": "wavelan-to-gsm",
    "resolved": 'name = "wavelan-to-gsm"\ndescription = "Two <handovers>"\nduration = "60 s"\n# <not> & markup\n',
    "overrides": ["seed=1"],
}


def handover_folder(folder: Path, flows: int = 1, seconds: float = 60, **manifest) -> Path:
    """A download (or several) whose receiver goes from a fast link to a slow one at 20 s, and back at 40 s.

    The first handover is hard (1.5 s of outage), the second soft. A ping runs beside it.
    """
    world = World(seed=1)
    wired = [Pipe(world, "ethernet", way, 10e6, 0.00025, 100) for way in ("down", "up")]
    fast = [Pipe(world, "wavelan", way, 2e6, 0.02, 20, loss=0.002) for way in ("down", "up")]
    slow = [Pipe(world, "gsm", way, 200e3, 0.25, 15) for way in ("down", "up")]
    dead = [Pipe(world, "wavelan", way, 2e6, 0.02, 0) for way in ("down", "up")]

    def route() -> tuple[list[Pipe], list[Pipe]]:
        time = world.now / SECOND
        access = dead if 20 <= time < 21.5 else slow if 21.5 <= time < 40 else fast
        return [wired[0], access[0]], [access[1], wired[1]]

    transfers = [Transfer(world, "download" if n == 0 else f"download {n + 1}", route, 80 + n) for n in range(flows)]
    pings(world, route, seconds)
    world.run(seconds)
    for pipe in (*wired, *fast, *slow):
        pipe.count(0)
    rows = [{k: v for k, v in row.items() if k not in ("offset", "syn", "acked", "held")} for row in world.rows.packets]
    for row in rows:
        if row["link"] == "wavelan" and row["fate"] == "queue full" and 20 * SECOND <= row["sent_ns"] < 21.5 * SECOND:
            row["fate"] = "link down"
    world.rows.packets = rows
    return world.rows.write(folder, _summary(transfers, seconds), MANIFEST | manifest)


def pings(world: World, route: Callable, seconds: float) -> None:
    """A packet of 64 B each 250 ms from the server to the laptop, answered at once."""

    def send(packet: dict, pipes: list[Pipe], end: Callable) -> None:
        pipes[0].offer(packet, lambda p: send(p, pipes[1:], end) if pipes[1:] else end(p))

    def go(number: int) -> None:
        begun = world.now
        more = {"protocol": "udp", "flags": None}
        request = world.packet("ping", "10.0.0.1:7", "10.0.0.2:7", number, 0, 64, **more)

        def done(_: dict) -> None:
            world.series("flow ping", "round-trip time", (world.now - begun) / SECOND)

        def answer(_: dict) -> None:
            reply = world.packet("ping", "10.0.0.2:7", "10.0.0.1:7", number, 0, 64, **more)
            send(reply, route()[1], done)

        send(request, route()[0], answer)

    for number in range(int(seconds * 4)):
        world.at(int(number * 0.25 * SECOND), lambda number=number: go(number))


def _summary(transfers: list[Transfer], seconds: float) -> dict:
    def at(first: dict, second: dict) -> dict:
        return {"mobile": "laptop", **first, "flows": [{"name": "download", **second}]}

    soft = {"at_s": 40.0, "from": "gsm", "to": "wavelan", "kind": "soft", "completed_s": 40.0, "lost_packets": 0}
    hard = {"at_s": 20.0, "from": "wavelan", "to": "gsm", "kind": "hard", "completed_s": 21.5, "lost_packets": 9}
    effect = {"stall_s": 3.184, "lost_packets": 9, "spurious_retransmissions": 2, "time_to_90_percent_s": 5.0712}
    flows = [
        {
            "name": transfer.name,
            "transport": "tcp",
            "delivered_bytes": transfer.received,
            "completion_s": None,
            "goodput_bps": transfer.received * 8 / seconds,
            "segments_sent": 3210,
            "retransmitted": 31,
            "spurious_retransmitted": 2,
            "timeouts": 3,
            "longest_stall_s": 3.184,
            "lost_packets": 31,
            "failure": None,
        }
        for transfer in transfers
    ]
    ping = {name: None for name in flows[0]} | {"name": "ping", "transport": "udp", "delivered_bytes": 15000}
    run = {"scenario": "wavelan-to-gsm", "seed": 1, "simulated_s": float(seconds), "wall_s": 0.042, "events": 51234}
    handovers = [at(hard, effect), at(soft, dict.fromkeys(effect, None) | {"stall_s": 0.0125})]
    return run | {"flows": [*flows, ping], "handovers": [h for h in handovers if h["at_s"] < seconds]}


def large_folder(folder: Path, segments: int = 1_000_000, links: int = 1) -> Path:
    """A transfer of many segments over some links, one ACK for two segments; 0.1 % lost and sent again."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(1)
    gap = generator.integers(900_000, 1_100_000, segments)
    sent = np.cumsum(gap)
    offset = np.arange(segments, dtype=np.int64) * 1448
    lost = generator.random(segments) < 0.001
    again = np.roll(lost, 25)
    again[:25] = False
    offset[again] = np.roll(offset, 25)[again]
    acks = np.arange(0, segments, 2)
    times = np.concatenate((sent, sent[acks] + 45_000_000))
    data = np.arange(len(times)) < segments
    first = 123_456_789
    base = {
        "packet": np.arange(1, len(times) + 1),
        "sequence": np.where(data, (first + 1 + np.append(offset, acks * 0)) % 2**32, 1),
        "acknowledgment": np.where(data, 1, (first + 1 + np.append(offset * 0, offset[acks])) % 2**32),
        "payload_bytes": np.where(data, 1448, 0),
        "retransmission": np.append(again, acks < 0),
    }
    parts = []
    for link in range(links):
        hop = link if links > 1 else 0
        begin = times + 10_000_000 * hop
        delay = generator.integers(9_000_000, 10_000_000, len(times)) + (30_000_000 if hop else 0)
        last = np.append(lost, acks < 0) & (link == links - 1)
        parts.append(
            base
            | {
                "sent_ns": begin,
                "decided_ns": begin + delay,
                "link": np.where(data, link, links - 1 - link),
                "lost": last,
            }
        )
    merged = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(merged["sent_ns"], kind="stable")
    merged = {name: values[order] for name, values in merged.items()}
    data = merged["payload_bytes"] > 0

    def names(codes: np.ndarray, values: list[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values))

    count = len(data)
    zero = np.zeros(count, np.int32)
    columns = {
        "packet": merged["packet"],
        "link": names(merged["link"], [f"link-{n}" for n in range(links)]),
        "direction": names(np.where(data, 0, 1), ["down", "up"]),
        "flow": names(zero, ["download"]),
        "sent_ns": merged["sent_ns"],
        "decided_ns": merged["decided_ns"],
        "fate": names(merged["lost"].astype(int), ["delivered", "queue full"]),
        "wire_bytes": merged["payload_bytes"] + 40,
        "protocol": names(zero, ["tcp"]),
        "source": names(np.where(data, 0, 1), [SERVER, LAPTOP]),
        "destination": names(np.where(data, 1, 0), [SERVER, LAPTOP]),
        "sequence": merged["sequence"],
        "acknowledgment": merged["acknowledgment"],
        "payload_bytes": merged["payload_bytes"],
        "flags": names(zero, ["ACK"]),
        "window": zero,
        "sack": pa.nulls(count, pa.list_(pa.uint32())),
        "retransmission": merged["retransmission"],
    }
    write_packets(folder, columns)
    _large_series(folder, sent[acks], generator)
    duration = float(sent[-1] / SECOND)
    at = duration / 2
    handover = {
        "at_s": at,
        "from": "a",
        "to": "b",
        "kind": "hard",
        "completed_s": at + 2.0,
        "mobile": "train",
        "flows": [],
    }
    summary = {"scenario": "large", "seed": 1, "simulated_s": duration, "handovers": [handover]}
    summary["flows"] = [{"name": "download", "transport": "tcp"}]
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "manifest.json").write_text(json.dumps(MANIFEST))
    return folder


def _large_series(folder: Path, time: np.ndarray, generator: np.random.Generator) -> None:
    quantities = [
        "congestion window",
        "round-trip time",
        "smoothed round-trip time",
        "bytes in flight",
        "queue packets",
    ]
    count = len(quantities)
    value = generator.random(len(time) * count) * 0.1 + np.tile([1e5, 0.6, 0.6, 9e4, 40.0], len(time))
    codes = np.tile(np.arange(count, dtype=np.int32), len(time))
    subject = pa.DictionaryArray.from_arrays(
        pa.array((codes == 4).astype(np.int32)), pa.array(["flow download", "link link-0 down"])
    )
    quantity = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(quantities))
    write_series(folder, np.repeat(time, count), subject, quantity, value)
