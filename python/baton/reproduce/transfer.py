"""A TCP transfer seen at its sender, from the packet table of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from baton.report.arrow import Names
from baton.report.tables import Packets

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """Rows of one kind, in order of time. Sequence numbers count from the first byte of data."""

    time_s: Floats
    sequence: Ints
    length: Ints
    retransmission: npt.NDArray[np.bool_]

    def where(self, mask: npt.NDArray[np.bool_]) -> Side:
        """Returns the rows that ``mask`` chooses."""
        return Side(self.time_s[mask], self.sequence[mask], self.length[mask], self.retransmission[mask])


class Transfer:
    """One flow of a run.

    ``sent`` are data segments as the sender offers them to its link, ``acks`` acknowledgments (in
    ``sequence``) as they reach the sender.
    """

    def __init__(self, packets: Packets, flow: str, *, data_direction: str, sender_links: list[str]):
        columns = {name: _texts(column) for name, column in packets.names.items()} | packets.numbers
        columns["decided_ns"] = packets.decided_ns
        mine = (columns["flow"] == flow) & (columns["protocol"] == "tcp")
        first = np.isin(columns["link"], sender_links) & mine
        forward = columns["direction"] == data_direction
        syn = np.char.find(columns["flags"], "SYN") >= 0
        syn_row = np.flatnonzero(mine & forward & syn)[0]
        self._origin = int(columns["sequence"][syn_row]) + 1
        self._columns = columns
        self._mine = mine
        self.sent = self._rows(first & forward & (columns["payload_bytes"] > 0), "sent_ns", "sequence")
        arrived = columns["fate"] == "delivered"
        is_ack = first & ~forward & arrived & (columns["payload_bytes"] == 0) & ~syn
        self.acks = self._rows(is_ack, "decided_ns", "acknowledgment")
        self.lost = int(np.count_nonzero(mine & ~arrived & (columns["fate"] != "under way")))

    def _rows(self, mask: npt.NDArray[np.bool_], time: str, sequence: str) -> Side:
        columns = self._columns
        at = columns[time][mask].astype(np.float64) / 1e9
        order = np.argsort(at, kind="stable")
        relative = (columns[sequence][mask].astype(np.int64) - self._origin) % 2**32
        return Side(
            at[order],
            relative[order],
            columns["payload_bytes"][mask].astype(np.int64)[order],
            columns["retransmission"][mask].astype(bool)[order],
        )

    def data_on(self, link: str, *, delivered: bool) -> Side:
        """Returns data segments on one link: as they are offered to it, or as they come out of it."""
        columns = self._columns
        mask = self._mine & (columns["link"] == link) & (columns["payload_bytes"] > 0)
        if delivered:
            return self._rows(mask & (columns["fate"] == "delivered"), "decided_ns", "sequence")
        return self._rows(mask, "sent_ns", "sequence")

    def duplicate_acks(self, after_s: float, before_s: float = np.inf) -> list[int]:
        """Returns lengths of the runs of duplicate acknowledgments between two times."""
        times, numbers = self.acks.time_s, self.acks.sequence
        repeated = np.concatenate([[False], numbers[1:] == numbers[:-1]])
        chosen = (times > after_s) & (times <= before_s)
        runs: dict[int, int] = {}
        for number in numbers[repeated & chosen]:
            runs[int(number)] = runs.get(int(number), 0) + 1
        return list(runs.values())

    def rtts(self) -> tuple[Floats, Floats]:
        """Returns send times and round-trip times of segments that were sent once (Karn's rule)."""
        again = np.unique(self.sent.sequence[self.sent.retransmission])
        once = self.sent.where(~np.isin(self.sent.sequence, again))
        if not len(self.acks.sequence):
            return once.time_s[:0], once.time_s[:0]
        # Acknowledgments can arrive out of order across links: the highest so far is what counts.
        highest = np.maximum.accumulate(self.acks.sequence)
        place = np.searchsorted(highest, once.sequence + once.length)
        known = place < len(highest)
        return once.time_s[known], self.acks.time_s[place[known]] - once.time_s[known]

    def longest_wait(self, after_s: float) -> float:
        """Returns the longest time from the first transmission of a segment to its acknowledgment, after a time."""
        _, first = np.unique(self.sent.sequence, return_index=True)
        once = self.sent.where(np.isin(np.arange(len(self.sent.time_s)), first))
        highest = np.maximum.accumulate(self.acks.sequence)
        place = np.searchsorted(highest, once.sequence + once.length)
        known = (place < len(highest)) & (once.time_s >= after_s)
        waits = self.acks.time_s[place[known]] - once.time_s[known]
        return float(waits.max()) if len(waits) else 0.0

    def time_of_byte(self, byte: int) -> float | None:
        """Returns the time at which the sender knew that all before ``byte`` had arrived."""
        highest = np.maximum.accumulate(self.acks.sequence)
        place = int(np.searchsorted(highest, byte))
        return float(self.acks.time_s[place]) if place < len(highest) else None

    def acknowledged(self, at_s: float) -> int:
        """Returns bytes acknowledged by a time."""
        before = self.acks.sequence[self.acks.time_s <= at_s]
        return int(before.max()) if len(before) else 0


def _texts(column: Names) -> npt.NDArray[np.str_]:
    """Returns a column of names as text; a null reads as empty."""
    texts: npt.NDArray[np.str_] = np.array([*column.values, ""])[column.codes]
    return texts
