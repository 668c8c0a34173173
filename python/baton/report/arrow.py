"""Columns of Arrow as numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa


@dataclass
class Names:
    """A column of few distinct strings: a code for each row and the strings; -1 is null."""

    codes: np.ndarray
    values: list[str]

    def code(self, value: str) -> int:
        """Returns the code of a string, or -2 when no row has it."""
        return self.values.index(value) if value in self.values else -2


# The code below reads the columns' buffers, since pyarrow's own `to_numpy`, `fill_null` and `cast` import pandas or
# pyarrow.compute, either of which takes longer than all else that a short run's report needs.


def numbers_of(column: pa.ChunkedArray) -> np.ndarray:
    """Returns a column as a numpy array; a null reads as zero."""
    return _filled(column, 0)


def _filled(column: pa.Array | pa.ChunkedArray, absent: int) -> np.ndarray:
    """Returns numbers or booleans, with `absent` for nulls."""
    values, valid = values_of(column)
    return values if valid is None else np.where(valid, values, values.dtype.type(absent))


def values_of(column: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray | None]:
    """Returns numbers or booleans, and where they are valid if not all are."""
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


def names_of(column: pa.ChunkedArray) -> Names:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return Names(np.zeros(0, np.int32), [])
    codes = column.combine_chunks()
    if isinstance(codes, pa.ChunkedArray):
        codes = codes.chunk(0)
    return Names(_filled(codes.indices, -1), [str(v) for v in codes.dictionary.to_pylist()])


def lists_of(column: pa.ChunkedArray, order: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
    """Returns a column of lists, its rows put into `order`, as all their elements and the beginning of each row's."""
    lists = column.combine_chunks()
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.chunk(0) if lists.num_chunks else pa.array([], column.type)
    elements = numbers_of(lists.values)
    # A row without a list has no elements, so offsets alone tell.
    offsets = numbers_of(lists.offsets).astype(np.int64) if len(lists) else np.zeros(1, np.int64)
    lengths, begin = np.diff(offsets)[order], offsets[:-1][order]
    start = np.concatenate(([0], np.cumsum(lengths)))
    return elements[np.repeat(begin - start[:-1], lengths) + np.arange(start[-1])], start
