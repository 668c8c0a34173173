"""Gains of remedies: each against installing nothing, on the same seeds.

At a handover, the gain is the difference of the bytes delivered from its announcement, or its start, to the next one or
the end of the run, as a share of what the links carry in that time. Over several handovers it is their mean, one
for each seed: intervals are of these means, so that they express chance in the runs and not the difference between
paths. Where the engine refuses a remedy, nothing is installed: it gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from baton.sweep.flatten import Row
from baton.sweep.statistics import Statistics, describe

from .facts import NOTHING, NOTHING_ROUTED, ROUTED
from .study import Situation

Rows = dict[int, Row]
"""The runs of a point by seed."""
Change = Callable[["Cell", Row, Row], float]
"""Difference between a run with a remedy and one with nothing."""


@dataclass(frozen=True)
class Cell:
    """A handover of a situation."""

    situation: Situation
    number: int
    """Its place among the handovers of the run."""

    def of(self, row: Row, key: str) -> float:
        """Returns a number of this handover; NaN without one."""
        return value_of(row, f"handovers.{self.number}.{key}")


def value_of(row: Row, name: str) -> float:
    """Returns a number of a run; NaN without one."""
    value = row.get(name)
    return float(value) if isinstance(value, (int, float)) else float("nan")


class Runs:
    """The runs of a comparison, by situation and remedy."""

    def __init__(self, rows: dict[tuple[Situation, str], Rows], bases: dict[str, str] | None = None):
        self._rows = rows
        self._bases = bases or {}

    def base(self, situation: Situation, remedy: str) -> Rows:
        """Returns the runs without a remedy that a remedy is compared with."""
        return self._rows.get((situation, self._bases.get(remedy, NOTHING)), {})

    def of(self, situation: Situation, remedy: str) -> Rows:
        """Returns the runs with a remedy, or those with nothing where it was refused or has not been run."""
        return self._rows.get((situation, remedy)) or self.base(situation, remedy)

    def was_run(self, situation: Situation, remedy: str) -> bool:
        """Returns true if this remedy itself was run."""
        return bool(self._rows.get((situation, remedy)))

    def over(self, cells: Sequence[Cell], remedy: str, change: Change) -> Statistics:
        """Returns the mean over cells of `change` from a run with nothing to one with the remedy."""
        return describe(np.array([*self._by_seed(cells, remedy, change).values()], dtype=np.float64))

    def apart(self, cells: Sequence[Cell], one: str, other: str) -> Statistics:
        """Returns how much more the second remedy gains than the first, seed by seed.

        If one is run where routes move at once and the other is run there too, both are taken from there.
        """
        names = (one, other)
        if any(self._bases.get(name) == NOTHING_ROUTED for name in names):
            names = (self._routed(one), self._routed(other))
        first, second = (self._by_seed(cells, remedy, gain) for remedy in names)
        common = [second[seed] - first[seed] for seed in first if seed in second]
        return describe(np.array(common, dtype=np.float64))

    def _routed(self, remedy: str) -> str:
        """Returns its counterpart where routes move at once, or itself if it has none."""
        return remedy + ROUTED if remedy + ROUTED in self._bases else remedy

    def _by_seed(self, cells: Sequence[Cell], remedy: str, change: Change) -> dict[int, float]:
        """Returns for each seed that all cells have the mean over them."""
        pairs = [(each, self.base(each.situation, remedy), self.of(each.situation, remedy)) for each in cells]
        seeds = _common(rows for _, *both in pairs for rows in both)
        return {
            seed: float(np.mean([change(cell, base[seed], other[seed]) for cell, base, other in pairs]))
            for seed in seeds
        }


def _common(keys: Iterable[Iterable[int]]) -> list[int]:
    sets = [set(each) for each in keys]
    return sorted(set.intersection(*sets)) if sets else []


def gain(cell: Cell, base: Row, other: Row) -> float:
    """Returns the bytes gained as a share of what the links carry until the next handover or the end."""
    carried = cell.of(base, "carried")
    return (cell.of(other, "bytes") - cell.of(base, "bytes")) / carried if carried else float("nan")


def change_of(key: str) -> Change:
    """Returns the change of a number of a handover."""
    return lambda cell, base, other: cell.of(other, key) - cell.of(base, key)


def relative_change_of(key: str) -> Change:
    """Returns the relative change of a number of a handover."""

    def change(cell: Cell, base: Row, other: Row) -> float:
        before = cell.of(base, key)
        return (cell.of(other, key) - before) / before if before else 0.0

    return change


def run_change_of(name: str) -> Change:
    """Returns the change of a number of the whole run."""
    return lambda _, base, other: value_of(other, name) - value_of(base, name)


def run_cost(_: Cell, base: Row, other: Row) -> float:
    """Returns the share by which a whole run delivers more or less."""
    before = value_of(base, "bytes")
    return (value_of(other, "bytes") - before) / before if before else 0.0


def is_above(found: Statistics) -> bool:
    """Returns true if the interval is above zero."""
    return found.low is not None and found.low > 0


def is_below(found: Statistics) -> bool:
    """Returns true if the interval is below zero."""
    return found.high is not None and found.high < 0
