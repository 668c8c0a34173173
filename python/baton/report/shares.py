"""Parts of tables of any length, for a page, read batch by batch so that memory does not grow with them.

Of too many packets, it takes every nth, and all that matter. Of too long series, it takes the first, the last, the
lowest and the highest value of equal stretches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .arrow import Names, names_of, numbers_of

BATCH_ROWS = 250_000

Batches = Callable[[list[str]], Iterable[pa.RecordBatch]]
"""Some columns of a table, in batches, as often as they are asked for."""


@dataclass
class Series:
    """One quantity of one subject over time."""

    time_ns: np.ndarray
    value: np.ndarray


Key = tuple[str, str]
"""Subject and quantity of a series."""


def column_of(batches: Batches, name: str) -> pa.ChunkedArray:
    """Returns a column. The columns of a long table are read one by one: the batches of all together take too much
    memory."""
    return pa.chunked_array([batch.column(name) for batch in batches([name])])


def share_of_packets(batches: Batches, columns: list[str], every: int, most: int) -> pa.Table:
    """Returns all rows of every `every`th packet, and of all packets that were lost, retransmitted or open a
    connection.

    These are never left out, unless they alone have more than `most` rows: then they are thinned too.
    """
    matter = _that_matter(batches, most)
    parts = []
    for batch in batches(columns):
        packet = batch.column("packet").to_numpy()
        parts.append(batch.filter(pa.array((packet % every == 0) | np.isin(packet, matter))))
    return pa.Table.from_batches(parts).unify_dictionaries()


def _that_matter(batches: Batches, most: int) -> np.ndarray:
    """Returns the numbers of the packets that matter; of too many, those divisible by a power of two."""
    found, each, rows, last = np.zeros(0, np.uint64), 1, 0, 0
    for batch in batches(["packet", "fate", "retransmission", "flags"]):
        table = pa.Table.from_batches([batch])
        fate, flags, packet = names_of(table["fate"]), names_of(table["flags"]), numbers_of(table["packet"])
        uneventful = np.isin(fate.codes, [fate.code("delivered"), fate.code("under way")])
        opens = np.array([*("SYN" in value for value in flags.values), False])[flags.codes]
        chosen = packet[~uneventful | numbers_of(table["retransmission"]).astype(bool) | opens]
        found = np.unique(np.concatenate((found, chosen[chosen % each == 0])))
        rows, last = rows + len(packet), max(last, int(packet.max(initial=0)))
        while len(found) > most:
            each *= 2
            found = found[found % each == 0]
    hops = rows / max(last, 1)
    return np.asarray(found[:: int(len(found) * max(hops, 1.0) / most) + 1])


def share_of_series(batches: Batches, most: int) -> dict[Key, Series]:
    """Returns all series of a table, thinned to some `most` values together."""
    counts: dict[Key, int] = {}
    for key, rows, _ in _by_key(batches(["subject", "series"])):
        counts[key] = counts.get(key, 0) + len(rows)
    limit = equal_share(list(counts.values()), most)
    parts = {
        key: _Stretches(count, -(-count // max(limit // 4, 1)) if count > limit else 1) for key, count in counts.items()
    }
    for key, rows, batch in _by_key(batches(["time_ns", "subject", "series", "value"])):
        time, value = (numbers_of(pa.chunked_array([batch.column(name)])) for name in ("time_ns", "value"))
        parts[key].add(time[rows], value[rows])
    return {key: part.series() for key, part in parts.items()}


def equal_share(counts: list[int], most: int) -> int:
    """Returns the number of values that each series may keep, so that all together have no more than `most`."""
    left, limit = most, 0
    for place, count in enumerate(sorted(counts)):
        limit = left // (len(counts) - place)
        if count > limit:
            return limit
        left -= count
    return most


class _Stretches:
    """A series as it is read; each `length` values become their first, last, lowest and highest.

    These have one array from the beginning on: many small arrays would hold much free memory between them.
    """

    def __init__(self, count: int, length: int) -> None:
        self.length, self.kept = length, 0
        room = count if length == 1 else min(count, 4 * (count // length) + length)
        self.whole = Series(np.empty(room, np.int64), np.empty(room))
        self.rest = Series(np.zeros(0, np.int64), np.zeros(0))

    def add(self, time_ns: np.ndarray, value: np.ndarray) -> None:
        time_ns, value = np.concatenate((self.rest.time_ns, time_ns)), np.concatenate((self.rest.value, value))
        whole = len(value) // self.length * self.length
        rows = outstanding(value[:whole], self.length)
        self.keep(time_ns[rows], value[rows])
        self.rest = Series(time_ns[whole:].copy(), value[whole:].copy())

    def keep(self, time_ns: np.ndarray, value: np.ndarray) -> None:
        place = slice(self.kept, self.kept + len(value))
        self.whole.time_ns[place], self.whole.value[place] = time_ns, value
        self.kept += len(value)

    def series(self) -> Series:
        self.keep(self.rest.time_ns, self.rest.value)
        return Series(self.whole.time_ns[: self.kept], self.whole.value[: self.kept])


def outstanding(value: np.ndarray, length: int) -> np.ndarray:
    """Returns places of the first, last, lowest and highest of each `length` values, in whole stretches."""
    if length == 1 or not len(value):
        return np.arange(len(value))
    blocks = value.reshape(-1, length)
    begin = np.arange(0, len(value), length)
    chosen = (begin, begin + length - 1, begin + blocks.argmin(axis=1), begin + blocks.argmax(axis=1))
    rows = np.sort(np.concatenate(chosen))
    return np.asarray(rows[np.diff(rows, prepend=-1) > 0])


def _by_key(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Key, np.ndarray, pa.RecordBatch]]:
    """Returns for each series in each batch its key, its rows in the batch, and the batch."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        subject, quantity = names_of(table["subject"]), names_of(table["series"])
        for number, rows in grouped(subject.codes.astype(np.int64) * len(quantity.values) + quantity.codes):
            yield key_of(number, subject, quantity), rows, batch


def key_of(number: int, subject: Names, quantity: Names) -> Key:
    """Returns the key of a number that is made of both codes."""
    return subject.values[number // len(quantity.values)], quantity.values[number % len(quantity.values)]


def grouped(codes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yields the distinct codes and the rows of each, ascending."""
    if not len(codes):
        return  # numpy splits nothing into one part
    order = np.argsort(codes, kind="stable")
    keys, begins = np.unique(codes[order], return_index=True)
    yield from zip(keys.tolist(), np.split(order, begins[1:]), strict=True)
