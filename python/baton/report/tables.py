"""Reads a results folder: JSON as it is, Parquet as numpy columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from baton import Result
from baton._baton import Column, TableFile, table_column
from baton.errors import refuse_newer
from baton.stored import read_manifest, read_summary
from baton.summary import main_flows

from .arrow import Names, lists_of, names_of, numbers_of, values_of
from .happened import what_happened
from .shares import Series, equal_share, grouped, key_of, share_of_packets, share_of_series
from .signals import MOST_SIGNALS, Signal, signals_of

PACKET_COLUMNS = {
    "numbers": ["packet", "sent_ns", "sequence", "acknowledgment", "payload_bytes", "retransmission"],
    "names": ["link", "direction", "flow", "fate", "protocol", "source", "destination", "flags"],
}

# Version of the tables that are read here.
TABLE_FORMAT = 1

# Rows of packets from which a page is made; of more, what matters and a share of the others.
MOST_PACKETS = 2_000_000
# Values of all series that memory takes, and those that a page takes: some 15 MB. Of longer ones, what stands out.
MOST_VALUES = 4_000_000
PAGE_VALUES = 3_000_000
# Flows that a page shows; a live run may have thousands of short conversations.
MOST_FLOWS = 100


@dataclass
class Packets:
    """The packet table: a row for every packet on every link, ascending in the time it was offered."""

    numbers: dict[str, np.ndarray]
    names: dict[str, Names]
    decided_ns: np.ndarray  # float, NaN while under way
    sack: np.ndarray  # edges of all rows, one after the other
    sack_start: np.ndarray  # where a row's edges begin; one longer than the table
    recorded: int  # rows of the file
    every: int  # one packet of so many is here, and all that were lost or sent again

    def __len__(self) -> int:
        return len(self.numbers["packet"])


@dataclass
class Run:
    """Contents of a results folder that a report shows. Tables that were not recorded, or are too large for a page, are
    `None`."""

    folder: Path
    manifest: dict[str, Any]
    summary: dict[str, Any]
    packets: Packets | None
    series: dict[tuple[str, str], Series] | None
    signals: list[Signal] = field(default_factory=list)
    """None where no mobility protocol is spoken."""
    left_out: int = 0
    """Flows that the summary of the folder has and this one not, since they delivered least."""
    happened: str = ""
    """Summary of the events in a few sentences, of all flows."""
    whole: dict[str, Any] = field(default_factory=dict)
    """The summary with all flows; empty if that is `summary`."""

    def find(self, subject: str, quantity: str) -> Series | None:
        """Returns a series by subject (`flow download`, `link gsm down`) and quantity; `None` if it is missing or
        empty."""
        found = (self.series or {}).get((subject, quantity))
        return found if found is not None and len(found.time_ns) else None

    @property
    def series_limit(self) -> int:
        """Number of values that each series may bring to a page, so that all together are not too many for it."""
        return equal_share([len(series.time_ns) for series in (self.series or {}).values()], PAGE_VALUES)

    @property
    def duration_s(self) -> float:
        """Simulated time, in seconds; from the data if the summary lacks it."""
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
    if not (folder / "manifest.json").exists():
        raise FileNotFoundError(f"{folder}: holds no manifest.json")
    manifest = dict(read_manifest(folder / "manifest.json"))
    whole = read_summary(folder / "summary.json") if (folder / "summary.json").exists() else {}
    summary, left_out = main_flows(whole, MOST_FLOWS)
    tables = {name: table_file(folder / f"{name}.parquet") for name in ("packets", "series", "signals")}
    packets = _read_packets(tables["packets"]) if tables["packets"] is not None else None
    series = _read_series(tables["series"]) if tables["series"] is not None else None
    told = tables["signals"]
    signals = signals_of(told.column) if told is not None and len(told) <= MOST_SIGNALS else []
    return Run(folder, manifest, summary, packets, series, signals, left_out, what_happened(whole), whole)


def run_of(result: Result) -> Run:
    """Reads the results of a run, from its folder or whole from memory. Raises `OSError` and `ValueError` as `read_run`
    does."""
    if result.folder is not None:
        return read_run(Path(result.folder))
    packets, series, signals = result.packets, result.series, result.signals
    return Run(
        Path(),
        result.manifest,
        result.summary,
        _packets(partial(table_column, packets), len(packets)) if packets is not None else None,
        _series(partial(table_column, series)) if series is not None else None,
        signals_of(partial(table_column, signals)) if signals is not None and len(signals) <= MOST_SIGNALS else [],
    )


def table_file(path: Path) -> TableFile | None:
    """Opens a table; none if there is no file. Raises `ValueError`, and `InputError` if it is of a newer format."""
    if not path.exists():
        return None
    file = TableFile(path)
    described = file.metadata(f"baton.{path.stem}") or "{}"
    refuse_newer(path, json.loads(described).get("version"), TABLE_FORMAT)
    return file


def _read_packets(file: TableFile) -> Packets:
    recorded = len(file)
    if recorded <= MOST_PACKETS:
        return _packets(file.column, recorded)
    every = -(-recorded // (MOST_PACKETS // 2))
    return _packets(share_of_packets(file, every, MOST_PACKETS // 4), recorded, every)


def _packets(column: Callable[[str], Column], recorded: int, every: int = 1) -> Packets:
    """Returns the packets of a table, whose columns are read one after the other."""
    sent = numbers_of(column("sent_ns"))
    order = slice(None) if np.all(sent[1:] >= sent[:-1]) else np.argsort(sent, kind="stable")
    names = {name: names_of(column(name)) for name in PACKET_COLUMNS["names"]}
    edges, start = lists_of(column("sack"), order)
    decided, valid = values_of(column("decided_ns"))
    others = (name for name in PACKET_COLUMNS["numbers"] if name != "sent_ns")
    return Packets(
        {"sent_ns": sent[order], **{name: numbers_of(column(name))[order] for name in others}},
        {name: Names(each.codes[order], each.values) for name, each in names.items()},
        np.where(True if valid is None else valid, decided, np.nan)[order],
        edges,
        start,
        recorded,
        every,
    )


def _read_series(file: TableFile) -> dict[tuple[str, str], Series]:
    return share_of_series(file, MOST_VALUES) if len(file) > MOST_VALUES else _series(file.column)


def _series(column: Callable[[str], Column]) -> dict[tuple[str, str], Series]:
    time, value = numbers_of(column("time_ns")), numbers_of(column("value"))
    subject, quantity = names_of(column("subject")), names_of(column("series"))
    codes = subject.codes.astype(np.int64) * len(quantity.values) + quantity.codes
    return {key_of(number, subject, quantity): Series(time[rows], value[rows]) for number, rows in grouped(codes)}
