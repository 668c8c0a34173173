"""The report's memory and what it keeps of tables that are too large for a page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from baton.report import tables
from baton.report.tables import read_run
from report_folder import large_folder

MEASURE = """
import re, sys
from pathlib import Path
from baton import report
report.write(Path(sys.argv[1]))
# Not ru_maxrss: it begins with what the process had that started this one.
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


# An allocator that gives back at once what is free: what others keep depends on chance.
FRUGAL = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
}


def repeated(folder: Path, times: int) -> Path:
    """A run so many times as long: its tables one after the other, with packets and times that go on."""
    large_folder(folder, segments=100_000)
    for name, running in (("packets", ("packet", "sent_ns", "decided_ns")), ("series", ("time_ns",))):
        file = folder / f"{name}.parquet"
        table = pq.read_table(file)
        span = {column: table[column].to_numpy().max() + 1 for column in running}
        with pq.ParquetWriter(file, table.schema) as writer:
            for again in range(times):
                for column in running:
                    place = table.schema.get_field_index(column)
                    later = pa.array(
                        table[column].to_numpy() + span[column] * (again > 0), table.schema.field(column).type
                    )
                    table = table.set_column(place, table.schema.field(column), later)
                writer.write_table(table)
    return folder


def peak_of(folder: Path) -> float:
    """The most memory in bytes that a process takes to write the report."""
    command, environment = [sys.executable, "-c", MEASURE, folder], {**os.environ, **FRUGAL}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return int(done.stdout) * 1024


def test_memory_has_a_bound_whatever_the_length(tmp_path: Path) -> None:
    """Three times as many packets and values take little more memory: of both a share is held, whose size varies by a
    sixth. A single column of them all would be a fifth more."""
    peaks = {}
    for times in (13, 20, 60):
        folder = repeated(tmp_path / f"{times}", times)
        peaks[times] = peak_of(folder)
        if times > 13:
            assert pq.read_metadata(folder / "packets.parquet").num_rows > tables.MOST_PACKETS
            assert pq.read_metadata(folder / "series.parquet").num_rows > tables.MOST_VALUES
    told = {times: f"{peak / 1e6:.0f} MB" for times, peak in peaks.items()}
    assert peaks[60] < 1.15 * peaks[20], told
    assert max(peaks.values()) < 620e6, told


def test_long_series_keep_what_stands_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first, the last, the lowest and the highest value of all are those of the table, and time ascends."""
    folder = large_folder(tmp_path, segments=100_000)
    whole = read_run(folder).series
    monkeypatch.setattr(tables, "MOST_VALUES", 10_000)
    share = read_run(folder).series
    assert whole is not None
    assert share is not None
    assert share.keys() == whole.keys()
    assert sum(len(series.value) for series in share.values()) <= 11_000
    for key, series in share.items():
        assert np.all(np.diff(series.time_ns) > 0)
        assert len(series.value) > 1000
        for pick in (np.min, np.max, lambda value: value[0], lambda value: value[-1]):
            assert pick(series.value) == pick(whole[key].value)
        assert np.isin(series.time_ns, whole[key].time_ns).all()


def test_losses_are_kept_of_packets_that_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = large_folder(tmp_path, segments=100_000)
    table = pq.read_table(folder / "packets.parquet").to_pandas()
    lost = set(table[table.fate == "queue full"].packet)
    monkeypatch.setattr(tables, "MOST_PACKETS", 10_000)
    packets = read_run(folder).packets
    assert packets is not None
    assert len(packets) < 10_000
    fate = packets.names["fate"]
    assert set(packets.numbers["packet"][fate.codes == fate.code("queue full")].tolist()) == lost
