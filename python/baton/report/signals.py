"""The table of signals: sender, receiver and time of each message."""

from collections.abc import Callable
from typing import Any, NamedTuple

from baton._baton import Column

from .arrow import names_of, values_of

COLUMNS = ["kind", "sent_ns", "decided_ns", "sender", "receiver", "link", "name", "details", "tunnelled", "fate"]

# Signals from which a page is made; of more there are no charts.
MOST_SIGNALS = 1_000_000


class Signal(NamedTuple):
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


def signals_of(column: Callable[[str], Column]) -> list[Signal]:
    """Returns the rows of a table, of which `column` reads columns, in order of the times at which they were sent."""
    columns = [_listed(column(name)) for name in COLUMNS]
    return sorted((Signal(*row) for row in zip(*columns, strict=True)), key=lambda signal: signal.sent_ns)


def _listed(column: Column) -> list[Any]:
    """Returns the values of a column; None where a row has none."""
    if column.names is not None:
        names = names_of(column)
        return [names.values[code] if code >= 0 else None for code in names.codes.tolist()]
    values, valid = values_of(column)
    known = [True] * len(values) if valid is None else valid.tolist()
    return [value if is_known else None for value, is_known in zip(values.tolist(), known, strict=True)]
