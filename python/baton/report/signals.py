"""The table of signals: sender, receiver and time of each message."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

COLUMNS = ["kind", "sent_ns", "decided_ns", "sender", "receiver", "link", "name", "details", "tunnelled", "fate"]

# Signals from which a page is made; of more there are no charts.
MOST_SIGNALS = 1_000_000


@dataclass(frozen=True)
class Signal:
    """A row. A message has a fate, and unless it was under way at the end a receiver and a time of arrival or loss.

    A report of a link (`kind` is `link`) or an agent (`agent`) inside the host `sender` has none of these.
    """

    kind: str
    sent_ns: int
    decided_ns: int | None
    sender: str
    receiver: str | None
    link: str | None
    name: str
    details: str
    tunnelled: bool
    fate: str | None


def signals_of(table: pa.Table) -> list[Signal]:
    """Returns the rows in order of the times at which they were sent."""
    columns = [table[name].to_pylist() for name in COLUMNS]
    return sorted((Signal(*row) for row in zip(*columns, strict=True)), key=lambda signal: signal.sent_ns)
