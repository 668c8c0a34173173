"""Parts of tables of any length, for a page, read batch by batch so that memory does not grow with them.

Of too many packets, it takes every nth, and all that matter. Of too long series, it takes the first, the last, the
lowest and the highest value of equal stretches.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from baton._baton import Column, Table, TableFile, table_column

from .arrow import Names, names_of, numbers_of


class Series(NamedTuple):
    """One quantity of one subject over time."""

    time_ns: np.ndarray
    value: np.ndarray


Key = tuple[str, str]
"""Subject and quantity of a series."""


def share_of_packets(file: TableFile, every: int, most: int) -> Callable[[str], Column]:
    """Returns columns of all rows of every `every`th packet, and of all packets that were lost, retransmitted or open
    a connection.

    These are never left out, unless they alone have more than `most` rows: then they are thinned too.
    """
    matter = _that_matter(file, most)
    packets = (numbers_of(table_column(batch, "packet")) for batch in file.batches(["packet"]))
    chosen = b"".join(((packet % every == 0) | np.isin(packet, matter)).tobytes() for packet in packets)
    return lambda name: file.column(name, chosen)


def _that_matter(file: TableFile, most: int) -> np.ndarray:
    """Returns the numbers of the packets that matter; of too many, those divisible by a power of two."""
    found, each, rows, last = np.zeros(0, np.uint64), 1, 0, 0
    for batch in file.batches(["packet", "fate", "retransmission", "flags"]):
        fate, flags = names_of(table_column(batch, "fate")), names_of(table_column(batch, "flags"))
        packet, again = numbers_of(table_column(batch, "packet")), numbers_of(table_column(batch, "retransmission"))
        uneventful = np.isin(fate.codes, [fate.code("delivered"), fate.code("under way")])
        opens = np.array([*("SYN" in value for value in flags.values), False])[flags.codes]
        chosen = packet[~uneventful | again.astype(bool) | opens]
        found = np.unique(np.concatenate((found, chosen[chosen % each == 0])))
        rows, last = rows + len(packet), max(last, int(packet.max(initial=0)))
        while len(found) > most:
            each *= 2
            found = found[found % each == 0]
    hops = rows / max(last, 1)
    return np.asarray(found[:: int(len(found) * max(hops, 1.0) / most) + 1])


def share_of_series(file: TableFile, most: int) -> dict[Key, Series]:
    """Returns all series of a table, thinned to some `most` values together."""
    counts: dict[Key, int] = {}
    for key, rows, _ in _by_key(file.batches(["subject", "series"])):
        counts[key] = counts.get(key, 0) + len(rows)
    limit = equal_share(list(counts.values()), most)
    parts = {
        key: _Stretches(count, -(-count // max(limit // 4, 1)) if count > limit else 1) for key, count in counts.items()
    }
    for key, rows, batch in _by_key(file.batches(["time_ns", "subject", "series", "value"])):
        time, value = (numbers_of(table_column(batch, name)) for name in ("time_ns", "value"))
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


def _by_key(batches: Iterable[Table]) -> Iterator[tuple[Key, np.ndarray, Table]]:
    """Returns for each series in each batch its key, its rows in the batch, and the batch."""
    for batch in batches:
        subject, quantity = names_of(table_column(batch, "subject")), names_of(table_column(batch, "series"))
        for number, rows in grouped(subject.codes.astype(np.int64) * len(quantity.values) + quantity.codes):
            yield key_of(number, subject, quantity), rows, batch


def key_of(number: int, subject: Names, quantity: Names) -> Key:
    """Returns the key of a number that is made of both codes."""
    return subject.values[number // len(quantity.values)], quantity.values[number % len(quantity.values)]


def grouped(codes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yields the distinct codes, which are small and not negative, and the rows of each, ascending."""
    if not len(codes):
        return  # numpy splits nothing into one part
    # numpy sorts numbers of 16 bits in linear time.
    order = np.argsort(codes.astype(np.uint16) if codes.max() < 2**16 else codes, kind="stable")
    ascending = codes[order]
    begins = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    yield from zip(ascending[begins].tolist(), np.split(order, begins[1:]), strict=True)
