"""Numbers of the comparison in words: with their sign, since all are changes."""

from __future__ import annotations

from collections.abc import Callable

from baton.report.text_tables import ABSENT, quantity
from baton.sweep.statistics import Statistics

MINUS = "\u2212"
INTERRUPTED = (
    "This comparison was interrupted: the results below are from the runs that had ended; a remedy that had not been"
    " run counts as nothing installed."
)


def percent(value: float | None) -> str:
    """Writes a share in percent."""
    return ABSENT if value is None else _signed(f"{100 * value + 0.0:+.1f}") + " %"


def seconds(value: float | None) -> str:
    """Writes a time in seconds."""
    return ABSENT if value is None else _signed(f"{value + 0.0:+.2f}") + " s"


def plain(value: float | None) -> str:
    """Writes a number without a unit."""
    return ABSENT if value is None else _signed(f"{value + 0.0:+.1f}")


def size(value: float | None) -> str:
    """Writes a number of bytes."""
    return ABSENT if value is None else _signed(("+" if value >= 0 else "") + quantity(value, "B"))


def interval(found: Statistics, shown: Callable[[float | None], str] = percent) -> str:
    """Writes the 95 % interval; one run has none."""
    if found.mean is None:
        return ABSENT
    if found.low is None or found.high is None:
        return "one run: no interval"
    return f"{shown(found.low)} to {shown(found.high)}"


def _signed(text: str) -> str:
    nothing = not text.strip("+-0.")
    return text.lstrip("+-") if nothing else text.replace("-", MINUS)
