"""The laboratory: scenarios, runs, their tables, and connections of TCP and AeroTP to be driven by hand."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, final

from typing_extensions import disjoint_base

from baton.parts import Cut

__all__ = [
    "AckSample",
    "AerotpConnection",
    "AerotpPacket",
    "Batches",
    "BatonError",
    "Column",
    "Connection",
    "Control",
    "Decision",
    "FolderError",
    "LinkEvent",
    "LinkView",
    "Listener",
    "LiveDecisions",
    "LossSample",
    "MobileView",
    "PacketError",
    "PathParameters",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Signal",
    "Stop",
    "Table",
    "TableFile",
    "TransportView",
    "build_commit",
    "json_defaults",
    "json_link_budget",
    "json_radio_figures",
    "json_remedies",
    "json_schema",
    "quantity",
    "sweep_run",
    "table_column",
]

class BatonError(Exception):
    """Error that Baton raises; its text is written for people."""

class ScenarioError(BatonError):
    """A scenario is wrong. The text has one line for each mistake: file, line, column, key, what was
    expected, and the nearest valid name."""

class PacketError(BatonError):
    """Bytes that are no packet, or a packet that its receiver drops: cut short, damaged, or not for it."""

class RunError(BatonError):
    """A run could not be made, or its results could not be kept: a folder that exists already, a full disk."""

class FolderError(RunError):
    """The given folder cannot take the results: it exists already, holds something else, or is in use."""

@final
class Scenario:
    """A scenario that can be run. It does not change: runs of it may go on in several threads at once."""

    @staticmethod
    def load(path: str | PathLike[str], overrides: Sequence[str] = ..., *, live: bool = ...) -> Scenario:
        """Reads a scenario file; for a live run, in which a flow may have any congestion control of the kernel's, and
        only decisions may be classes in Python.

        `overrides` are texts like `"flows.download.transport.congestion=cubic"`; of two for one key the later holds.
        Raises `ScenarioError`, also for a file that cannot be read.
        """

    @staticmethod
    def parse(text: str, directory: str | PathLike[str] = ..., overrides: Sequence[str] = ...) -> Scenario:
        """Reads a scenario from TOML text.

        Files that it names are looked for in `directory` (by default the current one), and messages name it
        as `scenario.toml` there. Raises `ScenarioError`.
        """

    @staticmethod
    def build(*, directory: str | PathLike[str] = ..., overrides: Sequence[str] = ..., **keys: Any) -> Scenario:
        """Makes a scenario of Python values, with the names of the scenario file's keys.

        Tables are dictionaries, arrays lists, and quantities have their units as in the file:
        `Scenario.build(name="short", duration="10 s", links={"lan": {"rate": "2 Mbit/s", ...}}, flows=[{...}])`.
        `directory` and `overrides` as in `parse`. Raises `ScenarioError`, whose text names the key.
        """

    def with_overrides(self, overrides: Sequence[str]) -> Scenario:
        """The same scenario with other values: `overrides` are texts like `"links.lan.rate=1 Mbit/s"`, and hold above
        those before. Raises `ScenarioError`.
        """

    @property
    def name(self) -> str:
        """Short name."""

    @property
    def description(self) -> str:
        """One line for people; may be empty."""

    @property
    def duration_s(self) -> float:
        """Simulated time that a run lasts, in seconds."""

    @property
    def seed(self) -> int:
        """Seed of all randomness, unless `run` is given another."""

    @property
    def flow_names(self) -> list[str]:
        """Names of the flows, in the order of the file."""

    @property
    def class_names(self) -> list[str]:
        """Names of the classes of flows, sorted."""

    @property
    def link_count(self) -> int:
        """Number of the links, those of each mobile to each cell of a radio network included."""

    @property
    def link_names(self) -> list[str]:
        """Names of the links, in the order of the file."""

    @property
    def expectations(self) -> list[str]:
        """Expectations that the scenario holds itself to, as written."""

    @property
    def warnings(self) -> list[str]:
        """Probable mistakes, such as a change after the end of the run."""

    @property
    def cut(self) -> Cut:
        """The parts in which `run` with `threads` runs it, as a dictionary; `baton.parts.Cut` has the keys."""

    @property
    def resolved(self) -> str:
        """The scenario as TOML, with the overrides applied."""

    @property
    def directory(self) -> Path:
        """Folder in which the files that the scenario names are looked for."""

    @property
    def traces(self) -> dict[str, str]:
        """SHA-256 of the recordings that the scenario reads, by path as the scenario names them."""

    def run(
        self,
        out: str | PathLike[str] | None = None,
        *,
        seed: int | None = None,
        force: bool = False,
        pcap: bool = False,
        snap_length: int | None = None,
        pcap_interfaces: Sequence[str] = ...,
        progress: Callable[[float, str], object] | None = None,
        threads: int | None = None,
    ) -> Result:
        """Runs the scenario; other threads go on meanwhile.

        Without `out`, tables stay in memory and nothing is written. With it, the results appear as the folder
        `out` when the run has ended; one that exists already is refused unless `force` is true, and even then
        replaced only if it is empty or holds results; `FolderError` says so. `pcap` adds captures of every
        interface, in a folder; with `pcap_interfaces`, only of those, as `laptop-wifi`; with `snap_length`, of the
        first so many bytes of each packet. Raises `InputError` for an interface that is not there.

        `progress` is called with the simulated seconds and a word on what is going on, about twenty times a
        second; an exception in it ends the run, nothing is kept, and it is raised here.

        Ctrl-C ends the run early. With `out`, what there is by then is kept, and the result's `complete` is
        false; without, `KeyboardInterrupt` is raised. Raises `RunError` if the results cannot be kept.

        An exception in a class in Python that the scenario names ends the run, nothing is kept, and it is raised
        here. So is the `KeyboardInterrupt` of a Ctrl-C that meets the class at work.

        With `threads`, the parts into which `cut` divides the scenario run on so many threads, if there are any. The
        results are the same for any number, also one, but events at the same moment may have another order than
        without `threads`. Such a run writes no captures: `InputError`.
        """

    def _repr_html_(self) -> str:
        """Returns the HTML that a notebook shows."""

@final
class Result:
    """Results of a run."""

    @property
    def summary(self) -> dict[str, Any]:
        """Flows and handovers in numbers: the object that `baton run --json` prints."""

    @property
    def manifest(self) -> dict[str, Any]:
        """Facts that are needed to repeat the run: version, seed, resolved scenario, hashes of traces and results."""

    @property
    def complete(self) -> bool:
        """True if the run reached its end."""

    @property
    def folder(self) -> str | PathLike[str] | None:
        """The folder of the results; None if they are in memory only."""

    @property
    def series(self) -> Table | None:
        """Series: `time_ns`, `subject`, `series`, `value`. A run with a folder reads them from there each time.
        None if they were switched off."""

    @property
    def packets(self) -> Table | None:
        """One row for every packet on every link. A run with a folder reads them from there each time. None if
        they were switched off."""

    @property
    def signals(self) -> Table | None:
        """One row for every signalling message, and for every signal inside a host. A run with a folder reads them from
        there each time. None where no mobility protocol is spoken."""

    def _repr_html_(self) -> str:
        """Returns the HTML that a notebook shows."""

@final
class Table:
    """A table that Arrow libraries take without copies: `pyarrow.table(table)`, `polars.DataFrame(table)`.

    Its schema's metadata describes columns and series as JSON, under `baton.series`, `baton.packets` or
    `baton.signals`.
    """

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`. Raises `ImportError` that says what to install."""

    def to_polars(self) -> Any:
        """A `polars.DataFrame`. Raises `ImportError` that says what to install."""

    def _repr_html_(self) -> str:
        """Returns the HTML that a notebook shows."""

    def __len__(self) -> int:
        """Number of rows."""

    def __arrow_c_schema__(self) -> object:
        """The schema, by Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows, by Arrow's PyCapsule interface. `requested_schema` is ignored, as the interface allows."""

@final
class TableFile:
    """A table in a Parquet file, read column by column or batch by batch."""

    def __new__(cls, path: str | PathLike[str]) -> TableFile:
        """Opens a file and reads its footer. Raises `ValueError`."""

    def __len__(self) -> int:
        """Number of rows."""

    def metadata(self, key: str) -> str | None:
        """Returns the text under a key of the file's metadata; None without one."""

    def column(self, name: str, chosen: bytes | None = None) -> Column:
        """Returns a column; with `chosen`, a byte for each row of the file, the rows whose byte is not zero. Raises
        `ValueError`."""

    def batches(self, columns: Sequence[str]) -> Batches:
        """Returns some columns in batches of consecutive rows. Raises `ValueError`."""

@final
class Batches:
    """Batches of a file, one after the other, as tables."""

    def __iter__(self) -> Batches:
        """Returns itself."""

    def __next__(self) -> Table:
        """Returns the next batch. Raises `ValueError`."""

@final
class Column:
    """A column: numbers, names or lists of numbers."""

    @property
    def kind(self) -> str:
        """The type of `values`, as numpy writes it: "=i8", "|b1" for truth."""

    @property
    def values(self) -> bytes:
        """Numbers, one after the other: of each row the value; of names, its place in `names`, -1 without one; of
        lists, the elements. Anything where a row has no value."""

    @property
    def valid(self) -> bytes | None:
        """A byte for each row, zero where it has no value; None if all have one, and for names and lists."""

    @property
    def names(self) -> list[str] | None:
        """Distinct strings of a column of names, in the order of the file; None for others."""

    @property
    def offsets(self) -> bytes | None:
        """Beginnings of the lists in `values`, and their end, as numbers of 64 bits; None for others."""

@final
class Connection:
    """One TCP connection (RFC 9293) that reads no clock and sends nothing by itself.

    Whoever holds it hands in what happened, with the time (`handle_segment`, `handle_timeout`, `write`, `read`,
    `close`), then drains `poll_event` and `poll_transmit`, and then asks `poll_timeout` when to call
    `handle_timeout` at the latest.

    All times are seconds since a zero of the caller's choice, taken to the nearest nanosecond, from 0 to 2**22
    (48 days): there a float tells every nanosecond, so that a time from `poll_timeout` handed back is the same
    moment. Others raise `ValueError`, and so does one that lies before that of an earlier call.

    As everywhere in Python an argument of another type raises `TypeError`, and an integer that is negative or
    too large for its purpose `OverflowError`.
    """

    @staticmethod
    def connect(
        local: str,
        remote: str,
        *,
        now: float,
        profile: str = "rfc",
        mtu: int = 1500,
        initial_sequence: int = 0,
        **options: Any,
    ) -> Connection:
        """Opens a connection actively; the SYN comes out of `poll_transmit`.

        The ends are like `"10.0.0.1:80"` or `"[fd00::1]:80"`, both of one version of IP. `mtu` is the largest
        packet that the path takes, 68 to 65535 B. `options` are those of a flow's `tcp` in a scenario, like
        `sack=False`, `congestion="cubic"`, `maximum_segment_size="1400 B"`.

        `initial_sequence` is for tests and lessons a number of your choice; on a real network it must be one
        that nobody can guess (RFC 6528).

        Raises `ScenarioError` for a wrong profile or option, `ValueError` for the rest.
        """

    @staticmethod
    def listen(
        local: str,
        *,
        backlog: int = 16,
        profile: str = "rfc",
        mtu: int = 1500,
        initial_sequence: int = 0,
        **options: Any,
    ) -> Listener:
        """Listens at `local`, with room for `backlog` half-open connections. The rest as in `connect`."""

    def handle_segment(self, now: float, packet: bytes) -> None:
        """Takes in a segment: a whole IP packet, as the other end's `poll_transmit` gives it.

        Its checksums are verified. Raises `PacketError`, and nothing has happened then, if a receiver would drop
        the packet or it is of another connection.
        """

    def handle_icmp(self, now: float, packet: bytes) -> None:
        """Takes in an ICMP error about a segment of this connection: a whole IP packet.

        Raises `PacketError` as `handle_segment` does.
        """

    def handle_timeout(self, now: float) -> None:
        """Does what is due at `now`; nothing if nothing is."""

    def poll_transmit(self, now: float) -> bytes | None:
        """The next segment to send, as a whole IP packet with its checksums; None if there is none."""

    def poll_timeout(self) -> float | None:
        """Returns the time at which `handle_timeout` has something to do next, in seconds; None for never."""

    def poll_event(
        self,
    ) -> Literal["connected", "readable", "writable", "peer-closed", "closed", "reset", "refused", "timed-out"] | None:
        """The next thing that the application should know; None if there is none."""

    def write(self, data: bytes) -> int:
        """Hands in data to send; returns how many bytes were taken.

        If not all were, the event `writable` follows when a third of the buffer is free.
        Raises `ValueError` when this end is closed: after `close` or `abort`, a reset, or a timeout.
        """

    def read(self, at_most: int | None = None) -> bytes:
        """Takes received data in order; all that there is, or `at_most` so many bytes."""

    def close(self) -> None:
        """Ends this direction: a FIN follows what was written. Reading goes on."""

    def abort(self) -> None:
        """Ends the connection at once, with a reset if the peer knows of it."""

    @property
    def state(
        self,
    ) -> Literal[
        "CLOSED",
        "SYN-SENT",
        "SYN-RECEIVED",
        "ESTABLISHED",
        "FIN-WAIT-1",
        "FIN-WAIT-2",
        "CLOSE-WAIT",
        "CLOSING",
        "LAST-ACK",
        "TIME-WAIT",
    ]:
        """State, as RFC 9293 section 3.3.2 spells it."""

    @property
    def local(self) -> str:
        """This end."""

    @property
    def remote(self) -> str:
        """The other end."""

    @property
    def writable(self) -> int:
        """Bytes that `write` would take now."""

    @property
    def readable(self) -> int:
        """Bytes that can be read."""

    @property
    def congestion_window(self) -> int:
        """Congestion window in bytes, with what duplicate acknowledgments add during fast recovery."""

    @property
    def slow_start_threshold(self) -> int | None:
        """Slow-start threshold in bytes; None while it is "arbitrarily high" (RFC 5681)."""

    @property
    def bytes_in_flight(self) -> int:
        """Sequence space sent and not yet acknowledged, in bytes: FlightSize (RFC 5681)."""

    @property
    def phase(self) -> Literal["open", "disorder", "reduced", "recovery", "loss"]:
        """Phase of loss recovery: `open`, `disorder`, `reduced` (CWR in Linux), `recovery`, `loss`."""

    @property
    def segments_sacked(self) -> int:
        """Segments that are out and SACKed; Linux without SACK counts duplicate acknowledgments."""

    @property
    def segments_lost(self) -> int:
        """Segments that are out and taken for lost, whether a copy is under way or not."""

    @property
    def segments_retransmitted(self) -> int:
        """Segments that are out and were sent again, whose copies are under way."""

    @property
    def bytes_acknowledged(self) -> int:
        """Bytes of ours that the peer has acknowledged."""

    @property
    def peer_window(self) -> int:
        """The window that the peer offers, in bytes: the send window (SND.WND)."""

    @property
    def receive_window(self) -> int:
        """Rest of the window that this end has offered, in bytes (RCV.WND)."""

    @property
    def negotiated(self) -> dict[str, bool | int] | None:
        """Options that the SYNs have agreed on: `sack`, `timestamps` and `window_scaling`, and `peer_segment_size`, the
        largest payload in bytes that the peer takes. None before the peer's SYN has come."""

    @property
    def segment_size(self) -> int:
        """Largest payload that a segment of ours may carry now, in bytes."""

    @property
    def smoothed_rtt(self) -> float | None:
        """Smoothed round-trip time (RFC 6298) in seconds; None before the first sample."""

    @property
    def rtt_variation(self) -> float | None:
        """Variation of the round-trip time (RTTVAR, RFC 6298) in seconds; None before the first sample."""

    @property
    def last_rtt_sample(self) -> float | None:
        """The last round-trip time that was measured, in seconds."""

    @property
    def retransmission_timeout(self) -> float:
        """The retransmission timeout in force, backoff included, in seconds."""

    @property
    def statistics(self) -> dict[str, int]:
        """Counters from the start: `segments_sent`, `retransmitted`, `timeouts`, `fast_retransmits` and others."""

@final
class AerotpConnection:
    """One AeroTP connection (docs/aerotp.md) that reads no clock and sends nothing by itself.

    Whoever holds it hands in what happened, with the time (`handle_packet`, `handle_timeout`, `write`, `read`,
    `link_up`, `close`), then drains `poll_event` and `poll_transmit`, and then asks `poll_timeout` when to call
    `handle_timeout` at the latest.

    Times and the exceptions of wrong arguments are those of `baton.tcp.Connection`. Rates are texts with a unit,
    like `"5 Mbit/s"`.
    """

    @staticmethod
    def connect(
        local: str,
        remote: str,
        *,
        now: float,
        rate: str,
        mtu: int = 1500,
        initial_sequence: int = 0,
        token: int = 0,
        **options: Any,
    ) -> AerotpConnection:
        """Opens a connection actively. There is no handshake: what is written leaves with the first packet.

        The ends are like `"10.0.0.1:1000"` or `"[fd00::1]:1000"`, both of one version of IP. `rate` is that at which
        the link takes packets, IP headers included. `mtu` is the largest packet that it takes, 68 to 65535 B.
        `options` are those of a flow's `aerotp` in a scenario, like `mode="quasi-reliable"`,
        `coding={"words": 32, "header": True}`, `send_buffer="1 MiB"`; `class_=5` is its `class`. Mode
        `"unreliable-datagram"` has no connections: `Packet.datagram`.

        `initial_sequence` and `token` are for tests and lessons numbers of your choice; on a real network they must
        be some that nobody can guess.

        Raises `ScenarioError` for a wrong rate or option, `ValueError` for the rest.
        """

    @staticmethod
    def accept(
        packet: bytes,
        *,
        now: float,
        rate: str,
        mtu: int = 1500,
        initial_sequence: int = 0,
        token: int = 0,
        **options: Any,
    ) -> AerotpConnection:
        """Makes a connection of the first packet that came: any with ASYN will do, damaged data or none. `packet` is a
        whole IP packet, and is taken in; this end is where it went.

        The mode is the packet's; one of another than `mode` in the options is refused. The rest as in `connect`.
        Raises `PacketError` too, if the packet opens nothing.
        """

    def handle_packet(self, now: float, packet: bytes) -> None:
        """Takes in a packet: a whole IP packet, as the other end's `poll_transmit` gives it.

        Bits that were flipped on the way are put right as far as its code can. Data beyond repair is asked for again
        where the mode does that. Raises `PacketError`, and nothing has happened then, if a receiver would drop the
        packet or its ports or destination are not this connection's. One that the connection itself refuses, as from
        a strange address without the token, is counted in `statistics`.
        """

    def handle_icmp(self, now: float, packet: bytes) -> None:
        """Takes in an ICMP error about a packet of this connection: a whole IP packet. Backpressure lowers the rate,
        "too big" the size of packets; others change nothing.

        Raises `PacketError` if it is no ICMP error, or about another pair of addresses.
        """

    def link_up(self, rate: str | None = None) -> None:
        """The link is up again, or is a new one: with this rate, if one is given. What was under way counts as lost,
        and the peer is asked at once. Raises `ValueError` for a text that is not a rate."""

    def link_down(self) -> None:
        """The link is down: nothing is sent until it is up."""

    def move_to(self, now: float, address: str) -> None:
        """This end has another address, like `"10.0.1.1"`, and the same port. The peer is shown the token until it
        answers there. Raises `ValueError` for what is no address of the same version of IP."""

    def handle_timeout(self, now: float) -> None:
        """Does what is due at `now`; nothing if nothing is."""

    def poll_transmit(self, now: float) -> bytes | None:
        """The next packet to send, as a whole IP packet with its checks and code; None if there is none, or the rate
        holds it back until `poll_timeout`."""

    def poll_timeout(self) -> float | None:
        """Returns the time at which `handle_timeout` or `poll_transmit` has something to do next, in seconds; None for
        never. Never before the call before."""

    def poll_event(
        self,
    ) -> (
        Literal[
            "established",
            "readable",
            "writable",
            "skipped",
            "confirmed",
            "finished",
            "delivered",
            "reset",
            "timed-out",
            "closed",
        ]
        | None
    ):
        """The next thing that the application should know; None if there is none. How many bytes were "skipped",
        `statistics` tells."""

    def write(self, data: bytes) -> int:
        """Hands in data to send; returns how many bytes were taken.

        If not all were, the event `writable` follows when there is room again.
        Raises `ValueError` when this end is closed: after `close` or `abort`, a reset, or a timeout.
        """

    def write_record(self, data: bytes) -> bool:
        """Hands in a record, which is not divided and which the peer reads as one; returns whether there was room
        for it.

        Raises `ValueError` as `write` does, and for a record that is empty or longer than a packet takes.
        """

    def read(self, at_most: int | None = None) -> bytes:
        """Takes received data in order; all that there is, or `at_most` so many bytes. A record is not divided: one
        that is longer than what is left comes whole."""

    def read_piece(self) -> tuple[bytes, bool] | None:
        """Takes received data up to where a packet of the peer's, or a record, ended: the data, and whether it ends a
        record. None if there is none."""

    def close(self) -> None:
        """Ends this direction: AFIN goes with the last of what was written, or after it. Reading goes on."""

    def abort(self) -> None:
        """Ends the connection at once, with a reset that shows the token."""

    @property
    def state(self) -> Literal["CLOSED", "ASYN_SENT", "ESTABLISHED", "AFIN_SENT", "AFIN_RECEIVED"]:
        """State, as section 5.2 of docs/aerotp.md spells it."""

    @property
    def mode(self) -> Literal["reliable", "near-reliable", "quasi-reliable", "unreliable-connection"]:
        """Guarantees of delivery."""

    @property
    def local(self) -> str:
        """This end."""

    @property
    def remote(self) -> str:
        """The other end: where it was when it last proved that it is the peer."""

    @property
    def writable(self) -> int:
        """Bytes that `write` would take now."""

    @property
    def readable(self) -> int:
        """Bytes that can be read."""

    @property
    def bytes_held(self) -> int:
        """Bytes written that the peer has not acknowledged; a gateway's custody."""

    @property
    def bytes_in_flight(self) -> int:
        """Bytes sent that have neither arrived nor been found lost."""

    @property
    def bytes_acknowledged(self) -> int:
        """Bytes of ours that the peer has acknowledged."""

    @property
    def bytes_confirmed(self) -> int:
        """Bytes of ours that the far end has confirmed; fewer than acknowledged where a gateway holds some."""

    @property
    def rate(self) -> int:
        """The rate at which packets leave now, in bit/s with IP headers."""

    @property
    def largest_record(self) -> int:
        """Largest record that `write_record` takes, in bytes."""

    @property
    def smoothed_rtt(self) -> float | None:
        """Smoothed round-trip time in seconds; None before the first sample."""

    @property
    def error_rate_here(self) -> float:
        """Bit error rate of the way to here, as this end measures it; 0 for none seen."""

    @property
    def error_rate_there(self) -> float:
        """Bit error rate of the way to the peer, as the peer tells it; 0 for none seen."""

    @property
    def statistics(self) -> dict[str, int]:
        """Counters from the start. Sent: `packets`, of these `retransmitted`, `macks` (with nothing else) and `probes`.
        Received: packets `damaged` beyond repair, bytes `corrected`, packets that were `duplicates` or `refused`, bytes
        `skipped`, which will not come any more."""

@final
class AerotpPacket:
    """An AeroTP packet that was read; section 4 of docs/aerotp.md has its fields."""

    @staticmethod
    def decode(packet: bytes) -> AerotpPacket:
        """Reads a whole IP packet, and puts right what its code can. Raises `PacketError` if a receiver would
        drop it."""

    @staticmethod
    def datagram(
        local: str,
        remote: str,
        data: bytes,
        *,
        now: float,
        mtu: int = 1500,
        **options: Any,
    ) -> bytes:
        """A whole IP packet with a datagram of mode `"unreliable-datagram"`, which needs no connection.

        Ends, `mtu` and exceptions as in `Connection.connect`; `options` are `coding` and `class_`. `data` that does not
        fit a packet with its code raises `ValueError`.
        """

    def reset_reply(self, now: float) -> bytes | None:
        """The reset with which a host answers this packet if it has no connection for it, as a whole IP packet; None if
        none is due."""

    @property
    def source(self) -> str:
        """Address that it comes from."""

    @property
    def destination(self) -> str:
        """Address that it goes to."""

    @property
    def mode(
        self,
    ) -> Literal["reliable", "near-reliable", "quasi-reliable", "unreliable-connection", "unreliable-datagram"]:
        """Guarantees of delivery of its connection."""

    @property
    def class_(self) -> int:
        """Service class, 0 to 7."""

    @property
    def strength(self) -> int:
        """Words of 32 bits of redundancy, 0 to 256, as the prelude says."""

    @property
    def covers_header(self) -> bool:
        """True if the header stands inside the code."""

    @property
    def sequence(self) -> int:
        """Sequence number of the payload's first byte; without payload, of the next byte that was never sent."""

    @property
    def timestamp(self) -> int:
        """Time at which it left, in microseconds modulo 2**32."""

    @property
    def is_final(self) -> bool:
        """AFIN: the end of its sender's data."""

    @property
    def ends_record(self) -> bool:
        """RECORD: the payload's last byte ends a record."""

    @property
    def wants_mack(self) -> bool:
        """PULL: a MACK is wanted at once."""

    @property
    def adds_path(self) -> bool:
        """With `token`: the source is one more path, and takes no other's place."""

    @property
    def tcp_flags(self) -> int:
        """The flags of TCP's header; RST (4) resets."""

    @property
    def opening(self) -> dict[str, int] | None:
        """ASYN: `initial`, the sequence number of the first byte, and `token`."""

    @property
    def tcp_offer(self) -> dict[str, Any] | None:
        """Offer of a TCP SYN that a gateway tells: `maximum_segment_size` in bytes, `window_scale` (None for none),
        `sack_permitted`, `timestamps`."""

    @property
    def mack(self) -> dict[str, Any] | None:
        """MACK and SNACK: `cumulative`, `unconfirmed` and `window` in bytes, `echo` and `held_for` in microseconds,
        `error_rate` of bits, `arrival_rate` in kbit/s, `is_complete` (AFINACK); `received`, pairs of start and length
        by their distance from `cumulative`; `missing`, the same with whether it came damaged (ELN)."""

    @property
    def token(self) -> int | None:
        """The sender's own token, shown after a move and with a reset."""

    @property
    def block(self) -> dict[str, int] | None:
        """The place in a block of a code across packets: `number`, `index`, and how many `sources` and `repairs` there
        are."""

    @property
    def payload(self) -> bytes:
        """The data; none if it is damaged."""

    @property
    def length(self) -> int:
        """Bytes of data that it had when it left."""

    @property
    def condition(self) -> Literal["clean", "corrected", "damaged"]:
        """Condition after the channel: "clean", "corrected" by the code, or "damaged" beyond it, with a header that is
        right."""

    @property
    def corrected_bytes(self) -> int:
        """Bytes that the code has put right."""

@final
class AckSample:
    """An acknowledgment of new data, as a congestion control in Python is told of it."""

    @property
    def now(self) -> float:
        """Time of its arrival, in seconds."""

    @property
    def acknowledged_bytes(self) -> int:
        """Bytes that it acknowledged for the first time."""

    @property
    def rtt(self) -> float | None:
        """The round-trip time that it measured, in seconds, if it measured one."""

    @property
    def smoothed_rtt(self) -> float | None:
        """Smoothed round-trip time (RFC 6298) in seconds, this sample included."""

    @property
    def minimum_rtt(self) -> float | None:
        """Shortest round-trip time of the connection so far, in seconds."""

    @property
    def bytes_in_flight(self) -> int:
        """Bytes outstanding before it arrived."""

    @property
    def window_limited(self) -> bool:
        """True if the congestion window, not the application or the receiver, kept the sender from sending more."""

@final
class LossSample:
    """A loss, found by duplicate acknowledgments or by the retransmission timer."""

    @property
    def now(self) -> float:
        """Time at which it was found, in seconds."""

    @property
    def bytes_in_flight(self) -> int:
        """Bytes outstanding when it was found: FlightSize (RFC 5681)."""

    @property
    def smoothed_rtt(self) -> float | None:
        """Smoothed round-trip time (RFC 6298) in seconds."""

    @property
    def repeated(self) -> bool:
        """The same data timed out again: the slow-start threshold stays (RFC 5681 section 3.1)."""

@final
class PathParameters:
    """Capacity and delay of a mobile's link, as far as the one who tells them knows."""

    @property
    def rate_to_mobile_bps(self) -> int:
        """Rate of full IP packets towards the mobile, in bit/s."""

    @property
    def rate_from_mobile_bps(self) -> int:
        """The same, from the mobile."""

    @property
    def round_trip(self) -> float:
        """Shortest round-trip time, in seconds."""

    @property
    def queue_packets(self) -> int | None:
        """Full packets that the queue towards the mobile holds; None if nobody says."""

    def pipe(self, sends: bool) -> int:
        """Bytes that fill it for a mobile that sends, or receives: rate times round-trip time."""

@disjoint_base
class Signal:
    """A signal that reaches one end of a connection."""

    @final
    class Begun(Signal):
        """To a mobile's connection that begins: the link in use."""

        __match_args__ = ("path",)
        def __new__(cls, path: PathParameters) -> Signal.Begun: ...
        @property
        def path(self) -> PathParameters: ...

    @final
    class GoingDown(Signal):
        """The link in use will soon be down (Link_Going_Down)."""

        __match_args__ = ()
        def __new__(cls) -> Signal.GoingDown: ...

    @final
    class Rollback(Signal):
        """It stays after all."""

        __match_args__ = ()
        def __new__(cls) -> Signal.Rollback: ...

    @final
    class Disconnected(Signal):
        """Packets no longer pass (Link_Down)."""

        __match_args__ = ()
        def __new__(cls) -> Signal.Disconnected: ...

    @final
    class UpdateSent(Signal):
        """The mobile has said where it is now, and packets may come by both ways."""

        __match_args__ = ()
        def __new__(cls) -> Signal.UpdateSent: ...

    @final
    class Connected(Signal):
        """Packets pass again, or by another link."""

        __match_args__ = ("path",)
        def __new__(cls, path: PathParameters) -> Signal.Connected: ...
        @property
        def path(self) -> PathParameters: ...

    @final
    class PeerMoved(Signal):
        """To a correspondent: the peer is elsewhere. Seconds that the binding update was on its way; rate (bit/s)
        and queue of the new link, if the update says."""

        __match_args__ = ("delay", "rate_bps", "queue_packets")
        def __new__(cls, delay: float, rate_bps: int | None, queue_packets: int | None) -> Signal.PeerMoved: ...
        @property
        def delay(self) -> float: ...
        @property
        def rate_bps(self) -> int | None: ...
        @property
        def queue_packets(self) -> int | None: ...

    @final
    class Noticed(Signal):
        """The other end's notice arrived: which handover, and how many segments are missing below what has
        arrived there."""

        __match_args__ = ("number", "outstanding")
        def __new__(cls, number: int, outstanding: int) -> Signal.Noticed: ...
        @property
        def number(self) -> int: ...
        @property
        def outstanding(self) -> int: ...

    @final
    class BadState(Signal):
        """To a sender: a base station has failed once more to pass on a segment of what is out, and goes on
        trying."""

        __match_args__ = ()
        def __new__(cls) -> Signal.BadState: ...

    @final
    class AllAcknowledged(Signal):
        """All that was out is acknowledged."""

        __match_args__ = ()
        def __new__(cls) -> Signal.AllAcknowledged: ...

    @final
    class QueueStatus(Signal):
        """To a connection of the node that feeds a link: new state of its queue at the link's entrance
        (SI-C-QUEUE_STATUS, of a shaper with reports): its QID, packets that wait, full packets that it holds, and the
        link's shortest round-trip time in seconds."""

        __match_args__ = ("queue", "packets", "capacity_packets", "round_trip")
        def __new__(cls, queue: int, packets: int, capacity_packets: int, round_trip: float) -> Signal.QueueStatus: ...
        @property
        def queue(self) -> int: ...
        @property
        def packets(self) -> int: ...
        @property
        def capacity_packets(self) -> int: ...
        @property
        def round_trip(self) -> float: ...

@final
class TransportView:
    """Facts that a remedy may know of its connection."""

    @property
    def sends(self) -> bool:
        """True if this end sends the data."""

    @property
    def congestion_window(self) -> int:
        """Congestion window, in bytes."""

    @property
    def slow_start_threshold(self) -> int:
        """Slow-start threshold, in bytes; the largest number of 32 bits while it is arbitrarily high."""

    @property
    def bytes_in_flight(self) -> int:
        """Bytes sent and not acknowledged."""

    @property
    def segment_size(self) -> int:
        """Payload of a full segment, in bytes."""

    @property
    def smoothed_rtt(self) -> float | None:
        """Smoothed round-trip time in seconds, if any was measured."""

    @property
    def timed_out(self) -> bool:
        """The retransmission timer has gone off since the connection was frozen."""

@disjoint_base
class Control:
    """Order of a remedy to a connection. Sizes in bytes, times in seconds."""

    @final
    class HoldNewData(Control):
        """No new data until Thaw."""

        __match_args__ = ()
        def __new__(cls) -> Control.HoldNewData: ...

    @final
    class Freeze(Control):
        """No data at all until Thaw; a timeout is noted and changes nothing."""

        __match_args__ = ()
        def __new__(cls) -> Control.Freeze: ...

    @final
    class Thaw(Control):
        """Ends both. A timer that has gone off meanwhile is set anew."""

        __match_args__ = ()
        def __new__(cls) -> Control.Thaw: ...

    @final
    class ResendOutstanding(Control):
        """The data in flight counts as lost, and the congestion control does not hear of it."""

        __match_args__ = ()
        def __new__(cls) -> Control.ResendOutstanding: ...

    @final
    class ResendCutOff(Control):
        """The same for what a break has cut off, told when the connection was frozen: what had arrived by then waits
        for an acknowledgment."""

        __match_args__ = ()
        def __new__(cls) -> Control.ResendCutOff: ...

    @final
    class ForgiveTimeout(Control):
        """The window becomes the threshold and is not halved, should the timer go off before the data in flight now is
        acknowledged."""

        __match_args__ = ()
        def __new__(cls) -> Control.ForgiveTimeout: ...

    @final
    class NewPath(Control):
        """The congestion control goes on from here, and forgets what it has learnt of the path."""

        __match_args__ = ("window", "threshold")
        def __new__(cls, window: int, threshold: int) -> Control.NewPath: ...
        @property
        def window(self) -> int: ...
        @property
        def threshold(self) -> int: ...

    @final
    class LimitFlight(Control):
        """New data leaves only while it and what is in the network come to no more than this, beside what is out
        already, whatever the window is."""

        __match_args__ = ("most",)
        def __new__(cls, most: int) -> Control.LimitFlight: ...
        @property
        def most(self) -> int: ...

    @final
    class ForgetPath(Control):
        """The congestion control forgets what it has learnt of the path, and goes on with its window."""

        __match_args__ = ()
        def __new__(cls) -> Control.ForgetPath: ...

    @final
    class RaiseThreshold(Control):
        """Slow start goes on up to here, if that is more than its threshold."""

        __match_args__ = ("threshold",)
        def __new__(cls, threshold: int) -> Control.RaiseThreshold: ...
        @property
        def threshold(self) -> int: ...

    @final
    class RestartTimer(Control):
        """The retransmission timer, if it runs, starts again with the timeout in force."""

        __match_args__ = ()
        def __new__(cls) -> Control.RestartTimer: ...

    @final
    class RestartTiming(Control):
        """Round-trip time and timeout begin anew, with this sample if there is one."""

        __match_args__ = ("sample",)
        def __new__(cls, sample: float | None = None) -> Control.RestartTiming: ...
        @property
        def sample(self) -> float | None: ...

    @final
    class Offer(Control):
        """At most this window is offered to the peer; zero shuts it, None ends it."""

        __match_args__ = ("window",)
        def __new__(cls, window: int | None) -> Control.Offer: ...
        @property
        def window(self) -> int | None: ...

    @final
    class OfferMore(Control):
        """Beyond what has been offered at most this much is offered; the window's right edge never goes back. If what
        is missing still arrives, by another link, what comes ahead of it makes room for more."""

        __match_args__ = ("window", "missing_arrives")
        def __new__(cls, window: int, missing_arrives: bool = False) -> Control.OfferMore: ...
        @property
        def window(self) -> int: ...
        @property
        def missing_arrives(self) -> bool: ...

    @final
    class KeepLastAcknowledgment(Control):
        """Of acknowledgments one is kept back until the next is due."""

        __match_args__ = ("keep",)
        def __new__(cls, keep: bool) -> Control.KeepLastAcknowledgment: ...
        @property
        def keep(self) -> bool: ...

    @final
    class Acknowledge(Control):
        """So many acknowledgments leave at once, with the window that is offered now."""

        __match_args__ = ("copies",)
        def __new__(cls, copies: int) -> Control.Acknowledge: ...
        @property
        def copies(self) -> int: ...

    @final
    class Notice(Control):
        """Acknowledgments carry a notice of this number, from 1: so many, and as long as something is missing."""

        __match_args__ = ("number", "times")
        def __new__(cls, number: int, times: int) -> Control.Notice: ...
        @property
        def number(self) -> int: ...
        @property
        def times(self) -> int: ...

    @final
    class TolerateReordering(Control):
        """Duplicate acknowledgments and gaps are no losses, until all that is out now is acknowledged, or a timeout."""

        __match_args__ = ("tolerate",)
        def __new__(cls, tolerate: bool) -> Control.TolerateReordering: ...
        @property
        def tolerate(self) -> bool: ...

@final
class LinkEvent:
    """Event of a mobile's link (IEEE 802.21), or the time to decide again."""

    @property
    def name(self) -> str:
        """Link_Detected, Link_Up, Link_Parameters_Report, Link_Going_Down, Link_Event_Rollback or Link_Down; or Asked,
        after AskAgain."""

    @property
    def link(self) -> str | None:
        """The link that says so; None for Asked."""

    @property
    def remote(self) -> bool:
        """True for a link of the point of service, which reports it over the network (remote_events)."""

    @property
    def rate_bps(self) -> int | None:
        """Data rate in bit/s that has crossed the threshold, in a remote Link_Parameters_Report."""

@final
class MobileView:
    """A mobile's view when it decides."""

    @property
    def now(self) -> float:
        """Present time, in seconds."""

    @property
    def in_use(self) -> str | None:
        """The link in use, or that a handover under way leads to; None at the start."""

    @property
    def position_m(self) -> float | None:
        """Its position, in metres from its line's beginning, if it moves on a line."""

    @property
    def links(self) -> dict[str, LinkView]:
        """The links to choose from, by name."""

@final
class LinkView:
    """A link as its mobile knows it."""

    @property
    def up(self) -> bool:
        """True if it can be used."""

    @property
    def going_down(self) -> bool:
        """True if it has said that it will soon be down."""

    @property
    def received_dbm(self) -> float | None:
        """Received power in dBm, where it is known and enough to be measured."""

    @property
    def network_rate_bps(self) -> int | None:
        """Data rate of its network in bit/s, the lower one of both directions, once the information service has
        told."""

    @property
    def network_channel_khz(self) -> tuple[int, int] | None:
        """Lowest and highest frequency of its channel in kHz, once the information service has told, if known there."""

    @property
    def network_router(self) -> str | None:
        """Address of its router, once the information service has told."""

@disjoint_base
class Decision:
    """Decision of a mobile. Times in seconds."""

    @final
    class Use(Decision):
        """This link is used from now on. Softly: the old one delivers what it holds. Otherwise that is broken first,
        and nothing passes for the outage."""

        __match_args__ = ("link", "soft", "outage")
        def __new__(cls, link: str, soft: bool = True, outage: float = 0.0) -> Decision.Use: ...
        @property
        def link(self) -> str: ...
        @property
        def soft(self) -> bool: ...
        @property
        def outage(self) -> float: ...

    @final
    class AskAgain(Decision):
        """Nothing yet: on_event is called again so much later. Of several such answers the last counts."""

        __match_args__ = ("after",)
        def __new__(cls, after: float) -> Decision.AskAgain: ...
        @property
        def after(self) -> float: ...

@final
class Listener:
    """A listening port: makes connections of the SYNs that arrive, as many at once as its backlog permits.

    Packets of a connection that it has made are for that connection's `handle_segment`, not for this one's.
    """

    def handle_segment(self, now: float, packet: bytes) -> Connection | None:
        """Takes in a whole IP packet that belongs to no connection.

        A SYN gives a connection, whose SYN-ACK comes out of its `poll_transmit`; beyond the backlog it is dropped.
        To an ACK a reset is due: `poll_transmit`. Raises `PacketError` as `Connection.handle_segment` does.
        """

    def half_open_ended(self) -> None:
        """To be told when a connection that came from here is established or gone: there is room for another."""

    def poll_transmit(self) -> bytes | None:
        """The next reset to send, as a whole IP packet; None if there is none."""

    @property
    def local(self) -> str:
        """Address at which it listens."""

    @property
    def half_open(self) -> int:
        """Connections that wait for the end of their handshake."""

    @property
    def refused(self) -> int:
        """SYNs dropped because the backlog was full."""

@final
class LiveDecisions:
    """The classes in Python that decide for a scenario's mobiles, while it runs live."""

    def __new__(cls, scenario: Scenario) -> LiveDecisions:
        """An object of each mobile's class, made now. Raises what a class raises."""

    @property
    def is_empty(self) -> bool:
        """True if no class decides."""

    def reply(self, question: bytes) -> bytes:
        """Returns the reply to a question, each a line of bytes. Raises what the class raises, and `ValueError` for a
        line that is no question to one of the classes."""

@final
class Stop:
    """A request to end runs, which other threads make."""

    def __new__(cls) -> Stop: ...
    def set(self) -> None:
        """Ends the runs under way, whose outcomes are lost, and those that begin later."""

def build_commit() -> str | None:
    """The commit that Baton was built from, with `-dirty` if the tree had changes; none outside a checkout."""

def json_defaults() -> str:
    """The defaults of links and TCP profiles, by the names of a scenario's keys, as JSON text."""

def json_link_budget(budget: str, snr_db: float, distance_m: float) -> str:
    """A direction's link budget by study D's formulas, as JSON text, for an SNR that a modulation needs and a distance.

    `budget` is a JSON object with `transmit_power_dbm`, `transmit_gain_db`, `receive_gain_db`, `frequency_hz`,
    `noise_figure_db`, `bandwidth_hz` and `margin_db`. The result has `noise_dbm`, `sensitivity_dbm`,
    `operation_point_dbm`, `received_dbm`, `margin_db`, and `range_m`, where no margin is left. Raises `ValueError` if
    `budget` is no such object.
    """

def json_radio_figures(distance_m: float, aircraft: int, message_bytes: int) -> str:
    """A radio network's rates, link budget and losses by its model's formulas, as JSON text: for an aircraft at a
    distance in metres, a dedicated control channel for so many aircraft, and a message of so many bytes with its
    header.

    `header_bytes`, and for `forward` and `return` each: `slowest_bps`, `fastest_bps`; `noise_dbm`, `sensitivity_dbm`,
    `operation_point_dbm`, `received_dbm`, `margin_db`, `range_m`; `message_loss`, `message_loss_repeated` after all
    retransmissions, for `return` also `message_loss_jointly_coded`; `computed_errors`, pairs of SNR in dB and loss of a
    frame or tile by the computed error table, and `computed_snr_db`, the SNR at which that loss is study D's, or null.
    """

def json_remedies() -> str:
    """Returns the engine's facts about each remedy, as JSON text: an array of objects.

    `name`, `about`; `installed`, where it is for data that goes to the mobile: "mobile", "sender", "gateway", or
    several; `quic` and `ipsec`, whether it works there; `own`, whether it is Baton's own and no published one.
    """

def json_schema() -> str:
    """The JSON Schema (draft 2020-12) of scenario files, as text."""

def table_column(table: Table, name: str) -> Column:
    """Returns a column of a table in memory. Raises `ValueError` if there is none of this name."""

def quantity(format: str, text: str) -> float:
    """A text with a unit, such as `5 Mbit/s`, as a number in base units; read as a scenario's value is.

    `format` is one of the schema's: `time` and `positive-time` (seconds), `data-rate` (bit/s), `size` (bytes),
    `distance` (metres), `speed` (m/s), `frequency` (hertz), `power` (dBm). Raises `ValueError`, whose text follows the
    given one in a sentence.
    """

def sweep_run(scenario: Scenario, seed: int, stop: Stop) -> tuple[str | None, str | None]:
    """Runs a scenario without recording anything but the summary: returns it as JSON, or else the reason why there is
    none.

    Other threads of Python go on meanwhile.
    """
