"""Ranking: a row for each remedy, by its mean gain over all handovers of the headline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from baton.sweep.statistics import Statistics

from .cells import Cells
from .facts import NOTHING, Remedy
from .gains import (
    Cell,
    Change,
    Runs,
    change_of,
    gain,
    is_above,
    is_below,
    relative_change_of,
    run_change_of,
    run_cost,
)
from .refusals import Refusal
from .study import RemedyStudy


@dataclass(frozen=True)
class Standing:
    """A remedy in the table; all values against installing nothing, and shares as fractions."""

    remedy: Remedy
    gain: Statistics
    """Gain by which it is ranked."""
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
    """Change of the delivered bytes without a handover."""
    others: Statistics
    """Change for the second passenger, who has no remedy."""
    fairness: Statistics
    """Change of Jain's index."""
    crowd: dict[str, Statistics]
    """Changes with 100 passengers: "gain", "page_load_s", "pages_unfinished", "voice_gap_s"."""
    by_loss: dict[str, Statistics]
    by_other_stack: dict[str, Statistics]
    by_crowd: dict[str, Statistics]
    """Gains with 100 passengers."""
    by_upload: dict[str, Statistics]
    """Gains where the mobile sends; nothing if the engine refuses it there."""
    by_repeating: dict[str, Statistics]
    """Gains at handovers over a link with retransmission, by stack; nothing if the engine refuses it there."""
    by_repeating_still: dict[str, Statistics]
    """Change of the delivered bytes on such a path without a handover."""
    whole: dict[str, Statistics]
    """Gains over the whole cross by level, where it was run."""
    refused: list[str]
    """Reasons for which the engine refuses it, wherever it does."""
    never_run: bool
    """True if it is refused at every handover of the headline."""

    @property
    def better(self) -> int:
        """Handovers at which its interval is above zero."""
        return sum(map(is_above, self.cells))

    @property
    def worse(self) -> int:
        """Handovers at which it is below."""
        return sum(map(is_below, self.cells))

    def to_json(self) -> dict[str, Any]:
        """Returns the object that `--json` prints."""
        told: dict[str, Any] = {"remedy": self.remedy.to_json()}
        for key, value in vars(self).items():
            if isinstance(value, Statistics):
                told[key] = value.to_json()
            elif isinstance(value, dict):
                told[key] = {str(name): each.to_json() for name, each in value.items()}
        return told | {"better": self.better, "worse": self.worse, "cells": len(self.cells), "refused": self.refused}


def standings(study: RemedyStudy, runs: Runs, refused: Sequence[Refusal]) -> list[Standing]:
    """Returns all remedies, the one that gains most first, those that could not be run anywhere last."""
    cells = Cells.of(study)
    found = [
        standing(each, runs, cells, [other.reason for other in refused if other.remedy == each.name])
        for each in study.remedies.values()
        if not each.is_counterpart
    ]
    return sorted(found, key=lambda each: (each.never_run, -(each.gain.mean or 0.0)))


def standing(remedy: Remedy, runs: Runs, cells: Cells, refused: list[str]) -> Standing:
    """Returns the row of one remedy."""
    name = remedy.name

    def gains(some: Sequence[Cell]) -> Statistics:
        return runs.over(some, name, gain)

    def accepted(some: Sequence[Cell]) -> list[Cell]:
        return [cell for cell in some if runs.was_run(cell.situation, name)]

    def each_of(groups: dict[str, list[Cell]], change: Change) -> dict[str, Statistics]:
        """Returns statistics by group; none if it was not run in any."""
        was_run = any(runs.was_run(cell.situation, name) for some in groups.values() for cell in some)
        return {key: runs.over(some, name, change) for key, some in groups.items()} if was_run else {}

    stacks = dict.fromkeys(cell.situation.stack for cell in cells.headline)
    crowd = {"gain": gains(cells.crowd)}
    whole_runs = [cell for cell in cells.crowd if not cell.number]
    for key in ("page_load_s", "pages_unfinished"):
        crowd[key] = runs.over(whole_runs, name, run_change_of(key))
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
        by_loss=each_of(cells.losses, gain),
        by_other_stack=each_of(cells.stacks, gain),
        by_crowd=each_of(cells.crowds, gain),
        by_upload=each_of(cells.uploads, gain),
        by_repeating=each_of(cells.repeating, gain),
        by_repeating_still=each_of(cells.repeating_still, run_cost),
        whole=each_of({level: accepted(some) for level, some in cells.whole.items()}, gain),
        refused=refused,
        never_run=remedy.name != NOTHING
        and not any(runs.was_run(cell.situation, remedy.name) for cell in cells.headline),
    )
