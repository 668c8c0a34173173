"""Columns of tables as numpy arrays."""

from typing import NamedTuple

import numpy as np

from baton._baton import Column


class Names(NamedTuple):
    """A column of few distinct strings: a code for each row and the strings; -1 is null."""

    codes: np.ndarray
    values: list[str]

    def code(self, value: str) -> int:
        """Returns the code of a string, or -2 when no row has it."""
        return self.values.index(value) if value in self.values else -2


def numbers_of(column: Column) -> np.ndarray:
    """Returns a column of numbers; a row without one reads as zero."""
    values, valid = values_of(column)
    return values if valid is None else np.where(valid, values, values.dtype.type(0))


def values_of(column: Column) -> tuple[np.ndarray, np.ndarray | None]:
    """Returns numbers or truth, and the rows that have a value if not all have one."""
    values = np.frombuffer(column.values, column.kind)
    return values, None if column.valid is None else np.frombuffer(column.valid, bool)


def names_of(column: Column) -> Names:
    """Returns a column of strings."""
    return Names(np.frombuffer(column.values, column.kind), column.names or [])


def lists_of(column: Column, order: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
    """Returns a column of lists, its rows put into `order`, as all their elements and the beginning of each row's."""
    elements, offsets = np.frombuffer(column.values, column.kind), np.frombuffer(column.offsets or b"", np.int64)
    lengths, begin = np.diff(offsets)[order], offsets[:-1][order]
    start = np.concatenate(([0], np.cumsum(lengths)))
    return elements[np.repeat(begin - start[:-1], lengths) + np.arange(start[-1])], start
