"""Columns of tables as the extension reads them, against pyarrow."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from baton import Scenario
from baton._baton import Column, TableFile, table_column

#: Values of each type that a table of Baton has, with and without a missing one.
COLUMNS = {
    "packet": pa.array([1, 2, 2**63, 4, 5, 6], pa.uint64()),
    "sequence": pa.array([0, None, 2**32 - 1, 7, None, 9], pa.uint32()),
    "decided_ns": pa.array([-5, None, 2**62, None, 0, 1], pa.int64()),
    "value": pa.array([0.5, -1e300, None, 2.0, 3.0, float("inf")], pa.float64()),
    "retransmission": pa.array([True, False, None, True, False, True], pa.bool_()),
    "link": pa.array(["gsm", "wifi", "gsm", None, "lan", "wifi"]).dictionary_encode(),
    "details": pa.array(["a", "", None, "a", "ü", "b"], pa.string()),
    "sack": pa.array([[1, 2], None, [], [3, 4, 5, 6], [7, 8], None], pa.list_(pa.uint32())),
}
ROWS = 6


def listed(column: Column) -> list[Any]:
    """The values of a column as pyarrow lists them."""
    values = np.frombuffer(column.values, column.kind).tolist()
    if column.names is not None:
        return [None if code < 0 else column.names[code] for code in values]
    if column.offsets is not None:
        ends = np.frombuffer(column.offsets, np.int64).tolist()
        return [values[begin:end] for begin, end in itertools.pairwise(ends)]
    valid = [True] * len(values) if column.valid is None else np.frombuffer(column.valid, bool).tolist()
    return [value if known else None for value, known in zip(values, valid, strict=True)]


def expected(name: str, rows: list[int]) -> list[Any]:
    values = [COLUMNS[name].to_pylist()[row] for row in rows]
    # A missing list has no elements.
    return [value or [] for value in values] if name == "sack" else values


@pytest.fixture(params=[1, 2, ROWS], ids=lambda rows: f"groups of {rows}")
def file(request: pytest.FixtureRequest, tmp_path: Path) -> TableFile:
    """All columns in a file of row groups with so many rows each, so that dictionaries differ."""
    schema = pa.schema({name: values.type for name, values in COLUMNS.items()}, {"baton.packets": '{"version": 1}'})
    with pq.ParquetWriter(tmp_path / "table.parquet", schema) as writer:
        for begin in range(0, ROWS, request.param):
            writer.write_table(pa.table(COLUMNS, schema).slice(begin, request.param), row_group_size=request.param)
    return TableFile(tmp_path / "table.parquet")


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_those_of_pyarrow(file: TableFile, name: str) -> None:
    assert len(file) == ROWS
    assert listed(file.column(name)) == expected(name, list(range(ROWS)))
    assert file.metadata("baton.packets") == '{"version": 1}'
    assert file.metadata("baton.series") is None


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("rows", [[], [0], [1, 3], [2, 4, 5]], ids=str)
def test_chosen_rows_alone_are_read(file: TableFile, name: str, rows: list[int]) -> None:
    chosen = bytes(row in rows for row in range(ROWS))
    assert listed(file.column(name, chosen)) == expected(name, rows)


def test_batches_have_the_named_columns_of_all_rows(file: TableFile) -> None:
    batches = list(file.batches(["packet", "link"]))
    assert [column for batch in batches for column in batch.column_names] == ["packet", "link"] * len(batches)
    for name in ("packet", "link"):
        found = [value for batch in batches for value in listed(table_column(batch, name))]
        assert found == expected(name, list(range(ROWS)))


def test_names_keep_the_order_of_the_file(file: TableFile) -> None:
    assert file.column("link").names == ["gsm", "wifi", "lan"]


def test_tables_without_rows_have_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table(COLUMNS).slice(0, 0), tmp_path / "empty.parquet")
    file = TableFile(tmp_path / "empty.parquet")
    assert [listed(file.column(name)) for name in COLUMNS] == [[]] * len(COLUMNS)


def test_tables_in_memory_read_as_those_in_a_file(tmp_path: Path) -> None:
    scenario = Scenario.load(Path(__file__).parents[1] / "scenarios/wavelan-to-gsm.toml", ["duration=20 s"])
    scenario.run(tmp_path / "run")
    packets = scenario.run().packets
    assert packets is not None
    file = TableFile(tmp_path / "run/packets.parquet")
    for name in ("packet", "decided_ns", "link", "sack", "retransmission"):
        assert listed(table_column(packets, name)) == listed(file.column(name)) != []


def test_what_no_table_of_baton_has_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": pa.array([0], pa.timestamp("ns")), "packet": [1]}), tmp_path / "other.parquet")
    file = TableFile(tmp_path / "other.parquet")
    for name, why in (("at", "has the type Timestamp"), ("flow", "the column flow is missing")):
        with pytest.raises(ValueError, match=why):
            file.column(name)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no footer")
    with pytest.raises(ValueError, match=r"broken\.parquet: cannot be read"):
        TableFile(tmp_path / "broken.parquet")
