"""Repetition of a live run for which the machine was too busy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baton import cli_run
from baton.errors import Interrupted

if TYPE_CHECKING:
    from .execution import LiveResult, LiveTest

#: Times that a live run which was late or disturbed is tried.
MOST_TRIES = 5
#: The longest that the machine may stand still, in µs: what comes at once afterwards overflows a queue that the path
#: would not have filled. A share of all events, which a run is trusted by, does not show it. Chosen; a machine that is
#: left alone stays below 2 ms. A scenario whose own `lateness_bound` is longer says that so much does its path no harm.
LONGEST_STANDSTILL_US = 5_000.0


@dataclass
class Attempted:
    """Result of a run's last try."""

    result: LiveResult
    doubts: list[str] = field(default_factory=list)
    """Reasons why earlier tries, or all of them, do not count."""
    counts: bool = True
    """True if the last try was neither late nor disturbed."""


def attempt(test: LiveTest, seed: int, folder: Path) -> Attempted:
    """Makes a run; repeats it if it was late or disturbed, at most `MOST_TRIES` times. Raises `Interrupted`."""
    doubts: list[str] = []
    for _ in range(MOST_TRIES):
        result = test.run(seed, folder)
        if result.status == cli_run.INTERRUPTED:
            raise Interrupted("interrupted")
        found = doubts_about(result.summary["live"])
        if not found:
            break
        doubts += found
        test = replace(test, options=replace(test.options, run=test.options.run._replace(force=True)))
    return Attempted(result, doubts, counts=not found)


def doubts_about(live: dict[str, Any]) -> list[str]:
    """Returns the reasons not to compare a run; none if it is compared."""
    doubts: list[str] = list(live["doubts"])
    largest = live["lateness"]["largest_us"]
    if largest > max(LONGEST_STANDSTILL_US, live["lateness"]["bound_us"]):
        doubts.append(f"the machine stood still for {largest / 1000:.0f} ms")
    return doubts
