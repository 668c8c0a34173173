"""Handovers that a live run has to go through: a test of a handover proves nothing if none took place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from baton.expect import HANDOVERS_COMPLETED, Expectation, Outcome, completed_handovers
from baton.handover_spec import seconds
from baton.summary import Json
from baton.toml import loads

if TYPE_CHECKING:
    from baton import Scenario


@dataclass(frozen=True)
class Wanted:
    """Number of handovers during which a flow has to be under way."""

    count: int

    def outcomes(self, summary: Json) -> list[Outcome]:
        """Returns the outcome of its expectation on a summary; none if nothing is wanted."""
        if not self.count:
            return []
        return [Expectation.parse(f"handovers.completed >= {self.count}").check(summary)]

    def why_not(self, summary: Json) -> str | None:
        """Describes the missing handovers, in a sentence; nothing if nothing is missing."""
        found = completed_handovers(summary["handovers"])
        if found >= self.count:
            return None
        program = summary.get("program")
        when = (
            f"the program ended after {program['wall_s']:.3g} s" if program else "no flow was under way at the others"
        )
        return f"{found} of {self.count} while a flow was under way: {when} (--allow-no-handover accepts that)"


def wanted(scenario: Scenario, expectations: Sequence[Expectation], allow_none: bool) -> Wanted:
    """Returns all handovers of real mobiles' timetables, and one of a mobile that chooses by itself.

    An expectation on `handovers.completed` replaces it.
    """
    if allow_none or any(expectation.path == HANDOVERS_COMPLETED for expectation in expectations):
        return Wanted(0)
    resolved = loads(scenario.resolved)
    mobiles: dict[str, Any] = resolved.get("mobiles", {})
    real = resolved.get("live", {}).get("hosts", list(mobiles)[:1])
    counts = (handovers_of(mobiles[name], scenario.duration_s) for name in mobiles if name in real)
    return Wanted(sum(counts))


def handovers_of(mobile: dict[str, Any], duration_s: float) -> int:
    """Returns the number of a mobile's handovers that end before the run does."""
    if "timetable" not in mobile:
        return 1
    entries = mobile["timetable"][1:]
    return sum(entry.get("attach") != "none" and latest_end_s(entry) < duration_s for entry in entries)


def latest_end_s(entry: dict[str, Any]) -> float:
    """Returns the latest time at which a handover of a timetable is complete."""
    return sum(seconds(entry[key]) for key in ("at", "outage", "jitter") if key in entry)
