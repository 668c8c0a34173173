"""Who stands where: a row for each remedy, ranked by its mean gain over all handovers of the headline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from baton.sweep.statistics import Statistics

from .facts import NOTHING, NOTHING_ROUTED, Remedy
from .gains import (
    Cell,
    Runs,
    change_of,
    gain,
    is_above,
    is_below,
    relative_change_of,
    run_change_of,
    run_cost,
)
from .paths import STAYS
from .study import RemedyStudy, Situation


@dataclass(frozen=True)
class Cells:
    """The handovers that each question is answered by."""

    headline: list[Cell]
    """One passenger, no random loss, the headline's stacks."""
    still: list[Cell]
    """The same without a handover, for the cost."""
    shared: list[Cell]
    """With a second passenger who has no remedy."""
    crowd: list[Cell]
    """With 100 passengers."""
    losses: dict[float, list[Cell]]
    """With random losses of each probability, and none, at the same handovers."""
    stacks: dict[str, list[Cell]]
    """By stack, those that are not of the headline."""

    @staticmethod
    def of(study: RemedyStudy) -> Cells:
        """Sorts the situations of a study."""
        alone = [each for each in study.situations() if each.load == "1"]
        calm = [each for each in alone if not each.loss]
        headline = [each for each in calm if each.stack in study.headline]
        lossy = [each for each in alone if each.loss]
        twins = {_without_loss(each) for each in lossy}
        rates = sorted({each.loss for each in lossy})
        by_rate = {0.0: [each for each in calm if each in twins]} if rates else {}
        by_rate |= {rate: [each for each in lossy if each.loss == rate] for rate in rates}
        others = dict.fromkeys(each.stack for each in calm if each.stack not in study.headline)
        return Cells(
            _cells(study, headline),
            [Cell(each, 0) for each in headline if each.handover.startswith(STAYS)],
            _cells(study, (each for each in study.situations() if each.load == "1 of 2")),
            _cells(study, (each for each in study.situations() if each.load == "100")),
            {rate: _cells(study, each) for rate, each in by_rate.items()},
            {stack: _cells(study, (each for each in calm if each.stack == stack)) for stack in others},
        )


def _without_loss(situation: Situation) -> Situation:
    return Situation(**vars(situation) | {"loss": 0})


def _cells(study: RemedyStudy, situations: Iterable[Situation]) -> list[Cell]:
    moving = [each for each in situations if not each.handover.startswith(STAYS)]
    return [Cell(each, number) for each in moving for number in range(len(study.paths[each.path].ways))]


@dataclass(frozen=True)
class Standing:
    """A remedy in the table; all against installing nothing, and shares as fractions."""

    remedy: Remedy
    gain: Statistics
    """By which it is ranked."""
    by_stack: dict[str, Statistics]
    """Gains with each stack of the headline."""
    cells: list[Statistics]
    """Gains at each handover of the headline."""
    bytes: Statistics
    """Bytes gained at a handover."""
    stall_s: Statistics
    """Change of the longest stall."""
    spurious: Statistics
    """Change of spurious retransmissions at a handover."""
    cost: Statistics
    """Change of what is delivered when there is no handover."""
    others: Statistics
    """Change of what the second passenger gets, who has no remedy."""
    fairness: Statistics
    """Change of Jain's index."""
    crowd: dict[str, Statistics]
    """With 100 passengers: "gain", "page_load_s", "voice_gap_s"."""
    by_loss: dict[float, Statistics]
    by_other_stack: dict[str, Statistics]
    refused: list[str]
    """Why the engine refuses it, wherever it does."""
    never_run: bool
    """Whether it is refused at every handover of the headline."""

    @property
    def better(self) -> int:
        """Handovers at which its interval is above zero."""
        return sum(map(is_above, self.cells))

    @property
    def worse(self) -> int:
        """Handovers at which it is below."""
        return sum(map(is_below, self.cells))

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        told: dict[str, Any] = {"remedy": self.remedy.to_json()}
        for key, value in vars(self).items():
            if isinstance(value, Statistics):
                told[key] = value.to_json()
            elif isinstance(value, dict):
                told[key] = {str(name): each.to_json() for name, each in value.items()}
        return told | {"better": self.better, "worse": self.worse, "cells": len(self.cells), "refused": self.refused}


def standings(study: RemedyStudy, runs: Runs, refused: dict[str, list[str]]) -> list[Standing]:
    """All remedies, the one that gains most first; those that could not be run anywhere last."""
    cells = Cells.of(study)
    found = [
        standing(each, runs, cells, refused.get(each.name, []))
        for each in study.remedies.values()
        if each.name != NOTHING_ROUTED
    ]
    return sorted(found, key=lambda each: (each.never_run, -(each.gain.mean or 0.0)))


def standing(remedy: Remedy, runs: Runs, cells: Cells, refused: list[str]) -> Standing:
    """One remedy's row."""
    name = remedy.name

    def gains(some: Sequence[Cell]) -> Statistics:
        return runs.over(some, name, gain)

    stacks = dict.fromkeys(cell.situation.stack for cell in cells.headline)
    crowd = {"gain": gains(cells.crowd)}
    crowd["page_load_s"] = runs.over(cells.crowd[:1], name, run_change_of("page_load_s"))
    crowd["voice_gap_s"] = runs.over(cells.crowd, name, change_of("voice_gap_s"))
    return Standing(
        remedy=remedy,
        gain=gains(cells.headline),
        by_stack={stack: gains([cell for cell in cells.headline if cell.situation.stack == stack]) for stack in stacks},
        cells=[gains([cell]) for cell in cells.headline],
        bytes=runs.over(cells.headline, name, change_of("bytes")),
        stall_s=runs.over(cells.headline, name, change_of("stall_s")),
        spurious=runs.over(cells.headline, name, change_of("spurious")),
        cost=runs.over(cells.still, name, run_cost),
        others=runs.over(cells.shared, name, relative_change_of("other_bytes")),
        fairness=runs.over(cells.shared, name, change_of("fair")),
        crowd=crowd,
        by_loss={rate: gains(some) for rate, some in cells.losses.items()},
        by_other_stack={stack: gains(some) for stack, some in cells.stacks.items()},
        refused=refused,
        never_run=remedy.name != NOTHING
        and not any(runs.was_run(cell.situation, remedy.name) for cell in cells.headline),
    )
