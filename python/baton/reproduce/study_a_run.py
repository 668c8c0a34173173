"""Runs of study A, and its measures: goodput, delay, delivered data, and overhead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from baton import Result, Scenario
from baton.report.tables import run_of

from .transfer import Floats

#: Of a packet of 1500 B: what is left behind 20 B of IP, and behind the headers of TCP, UDP, and AeroTP's opening.
PACKET, IP = 1500, 20
TCP, UDP, AEROTP = 1460, 1472, 1446
#: AeroTP's prelude, whose own code protects it, and its payload check.
PRELUDE, CHECK = 3, 4
#: The source's data (section IV).
BYTES, RATE = 1_000_000, 4.416e6
#: Bytes of a block in the reading of 3000 packets a second, and of a TCP segment where ns-3 is not told another.
SMALL, SEGMENT = 184, 536
#: Bit error rates of figures 21 to 24.
RATES = (0.0, 5e-6, 1e-5, 2e-5, 3e-5, 3.5e-5, 5e-5, 7.5e-5, 1e-4)
#: The link of which all this is about.
MIDDLE = "air"

_LINUX = 'profile = "linux-6", receive_buffer = "4 MB", send_buffer = "4 MB"'
_SCPS = f'profile = "scps-tp", maximum_segment_size = "{TCP} B"'


@dataclass(frozen=True)
class Scheme:
    """Scheme that carries the data: settings of the flow, and the bytes of a block that fills a packet."""

    name: str
    settings: str
    block: int
    #: True if what is lost is sent again; if not, all that will come has come a moment after the last is sent.
    repeats: bool = True


#: Modes that send again what is lost.
_REPEATING = ("reliable", "near-reliable")


def aerotp(name: str, mode: str, coding: str = "", more: str = "", words: int = 0) -> Scheme:
    """Returns AeroTP in a mode; `coding` and `more` are keys of its table."""
    keys = ", ".join(filter(None, ('kind = "aerotp"', f'mode = "{mode}"', coding, more)))
    return Scheme(name, f"transport = {{ {keys} }}", AEROTP - 4 * words, mode in _REPEATING)


def quasi_reliable(words: int, *, header: bool = False) -> Scheme:
    """Returns quasi-reliable AeroTP with this many words in each packet. One path does not reorder, so no gap is waited
    for."""
    coding = f"coding = {{ words = {words}, header = {str(header).lower()} }}"
    return aerotp(f"AeroTP quasi-reliable, {words} words", "quasi-reliable", coding, _NO_WAIT, words)


def newreno(segment: int) -> Scheme:
    """Returns the study's TCP with segments of this many bytes.

    ns-2's habits are those of the study's simulator in what matters here: timeouts of 200 ms at least, no SACK.
    """
    keys = (
        f'maximum_segment_size = "{segment} B", initial_rto = "3 s", nagle = false, receive_buffer = "4 MB",'
        ' send_buffer = "4 MB", window_scaling = true'
    )
    settings = f'transport = {{ congestion = "newreno", profile = "ns2", {keys} }}'
    return Scheme(f"TCP NewReno, segments of {segment} B", settings, segment)


def aggregating(packets: int) -> Scheme:
    """Returns reliable AeroTP with this many packets per MACK; of 64 at the rate that A4's errors leave, the last comes
    after 0.23 s."""
    more = f'packets_per_mack = {packets}, mack_delay = "250 ms"'
    return aerotp(f"AeroTP reliable, {packets} a MACK", "reliable", _PLAIN, more)


_PLAIN = 'coding = "none"'
_NO_WAIT = 'reordering_wait = "1 ms"'
RELIABLE = aerotp("AeroTP reliable", "reliable", _PLAIN)
ADAPTIVE = aerotp("AeroTP reliable, adaptive coding", "reliable", 'coding = "adaptive"')
QUASI = quasi_reliable(96)
#: Schemes that the study compares (figures 21 to 24), and those beyond it.
STUDIED = {
    "tcp": newreno(SEGMENT),
    "udp": Scheme("UDP", 'transport = "udp"', UDP, repeats=False),
    "reliable": RELIABLE,
    "quasi": QUASI,
}
#: TCP in the reading of 3000 packets a second, and with segments that fill a packet.
SMALL_TCP, LARGE_TCP = newreno(SMALL), newreno(TCP)
MODES = {
    "near-reliable": aerotp("AeroTP near-reliable", "near-reliable", _PLAIN),
    "connection": aerotp("AeroTP unreliable connection", "unreliable-connection", _PLAIN, _NO_WAIT),
    "datagram": aerotp("AeroTP unreliable datagram", "unreliable-datagram", _PLAIN),
}
STACKS = {
    "cubic": Scheme("TCP CUBIC", f'transport = {{ congestion = "cubic", {_LINUX} }}', TCP),
    "bbr": Scheme("TCP BBR", f'transport = {{ congestion = "bbr", {_LINUX} }}', TCP),
    "scps-vj": Scheme("SCPS-TP, VJ", f'transport = {{ congestion = "newreno", {_SCPS} }}', TCP),
    "scps-vegas": Scheme("SCPS-TP, Vegas", f'transport = {{ congestion = "vegas", {_SCPS} }}', TCP),
}


@dataclass(frozen=True)
class Case:
    """A scheme on the study's path."""

    scheme: Scheme
    bit_error_rate: float
    #: True if the channel leaves headers alone, as in the study's model.
    spared: bool = False
    #: Bytes of a block, if it is not what fills a packet.
    block: int | None = None
    #: Further overrides.
    more: Sequence[str] = ()


@dataclass(frozen=True)
class Transfer:
    """Results of one transfer of a run."""

    #: Bytes.
    delivered: float
    #: In bit/s, over the time to the last delivery, or to the end of the run if more could come.
    goodput: float
    #: Mean from making to delivery, in seconds; infinite if nothing came.
    delay: float
    #: Bytes on the middle link beyond first payload, over first payload; infinite if no payload crossed it.
    overhead: float
    #: From the start to the last byte; infinite if that did not come.
    completion: float
    #: Bytes of a full packet with data, and of its payload.
    packet: int
    payload: int

    @property
    def loss(self) -> float:
        """Share of the data that is missing."""
        return 1 - self.delivered / BYTES

    def header_bits(self, words: int) -> int:
        """Returns bits of a packet of AeroTP that no code protects."""
        return 8 * (self.packet - self.payload - CHECK - PRELUDE - 4 * words)


def flow(scheme: Scheme, block: int | None = None) -> str:
    """Returns an override that has the study's source use a scheme."""
    size = block or scheme.block
    return (
        'flows=[{ name = "telemetry", from = "article", to = "ground", start_jitter = "220 ms",'
        f' traffic = {{ kind = "constant", rate = "4.416 Mbit/s", packet_size = "{size} B", bytes = "1 MB" }},'
        f" {scheme.settings} }}]"
    )


def simulate(file: Path, seed: int, case: Case) -> Transfer:
    """Runs a transfer over the study's path. Raises `ScenarioError`."""
    overrides = [
        f"links.{MIDDLE}.bit_error_rate={case.bit_error_rate}",
        f"links.{MIDDLE}.spares={'headers' if case.spared else 'nothing'}",
        flow(case.scheme, case.block),
        'record.series=["delivered bytes"]',
        *case.more,
    ]
    result = Scenario.load(file, overrides=overrides).run(seed=seed)
    return _measured(result, case.block or case.scheme.block, repeats=case.scheme.repeats)


def _measured(result: Result, block: int, *, repeats: bool) -> Transfer:
    summary = result.summary["flows"][0]
    packets = _middle(result)
    data = packets["down"] & (packets["payload_bytes"] > 0)
    first = data & ~packets["retransmission"]
    new = packets["payload_bytes"][first].sum()
    # A SYN too leaves when the source starts; the network before the link takes next to nothing.
    begun = packets["sent_ns"][packets["down"]][0] / 1e9
    delivered = float(summary["delivered_bytes"])
    completion = summary["completion_s"]
    if repeats:
        until = completion or result.summary["simulated_s"] - begun
        times, bytes_then = _delivered(result)
        waited = stream_delay(times - begun, bytes_then, block)
    else:
        came = data & packets["arrived"]
        until = float(packets["decided_ns"][came].max(initial=0)) / 1e9 - begun
        waited = _packet_delay(packets, first, begun, block)
    full = int(np.argmax(packets["payload_bytes"] * data))
    return Transfer(
        delivered=delivered,
        goodput=8 * delivered / until,
        delay=waited,
        overhead=float((packets["wire_bytes"].sum() - new) / new) if new else float("inf"),
        completion=float("inf") if completion is None else float(completion),
        packet=int(packets["wire_bytes"][full]),
        payload=int(packets["payload_bytes"][full]),
    )


def made(offsets: Floats, block: int) -> Floats:
    """Returns the seconds after the start at which the source generates the bytes at some places of its data."""
    times: Floats = np.floor(offsets / block) * (8 * block / RATE)
    return times


def stream_delay(times: Floats, bytes_then: Floats, block: int) -> float:
    """Returns the mean delay of all bytes that were delivered, in order, at some times."""
    steps = np.diff(np.concatenate([[0.0], bytes_then]))
    if not steps.sum():
        return float("inf")
    return float((steps * times).sum() / steps.sum() - _made_on_average(int(bytes_then[-1]), block))


def _made_on_average(count: int, block: int) -> float:
    """Returns the mean over this many first bytes of the seconds after the start at which the source generates each."""
    full, rest = divmod(count, block)
    return 8 * block / RATE * full * (block * (full - 1) / 2 + rest) / count


def _packet_delay(packets: Mapping[str, Floats], first: Floats, begun: float, block: int) -> float:
    """Returns the mean delay of all packets that arrived, of a source whose data crosses the link in order, and
    once."""
    length, decided = packets["payload_bytes"][first], packets["decided_ns"][first] / 1e9 - begun
    offsets = np.cumsum(length) - length
    came = packets["arrived"][first]
    return float((decided - made(offsets, block))[came].mean()) if came.any() else float("inf")


def _delivered(result: Result) -> tuple[Floats, Floats]:
    """Returns the times at which data was delivered, and the amount by then."""
    series = run_of(result).find("flow telemetry", "delivered bytes")
    if series is None:
        return np.zeros(0), np.zeros(0)
    more = np.diff(series.value, prepend=0.0) > 0
    return series.time_ns[more] / 1e9, series.value[more]


def _middle(result: Result) -> dict[str, np.ndarray]:
    """Returns columns of the packets on the middle link."""
    table = pa.table(result.packets)
    table = table.filter(pc.equal(table["link"], MIDDLE))
    numbers = ("sent_ns", "decided_ns", "wire_bytes", "payload_bytes", "retransmission")
    columns = {name: np.asarray(table[name].to_numpy()) for name in numbers}
    columns["payload_bytes"] = columns["payload_bytes"].astype(np.int64)
    for name, column, value in (("down", "direction", "down"), ("arrived", "fate", "delivered")):
        columns[name] = np.asarray(pc.equal(table[column], value).to_numpy())
    return columns
