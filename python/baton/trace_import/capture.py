"""Packet captures: an estimate of the capacity of each direction of a path, from a transfer's packets.

A capture shows what the flows got, not what the link could carry: rates are a lower bound, tight only while a transfer
always had data to send and window to send it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from . import pcap
from .drive_log import names, table
from .pcap import Packet
from .trace import (
    LARGEST_NUMBER,
    NANOSECONDS,
    Imported,
    Trace,
    TraceError,
    bin_rates,
    bin_starts,
    open_input,
    parse_number,
)

RTT_BLOCK_NS = 10 * NANOSECONDS
"""Round trips are filtered for their minimum over blocks as long as BBR's window for it."""
LOSS_BINS = 10
LOSS_MINIMUM_PACKETS = 20
DATA_SHARE = 0.1
"""A direction with a smaller share of payload carries acknowledgments: its rate says nothing of the link."""
DELAY_SHARE = 0.1
"""A side with a smaller share of the round trip hardly matters to the delay."""
LONG_PAUSE_NS = 2 * NANOSECONDS
"""Chosen: longer than two timeouts of a fresh connection, so that a sender with data would have tried again."""
SYN, FIN, ACK = 2, 1, 16

RULES = [
    "rate_bps: IP bytes captured in each bin of {bin} ms, retransmissions included; a bin without packets is 0 "
    "(an outage if the sender had data, otherwise a pause). It is what the flows got, not what the link could carry",
    "delay_ms: half of the round trip in each direction; the round trip is the sum of the minima of both sides' "
    "times from data to its acknowledgment, over blocks of 10 s; samples of retransmitted data are left out (Karn); "
    "a block without samples repeats the last",
    "loss: share of TCP data packets that start below the highest sequence number seen (retransmissions, reordering "
    "included), over ten bins; where these hold fewer than 20 packets, the share of the whole capture. It includes "
    "drops at full queues, which a replay makes once more",
]
REQUIRED = ["frame.time_epoch", "tcp.len"]


@dataclass
class Sequence:
    """One direction of a TCP connection, as it passes the point of capture."""

    highest: int | None = None
    unacknowledged: deque[tuple[int, int]] = field(default_factory=deque)

    def unwrap(self, sequence: int) -> int:
        """Returns the number without wrap-around, nearest to the highest one seen."""
        if self.highest is None:
            return sequence
        return self.highest + (sequence - self.highest + (1 << 31)) % (1 << 32) - (1 << 31)

    def sent(self, time_ns: int, sequence: int, length: int) -> bool:
        """Notes a segment; returns true if it starts below the highest number seen."""
        start = self.unwrap(sequence)
        if self.highest is not None and start < self.highest:
            self.unacknowledged = deque(entry for entry in self.unacknowledged if entry[0] <= start)
            self.highest = max(self.highest, start + length)
            return True
        self.highest = start + length
        self.unacknowledged.append((self.highest, time_ns))
        return False

    def acknowledged(self, time_ns: int, acknowledgment: int) -> int | None:
        """Returns the nanoseconds since the newest segment that this acknowledges was sent, if it acknowledges one."""
        sample = None
        number = self.unwrap(acknowledgment)
        while self.unacknowledged and self.unacknowledged[0][0] <= number:
            sample = time_ns - self.unacknowledged.popleft()[1]
        return sample


@dataclass
class Direction:
    """Packets seen in one direction."""

    arrivals: list[tuple[int, int]] = field(default_factory=list)
    ip_bytes: int = 0
    payload_bytes: int = 0
    data: list[tuple[int, bool]] = field(default_factory=list)
    """TCP data packets: time, and whether it repeats."""
    round_trips: list[tuple[int, int]] = field(default_factory=list)
    """Round trips from the point of capture to the data's destination: time of the acknowledgment, nanoseconds."""


def read_pcap(path: Path, bin_ns: int, mobile: str | None) -> Imported:
    """Reads the traces of a pcap or pcapng file."""
    notes: list[str] = []
    return estimate(path, list(pcap.read(path, notes)), bin_ns, mobile, notes)


def read_tshark(path: Path, bin_ns: int, mobile: str | None) -> Imported:
    """Reads the traces of a table of packets that tshark wrote (`-T fields -E header=y -E separator=,`)."""
    return estimate(path, list(tshark_packets(path)), bin_ns, mobile, [])


def is_tshark(path: Path) -> bool:
    """Returns true if a file is such a table."""
    with open_input(path) as file:
        return b"frame.time_epoch" in file.readline(10_000)


def tshark_packets(path: Path) -> Iterator[Packet]:
    """Reads the rows of tshark's table. Rows without IP addresses are skipped."""
    rows = table(path)
    line, header = next(rows)
    place = {name.strip(): i for i, name in enumerate(header)}
    missing = [name for name in REQUIRED if name not in place]
    if missing:
        raise TraceError(
            path, line, f"no {names(missing)} among {names(header)}; export it with tshark -e {missing[0]}"
        )
    for line, row in rows:
        cells = {name: row[i] for name, i in place.items() if i < len(row)}

        def number(name: str, line: int = line, cells: dict[str, str] = cells) -> int:
            text = cells.get(name, "").strip()
            try:
                value = int(text, 0) if text else 0
                if 0 <= value <= LARGEST_NUMBER:
                    return value
            except ValueError:
                pass
            raise TraceError(path, line, f"{name} is {text[:40]!r}; expected a whole number")

        source = cells.get("ip.src") or cells.get("ipv6.src")
        destination = cells.get("ip.dst") or cells.get("ipv6.dst")
        if not source or not destination:
            continue
        payload = number("tcp.len")
        is_tcp = bool(cells.get("tcp.len", "").strip())
        yield Packet(
            exact_time(path, line, cells.get("frame.time_epoch", "")),
            source,
            destination,
            number("ip.len") or payload + 40,
            payload if is_tcp else max(number("ip.len") - 28, 0),
            (number("tcp.srcport"), number("tcp.dstport")) if is_tcp else None,
            number("tcp.seq") if is_tcp else None,
            number("tcp.ack") if is_tcp else None,
            number("tcp.flags"),
        )


def exact_time(path: Path, line: int, text: str) -> int:
    """Returns the nanoseconds of a decimal number of seconds; a float is not exact enough."""
    parse_number(path, line, "frame.time_epoch", text)
    whole, _, rest = text.strip().partition(".")
    if whole.isascii() and whole.isdigit() and len(whole) < 12 and (not rest or (rest.isascii() and rest.isdigit())):
        return int(whole) * NANOSECONDS + int(rest[:9].ljust(9, "0") or "0")
    raise TraceError(path, line, f"frame.time_epoch is {text.strip()[:40]!r}; expected seconds as 1529470440.903892000")


def estimate(path: Path, packets: list[Packet], bin_ns: int, mobile: str | None, notes: list[str]) -> Imported:
    """Estimates rate, delay and loss of both directions. Down is towards the mobile."""
    if not packets:
        raise TraceError(path, None, "has no IP packets; expected a capture of a transfer")
    mobile = mobile or chosen_mobile(packets)
    packets.sort(key=lambda packet: packet.time_ns)
    start, down, up = packets[0].time_ns, Direction(), Direction()
    others = observe(packets, mobile, down, up)
    if not down.arrivals and not up.arrivals:
        raise TraceError(path, None, f"no packets from or to {mobile}; expected one of {names(addresses(packets))}")
    notes.append(f"down is towards {mobile}")
    if others:
        notes.append(f"{others} packets neither from nor to {mobile} were left out")
    end = packets[-1].time_ns - start
    starts = bin_starts(path, end, bin_ns)
    delay = delays(starts, end, down, up)
    notes.append(
        f"{len(down.round_trips)} + {len(up.round_trips)} round-trip samples (towards the mobile + away from it)"
    )
    warnings = list(thin_delay(end, down, up))
    traces = {}
    for name, way in (("down", down), ("up", up)):
        carries_data = way.ip_bytes > 0 and way.payload_bytes >= DATA_SHARE * way.ip_bytes
        if not carries_data:
            notes.append(f"{name} carried acknowledgments at most: no rate and no loss; give them in the scenario")
        else:
            warnings += long_pauses(name, way)
        if carries_data or delay is not None:
            rate = bin_rates(len(starts), bin_ns, way.arrivals) if carries_data else None
            traces[name] = Trace(
                starts, rate, delay, losses(starts, bin_ns, way) if carries_data and way.data else None
            )
    if not traces:
        raise TraceError(path, None, "has neither data nor round trips; expected a capture of a transfer")
    if sent_here := nearer_to_sender(down, up):
        notes.append(f"captured nearer to the sender of {sent_here}: its rate is what was sent, not what arrived")
    return Imported(traces, [rule.format(bin=bin_ns // 1_000_000) for rule in RULES], notes, warnings)


def thin_delay(end: int, down: Direction, up: Direction) -> Iterator[str]:
    """Returns warnings of sides with round trips in less than half of the blocks, if the delay depends on them."""
    sides = {"towards the mobile": down.round_trips, "away from the mobile": up.round_trips}
    least = {name: min((sample for _, sample in samples), default=0) for name, samples in sides.items()}
    blocks = end // RTT_BLOCK_NS + 1
    for name, samples in sides.items():
        seen = len({time // RTT_BLOCK_NS for time, _ in samples})
        if samples and 2 * seen < blocks and least[name] >= DELAY_SHARE * sum(least.values()):
            count = "one round-trip sample" if len(samples) == 1 else f"{len(samples)} round-trip samples"
            yield (
                f"the delay {name} rests on {count}, of {least[name] / 1e6:.0f} ms at the least, in {seen} of {blocks} "
                "blocks of 10 s; the others repeat it. Give a delay in the scenario, or capture data that way, too"
            )


def long_pauses(name: str, way: Direction) -> Iterator[str]:
    """Yields the warning of long times without a packet in a direction that carries data."""
    times = [time for time, _ in way.arrivals]
    pauses = [(after - before, before) for before, after in pairwise(times)]
    long = [pause for pause in pauses if pause[0] >= LONG_PAUSE_NS]
    if long:
        length, start = max(long)
        yield (
            f"{name} has {len(long)} pause{'s' * (len(long) > 1)} of 2 s and more without a packet, the longest of "
            f"{length / NANOSECONDS:.1f} s from {start / NANOSECONDS:.1f} s on: outages in the trace. If the sender "
            "had nothing to send there, or sent by another path, the link was not out: cut the recording"
        )


def observe(packets: list[Packet], mobile: str, down: Direction, up: Direction) -> int:
    """Sorts the packets into directions, with times from 0; also returns how many belong to neither."""
    start, others = packets[0].time_ns, 0
    sequences: dict[tuple[str, str, tuple[int, int]], Sequence] = {}
    for packet in packets:
        if mobile not in (packet.source, packet.destination):
            others += 1
            continue
        way, back = (down, up) if packet.destination == mobile else (up, down)
        time = packet.time_ns - start
        way.arrivals.append((time, packet.ip_bytes * 8))
        way.ip_bytes += packet.ip_bytes
        way.payload_bytes += packet.payload_bytes
        if packet.ports is None or packet.sequence is None or packet.acknowledgment is None:
            continue
        sequence = sequences.setdefault((packet.source, packet.destination, packet.ports), Sequence())
        length = packet.payload_bytes + bool(packet.flags & SYN) + bool(packet.flags & FIN)
        if packet.flags & SYN:
            sequence.highest = None if sequence.highest is None or not sequence.unacknowledged else sequence.highest
        if length:
            repeated = sequence.sent(time, packet.sequence, length)
            if packet.payload_bytes > 1:  # one byte below the highest number is a keep-alive
                way.data.append((time, repeated))
        reverse = sequences.get((packet.destination, packet.source, packet.ports[::-1]))
        if packet.flags & ACK and reverse is not None:
            sample = reverse.acknowledged(time, packet.acknowledgment)
            if sample is not None:
                back.round_trips.append((time, sample))
    return others


def delays(starts: list[int], end: int, down: Direction, up: Direction) -> list[float] | None:
    """Returns one-way milliseconds for each bin; `None` where nothing was acknowledged."""
    sides = [block_minima(way.round_trips, end) for way in (down, up)]
    known = [side for side in sides if side is not None]
    if not known:
        return None
    return [sum(side[start // RTT_BLOCK_NS] for side in known) / 2 / 1e6 for start in starts]


def block_minima(samples: list[tuple[int, int]], last_time: int) -> list[int] | None:
    """Returns the smallest sample of each block; one without samples repeats the last, the first ones take the next."""
    if not samples:
        return None
    blocks: list[int | None] = [None] * (last_time // RTT_BLOCK_NS + 1)
    for time, sample in samples:
        best = blocks[time // RTT_BLOCK_NS]
        blocks[time // RTT_BLOCK_NS] = sample if best is None else min(best, sample)
    last = next(block for block in blocks if block is not None)
    filled = []
    for block in blocks:
        last = last if block is None else block
        filled.append(last)
    return filled


def losses(starts: list[int], bin_ns: int, way: Direction) -> list[float]:
    """Returns the share of repeated data packets for each bin."""
    block_ns = bin_ns * LOSS_BINS
    seen: Counter[int] = Counter(time // block_ns for time, _ in way.data)
    repeated: Counter[int] = Counter(time // block_ns for time, again in way.data if again)
    overall = repeated.total() / seen.total()
    blocks = (start // block_ns for start in starts)
    return [repeated[b] / seen[b] if seen[b] >= LOSS_MINIMUM_PACKETS else overall for b in blocks]


def nearer_to_sender(down: Direction, up: Direction) -> str | None:
    """Returns the direction with more data, if its receiver is farther from the point of capture than its sender."""
    name, way, back = ("down", down, up) if down.payload_bytes >= up.payload_bytes else ("up", up, down)
    if not way.round_trips or not back.round_trips:
        return None
    ahead, behind = (min(sample for _, sample in side.round_trips) for side in (way, back))
    return name if ahead > behind else None


def chosen_mobile(packets: list[Packet]) -> str:
    """Returns the address that got the most bytes."""
    received: Counter[str] = Counter()
    for packet in packets:
        received[packet.destination] += packet.ip_bytes
    return received.most_common(1)[0][0]


def addresses(packets: list[Packet]) -> list[str]:
    """Returns all addresses, those with the most packets first."""
    counts = Counter(packet.source for packet in packets) + Counter(packet.destination for packet in packets)
    return [address for address, _ in counts.most_common()]
