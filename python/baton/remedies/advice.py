"""Advice for an operator who controls one place only: a sentence for each place, derived by a rule from the numbers.

Of the remedies that need that place alone, the one with the largest mean gain over the headline's handovers is chosen
if its 95 % interval lies above zero; else none. Remedies whose paired difference from it has an interval that includes
zero are named with it: they cannot be told apart. If no such remedy was run, or with fewer than five seeds, nothing is
advised: a remedy without evidence may still be good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from baton.sweep.statistics import Statistics

from .facts import NOTHING, PLACES, Remedy, in_place
from .gains import Cell, Runs, is_above, is_below
from .ranking import Standing
from .words import interval, percent

LEAST_SEEDS = 5
"""Seeds below which an interval says too little to install something by. Chosen."""


@dataclass(frozen=True)
class Advice:
    """Advice for one place."""

    place: str
    best: Standing | None
    """None if nothing is better than installing nothing, or nothing is known."""
    ties: list[Standing]
    """Remedies that gain as much, as far as the runs tell."""
    unknown: str = ""
    """Reason why nothing can be advised, if so."""

    @property
    def sentence(self) -> str:
        """The advice in a sentence."""
        if self.unknown:
            return f"The choice for an operator who controls only {PLACES[self.place]} is not known: {self.unknown}."
        who = f"An operator who controls only {PLACES[self.place]} should"
        if self.best is None:
            return (
                f"{who} install nothing: no remedy that needs {PLACES[self.place]} alone is better than that at 95 %."
            )
        best = self.best
        told = (
            f"{who} install {_named(best.remedy)}: over the {len(best.cells)} handovers it gains"
            f" {percent(best.gain.mean)} ({interval(best.gain)}) of what the links carry, is better than nothing at"
            f" {best.better} of them and worse at {best.worse}"
        )
        if best.cost.mean is not None:
            told += f", and changes what is delivered without a handover by {percent(best.cost.mean)}"
        ties = ", ".join(_named(each.remedy) for each in self.ties)
        return told + (f"; {ties} cannot be told from it at 95 %." if ties else ".")

    def to_json(self) -> dict[str, Any]:
        """Returns the object that `--json` prints."""
        return {
            "place": self.place,
            "remedy": self.best.remedy.name if self.best else None if self.unknown else NOTHING,
            "ties": [each.remedy.name for each in self.ties],
            "sentence": self.sentence,
        }


def _named(remedy: Remedy) -> str:
    """Returns the name in a sentence, with the world in which it was measured if that was another one."""
    return remedy.name + (" (where there is no Mobile IP)" if remedy.is_routed else "")


def advise(found: Sequence[Standing], runs: Runs, cells: Sequence[Cell], *, complete: bool = True) -> list[Advice]:
    """Returns advice for each place; `complete` says that all runs have ended."""
    return [_advise(place, found, runs, cells, complete) for place in PLACES]


def _advise(place: str, found: Sequence[Standing], runs: Runs, cells: Sequence[Cell], complete: bool) -> Advice:
    names = {each.name for each in in_place([standing.remedy for standing in found], place)}
    here = [each for each in found if each.remedy.name in names]
    seeds = min((each.gain.values for each in here if not each.never_run), default=LEAST_SEEDS)
    if complete and seeds < LEAST_SEEDS:
        few = f"{seeds} seed{' tells' if seeds == 1 else 's tell'} too little"
        return Advice(place, None, [], f"{few}; --seeds {LEAST_SEEDS} or more make an advice")
    candidates = [each for each in here if not each.never_run and is_above(each.gain)]
    best = max(candidates, key=lambda each: each.gain.mean or 0.0, default=None)
    if best is None:
        return Advice(place, None, [], _unknown(place, here, complete))
    apart = {each.remedy.name: runs.apart(cells, each.remedy.name, best.remedy.name) for each in candidates}
    ties = [each for each in candidates if each is not best and not is_above(apart[each.remedy.name])]
    return Advice(place, best, ties)


def _unknown(place: str, here: Sequence[Standing], complete: bool) -> str:
    """Returns why it is unknown that none of these is better than nothing; nothing if it is known."""
    if here and not complete:
        return "the comparison was interrupted; --resume goes on with it"
    if all(each.never_run for each in here):
        return f"no remedy that needs {PLACES[place]} alone was run"
    return ""


@dataclass(frozen=True)
class Distance:
    """Distance of one of our own remedies from a published one: positive is better."""

    own: Standing
    published: Standing
    where: str
    """Place where that one is the best."""
    apart: Statistics
    better: int
    worse: int
    """Handovers at which the interval of the paired difference is above or below zero."""

    @property
    def sentence(self) -> str:
        """The distance in words."""
        told = (
            f"{self.own.remedy.name} (our own, {self.own.remedy.where}) against {_named(self.published.remedy)},"
            f" the best published {self.where}: {percent(self.apart.mean)} ({interval(self.apart)})"
        )
        if self.apart.low is None:
            return f"{told}."
        return f"{told}; better at {self.better} of {len(self.own.cells)} handovers, worse at {self.worse}."


def distances(found: Sequence[Standing], runs: Runs, cells: Sequence[Cell]) -> list[Distance]:
    """Returns the distance of each of our own to the best published one in the same place, and to the best published
    one anywhere."""
    published = [each for each in found if not each.remedy.own and each.remedy.name != NOTHING and not each.never_run]
    told = []
    for own in (each for each in found if each.remedy.own and not each.never_run):
        same = [each for each in published if each.remedy.installed == own.remedy.installed]
        for some, where in ((same, f"for {own.remedy.where} alone"), (published, "anywhere")):
            best = max(some, key=lambda each: each.gain.mean or 0.0, default=None)
            if best is not None:
                told.append(_distance(own, best, where, runs, cells))
    return told


def _distance(own: Standing, best: Standing, where: str, runs: Runs, cells: Sequence[Cell]) -> Distance:
    pair = (best.remedy.name, own.remedy.name)
    each = [runs.apart([cell], *pair) for cell in cells]
    return Distance(own, best, where, runs.apart(cells, *pair), sum(map(is_above, each)), sum(map(is_below, each)))
