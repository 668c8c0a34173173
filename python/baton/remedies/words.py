"""Numbers of the comparison in words: with their sign, since all are changes."""

from __future__ import annotations

from collections.abc import Callable

from baton.report.text_tables import ABSENT, quantity
from baton.sweep.statistics import Statistics

MINUS = "\u2212"
INTERRUPTED = (
    "This comparison was interrupted: what follows is made of the runs that had ended, and where a remedy had not been"
    " run it counts as nothing installed."
)


def percent(value: float | None) -> str:
    """A share in percent."""
    return ABSENT if value is None else _signed(f"{100 * value + 0.0:+.1f}") + " %"


def seconds(value: float | None) -> str:
    """A time in seconds."""
    return ABSENT if value is None else _signed(f"{value + 0.0:+.2f}") + " s"


def plain(value: float | None) -> str:
    """A number without a unit."""
    return ABSENT if value is None else _signed(f"{value + 0.0:+.1f}")


def size(value: float | None) -> str:
    """A number of bytes."""
    return ABSENT if value is None else _signed(("+" if value >= 0 else "") + quantity(value, "B"))


def interval(found: Statistics, shown: Callable[[float | None], str] = percent) -> str:
    """The 95 % interval; of one run there is none."""
    if found.mean is None:
        return ABSENT
    if found.low is None or found.high is None:
        return "one run: no interval"
    return f"{shown(found.low)} to {shown(found.high)}"


def _signed(text: str) -> str:
    nothing = not text.strip("+-0.")
    return text.lstrip("+-") if nothing else text.replace("-", MINUS)
