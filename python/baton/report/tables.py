"""Reads a results folder: JSON as it is, Parquet as numpy columns."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from baton import Result
from baton.errors import refuse_newer
from baton.summary import main_flows

from .signals import COLUMNS as SIGNAL_COLUMNS
from .signals import MOST_SIGNALS, Signal, signals_of

PACKET_COLUMNS = {
    "numbers": ["packet", "sent_ns", "sequence", "acknowledgment", "payload_bytes", "retransmission"],
    "names": ["link", "direction", "flow", "fate", "protocol", "source", "destination", "flags"],
}

# Versions of manifest and summary, and of the tables, that are read here.
MANIFEST_FORMAT, TABLE_FORMAT = 1, 1

# Rows of packets from which a page is made; of more, what matters and a share of the others. Some 1.5 GB of memory.
MOST_PACKETS = 6_000_000
# Values of all series that memory takes, and those that a page takes: some 15 MB.
MOST_VALUES = 30_000_000
PAGE_VALUES = 3_000_000
_BATCH_ROWS = 1_000_000
# Flows that a page shows; a live run may have thousands of short conversations.
MOST_FLOWS = 100


@dataclass
class Names:
    """A column of few distinct strings: a code for each row and the strings; -1 is null."""

    codes: np.ndarray
    values: list[str]

    def code(self, value: str) -> int:
        """The code of a string, or -2 when no row has it."""
        return self.values.index(value) if value in self.values else -2


@dataclass
class Packets:
    """The packet table: a row for every packet on every link, ascending in the time it was offered."""

    numbers: dict[str, np.ndarray]
    names: dict[str, Names]
    decided_ns: np.ndarray  # float, NaN while under way
    sack: np.ndarray  # edges of all rows, one after the other
    sack_start: np.ndarray  # where a row's edges begin; one longer than the table
    recorded: int  # rows of the file
    every: int  # only each so manieth packet is here, and all that were lost or sent again

    def __len__(self) -> int:
        return len(self.numbers["packet"])


@dataclass
class Series:
    """One quantity of one subject over time."""

    time_ns: np.ndarray
    value: np.ndarray


@dataclass
class Run:
    """Everything in a results folder that a report shows. Tables that were not recorded, or are too large for a page,
    are `None`."""

    folder: Path
    manifest: dict[str, Any]
    summary: dict[str, Any]
    packets: Packets | None
    series: dict[tuple[str, str], Series] | None
    signals: list[Signal] = field(default_factory=list)
    """None where no mobility protocol is spoken."""
    left_out: int = 0
    """Flows that the summary of the folder has and this one not, since they delivered least."""

    def find(self, subject: str, quantity: str) -> Series | None:
        """A series by subject (`flow download`, `link gsm down`) and quantity; `None` when it is not there or empty."""
        found = (self.series or {}).get((subject, quantity))
        return found if found is not None and len(found.time_ns) else None

    @property
    def series_limit(self) -> int:
        """Values that each series may bring to a page, so that all together are not too many for it."""
        left, limit = PAGE_VALUES, 0
        lengths = sorted(len(series.time_ns) for series in (self.series or {}).values())
        for place, length in enumerate(lengths):
            limit = left // (len(lengths) - place)
            if length > limit:
                return limit
            left -= length
        return PAGE_VALUES

    @property
    def duration_s(self) -> float:
        """Simulated time, in seconds; from the data when the summary does not tell."""
        told = self.summary.get("simulated_s")
        if told:
            return float(told)
        ends = [s.time_ns[-1] for s in (self.series or {}).values() if len(s.time_ns)]
        if self.packets is not None and len(self.packets):
            ends.append(self.packets.numbers["sent_ns"][-1])
        return max((float(end) for end in ends), default=0.0) / 1e9


def read_run(folder: Path) -> Run:
    """Reads `manifest.json` and `summary.json`, and the tables where they exist and fit the memory.

    Raises `FileNotFoundError` when the folder holds no manifest, `ValueError` when a file cannot be read, `InputError`
    when one is of a newer format.
    """
    manifest = _read_json(folder / "manifest.json")
    refuse_newer(folder / "manifest.json", manifest.get("format"), MANIFEST_FORMAT)
    whole = _read_json(folder / "summary.json") if (folder / "summary.json").exists() else {}
    summary, left_out = main_flows(whole, MOST_FLOWS)
    packets = series = None
    if (folder / "packets.parquet").exists():
        packets = _read_packets(folder / "packets.parquet")
    if _rows(folder / "series.parquet") <= MOST_VALUES and (folder / "series.parquet").exists():
        series = _read_series(folder / "series.parquet")
    signals = []
    if 0 < _rows(folder / "signals.parquet") <= MOST_SIGNALS:
        signals = signals_of(pq.ParquetFile(folder / "signals.parquet").read(SIGNAL_COLUMNS))
    return Run(folder, manifest, summary, packets, series, signals, left_out)


def run_of(result: Result) -> Run:
    """What a run has left, in memory or in its folder. Raises `OSError` and `ValueError` as `read_run` does."""
    if result.folder is not None:
        return read_run(Path(result.folder))
    packets, series, signals = result.packets, result.series, result.signals
    return Run(
        Path(),
        result.manifest,
        result.summary,
        _packets(pa.table(packets), len(packets)) if packets is not None and len(packets) <= MOST_PACKETS else None,
        _series(pa.table(series)) if series is not None and len(series) <= MOST_VALUES else None,
        signals_of(pa.table(signals)) if signals is not None and len(signals) <= MOST_SIGNALS else [],
    )


def _rows(path: Path) -> int:
    """Rows of a table; none if there is no file. Raises `InputError` if it is of a newer format."""
    if not path.exists():
        return 0
    try:
        file = pq.ParquetFile(path)
        described = (file.schema_arrow.metadata or {}).get(f"baton.{path.stem}".encode(), b"{}")
        refuse_newer(path, json.loads(described).get("version"), TABLE_FORMAT)
        return int(file.metadata.num_rows)
    except pa.ArrowException as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} holds no JSON object")
    return value


def _read_packets(path: Path) -> Packets:
    names, recorded = PACKET_COLUMNS["names"], _rows(path)
    columns = PACKET_COLUMNS["numbers"] + names + ["decided_ns", "sack"]
    if recorded <= MOST_PACKETS:
        return _packets(pq.ParquetFile(path, read_dictionary=names).read(columns), recorded)
    every = -(-recorded // (MOST_PACKETS // 2))
    return _packets(_read_share(path, columns, every), recorded, every)


def _packets(table: pa.Table, recorded: int, every: int = 1) -> Packets:
    sent = _numbers(table["sent_ns"])
    order = slice(None) if np.all(sent[1:] >= sent[:-1]) else np.argsort(sent, kind="stable")
    names = {name: _names(table[name]) for name in PACKET_COLUMNS["names"]}
    edges, start = _lists(table["sack"], order)
    decided, valid = _values(table["decided_ns"])
    return Packets(
        {name: _numbers(table[name])[order] for name in PACKET_COLUMNS["numbers"]},
        {name: Names(column.codes[order], column.values) for name, column in names.items()},
        np.where(True if valid is None else valid, decided, np.nan)[order],
        edges,
        start,
        recorded,
        every,
    )


def _read_share(path: Path, columns: list[str], every: int) -> pa.Table:
    """All rows of each `every`th packet, and of all packets that were lost, sent again or open a connection.

    What matters is never left out, unless it alone is too much for a page: then it is thinned too.
    """
    file = pq.ParquetFile(path, read_dictionary=PACKET_COLUMNS["names"])
    found = [np.zeros(0, np.uint64)]
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=["packet", "fate", "retransmission", "flags"]):
        rows = pa.Table.from_batches([batch])
        fate, flags = _names(rows["fate"]), _names(rows["flags"])
        uneventful = np.isin(fate.codes, [fate.code("delivered"), fate.code("under way")])
        opens = np.array([*("SYN" in value for value in flags.values), False])[flags.codes]
        found.append(_numbers(rows["packet"])[~uneventful | _numbers(rows["retransmission"]).astype(bool) | opens])
    matter = np.unique(np.concatenate(found))
    matter = matter[:: len(matter) // (MOST_PACKETS // 4) + 1]
    parts = []
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=columns):
        packet = batch.column("packet").to_numpy()
        parts.append(batch.filter(pa.array((packet % every == 0) | np.isin(packet, matter))))
    return pa.Table.from_batches(parts).unify_dictionaries()


def _read_series(path: Path) -> dict[tuple[str, str], Series]:
    return _series(pq.ParquetFile(path, read_dictionary=["subject", "series"]).read())


def _series(table: pa.Table) -> dict[tuple[str, str], Series]:
    table = table.combine_chunks()
    time, value = _numbers(table["time_ns"]), _numbers(table["value"])
    subject, quantity = _names(table["subject"]), _names(table["series"])
    key = subject.codes.astype(np.int64) * len(quantity.values) + quantity.codes
    order = np.argsort(key, kind="stable")
    keys, begins = np.unique(key[order], return_index=True)
    found = {}
    for number, rows in zip(keys.tolist(), np.split(order, begins[1:]), strict=False):
        pair = (subject.values[number // len(quantity.values)], quantity.values[number % len(quantity.values)])
        found[pair] = Series(time[rows], value[rows])
    return found


# What follows reads the columns' buffers, since pyarrow's own `to_numpy`, `fill_null` and `cast` import pandas or
# pyarrow.compute, either of which takes longer than all else that a short run's report needs.


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """A column as a numpy array; a null reads as zero."""
    return _filled(column, 0)


def _filled(column: pa.Array | pa.ChunkedArray, absent: int) -> np.ndarray:
    """Numbers or truths, with `absent` for nulls."""
    values, valid = _values(column)
    return values if valid is None else np.where(valid, values, values.dtype.type(absent))


def _values(column: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers or truths, and where they are valid if not all are."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], column.type)
    rows = slice(array.offset, array.offset + len(array))
    valid, data = array.buffers()
    if pa.types.is_boolean(array.type):
        values = _bits(data)[rows]
    else:
        values = np.frombuffer(data or b"", array.type.to_pandas_dtype())[rows]
    return values, _bits(valid)[rows] if array.null_count else None


def _bits(buffer: pa.Buffer | None) -> np.ndarray:
    return np.unpackbits(np.frombuffer(buffer or b"", np.uint8), bitorder="little").astype(bool)


def _names(column: pa.ChunkedArray) -> Names:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return Names(np.zeros(0, np.int32), [])
    codes = column.combine_chunks()
    if isinstance(codes, pa.ChunkedArray):
        codes = codes.chunk(0)
    return Names(_filled(codes.indices, -1), [str(v) for v in codes.dictionary.to_pylist()])


def _lists(column: pa.ChunkedArray, order: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
    """A column of lists, with its rows put into `order`, as all their elements and where each row's begin."""
    lists = column.combine_chunks()
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.chunk(0) if lists.num_chunks else pa.array([], column.type)
    elements = _numbers(lists.values)
    # A row without a list has no elements, so offsets alone tell.
    offsets = _numbers(lists.offsets).astype(np.int64) if len(lists) else np.zeros(1, np.int64)
    lengths, begin = np.diff(offsets)[order], offsets[:-1][order]
    start = np.concatenate(([0], np.cumsum(lengths)))
    return elements[np.repeat(begin - start[:-1], lengths) + np.arange(start[-1])], start
