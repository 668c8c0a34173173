"""Crossing of paths, stacks, and blocks of levels with all remedies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from baton.errors import InputError

from .facts import Remedy
from .paths import AccessPath, Table

LEAST_SEEDS = 2
"""Seeds that an interval needs."""
LEVELS = ("paths", "handovers", "stacks", "loss", "loads", "directions")
AXES = ("path", "handover", "stack", "loss", "load", "direction", "remedy")


@dataclass(frozen=True)
class Stack:
    """A stack that implements TCP."""

    name: str
    headline: bool
    set: Table


@dataclass(frozen=True)
class Block:
    """Levels that are crossed with each other and with all remedies."""

    name: str
    paths: list[str]
    handovers: list[str]
    stacks: list[str]
    loss: list[float]
    loads: list[str]
    directions: list[str]
    seeds: int


@dataclass(frozen=True)
class Situation:
    """Everything that is the same for all remedies."""

    path: str
    handover: str
    """Kind of handover, as `AccessPath.kinds` names it."""
    stack: str
    loss: float
    load: str
    direction: str
    """Direction of the data: "download" to the mobile, "upload" from it."""

    @property
    def asked(self) -> tuple[str, str, float]:
        """Common parts of the first situation of a study and all that are ranked, besides the stack."""
        return self.direction, self.load, self.loss


@dataclass
class RemedyStudy:
    """A study that compares remedies."""

    name: str
    title: str
    file: Path
    paths: dict[str, AccessPath]
    stacks: dict[str, Stack]
    blocks: list[Block]
    remedies: dict[str, Remedy]
    """All that are compared, `NOTHING` first."""
    most_runs: int | None
    unfit: dict[tuple[str, str, str], set[str]] = field(default_factory=dict)
    """Remedies that the engine refuses on a path with a stack in a direction, as far as is known: they are not run."""

    def situations(self) -> dict[Situation, int]:
        """Returns all situations, each with the number of its seeds: the largest of the blocks that have it."""
        found: dict[Situation, int] = {}
        for block in self.blocks:
            for path, handover, *rest in itertools.product(*(getattr(block, level) for level in LEVELS)):
                for kind in self.paths[path].kinds(handover):
                    situation = Situation(path, kind, *rest)
                    found[situation] = max(found.get(situation, 0), block.seeds)
        return found

    def crossed(self) -> Iterator[tuple[Situation, str]]:
        """Yields every situation with every remedy; our own where routes move at once only where remedies are
        ranked."""
        every, headline = self.situations(), self.headline
        first = next(iter(every), None)
        for situation in every:
            is_ranked = first is not None and situation.asked == first.asked and situation.stack in headline
            for name, remedy in self.remedies.items():
                if is_ranked or not (remedy.own and remedy.is_counterpart):
                    yield situation, name

    def count(self) -> int:
        """Returns the number of runs, without those that the engine is known to refuse."""
        seeds = self.situations()
        return sum(
            seeds[each]
            for each, remedy in self.crossed()
            if remedy not in self.unfit.get((each.path, each.stack, each.direction), ())
        )

    def fit(self) -> Iterator[str]:
        """Reduces the seeds until there are no more than `most_runs` runs, and says so: new remedies are no mistake."""
        asked = self.count()
        while self.most_runs is not None and self.count() > self.most_runs:
            largest = max(self.blocks, key=lambda block: block.seeds)
            if largest.seeds <= LEAST_SEEDS:
                raise InputError(
                    f"{self.file}: {self.count():,} runs, and most_runs is {self.most_runs:,}; shorten a block"
                )
            self.blocks[self.blocks.index(largest)] = Block(**vars(largest) | {"seeds": largest.seeds - 1})
        if self.count() < asked:
            yield f"{asked:,} runs would be above most_runs, {self.most_runs:,}: some blocks have fewer seeds"

    @property
    def headline(self) -> list[str]:
        """Names of the stacks by which remedies are ranked."""
        wanted = {name for block in self.blocks for name in block.stacks}
        of_headline = [name for name, stack in self.stacks.items() if stack.headline and name in wanted]
        return of_headline or [name for name in self.stacks if name in wanted]
