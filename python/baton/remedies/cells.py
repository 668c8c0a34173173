"""Cells of the comparison: handovers that answer the headline's question, for the rank, and others beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .gains import Cell
from .loads import DOWNLOAD, UPLOAD
from .paths import STAYS
from .study import RemedyStudy, Situation


@dataclass(frozen=True)
class Cells:
    """Handovers that answer each question."""

    headline: list[Cell]
    """One download, no random loss, the headline's stacks, if the study has that."""
    still: list[Cell]
    """The same without a handover, for the cost."""
    shared: list[Cell]
    """Handovers with a second passenger who has no remedy."""
    crowd: list[Cell]
    """Handovers with 100 passengers, no random loss and the headline's stacks."""
    crowds: dict[str, list[Cell]]
    """Handovers with 100 passengers: by path, then by probability of a loss, then by stack."""
    losses: dict[str, list[Cell]]
    """Handovers by packet error rate: with random losses of each probability, and none, at the same handovers."""
    stacks: dict[str, list[Cell]]
    """Handovers with stacks that are not of the headline, by stack."""
    uploads: dict[str, list[Cell]]
    """Cells in which the mobile sends, by path."""
    repeating: dict[str, list[Cell]]
    """Handovers over a link with retransmission, if other paths have no such link, by stack."""
    repeating_still: dict[str, list[Cell]]
    """The same without a handover, for a whole run."""
    whole: dict[str, list[Cell]]
    """All handovers of a study that crosses everything with everything, and those of each level, as `loss=0.01`;
    empty for a study of several blocks, whose means over a level would differ in more than the level."""

    @staticmethod
    def of(study: RemedyStudy) -> Cells:
        """Sorts the situations of a study. The first situation has the headline's direction, load and loss."""
        every = [*study.situations()]
        paths = {each.path for each in every}
        repeats = {path for path in paths if study.paths[path].repeating}
        apart = repeats if repeats != paths else set()
        usual = [each for each in every if each.path not in apart]
        first = usual[0]
        downloads = [each for each in usual if each.direction == DOWNLOAD]
        alone = [each for each in downloads if each.load == "1"]
        headline = [each for each in usual if each.asked == first.asked and each.stack in study.headline]
        crowd = [each for each in downloads if each.load == "100"]
        main_crowd = [each for each in _calm(crowd) if each.stack in study.headline]
        uploads = [each for each in _calm(usual) if each.direction == UPLOAD and each.load == "1"]
        special = [each for each in _calm(every) if each.path in apart and each.load == "1"]
        repeating = [each for each in special if each.direction == DOWNLOAD]
        return Cells(
            headline=_cells(study, headline),
            still=_still(headline),
            shared=_cells(study, (each for each in downloads if each.load == "1 of 2")),
            crowd=_cells(study, main_crowd),
            crowds=_grouped(study, main_crowd, "path") | _by_loss(study, crowd) | _others(study, crowd),
            losses=_by_loss(study, alone),
            stacks=_others(study, alone),
            uploads=_grouped(study, uploads, "path"),
            repeating=_grouped(study, repeating, "stack"),
            repeating_still=_repeating_still(study, repeating),
            whole=_by_level(study, usual) if len(study.blocks) == 1 else {},
        )


def _calm(situations: Iterable[Situation]) -> list[Situation]:
    return [each for each in situations if not each.loss]


def _by_loss(study: RemedyStudy, alone: Sequence[Situation]) -> dict[str, list[Cell]]:
    """Returns handovers with losses and, for comparison, the same without."""
    lossy = [each for each in alone if each.loss]
    twins = {Situation(**vars(each) | {"loss": 0}) for each in lossy}
    compared = [*(each for each in alone if each in twins), *lossy]
    rates = sorted({each.loss for each in compared})
    return {f"PER {rate:g}": _cells(study, (each for each in compared if each.loss == rate)) for rate in rates}


def _others(study: RemedyStudy, situations: Sequence[Situation]) -> dict[str, list[Cell]]:
    """Returns the cells of stacks that are not of the headline, by stack."""
    return _grouped(study, (each for each in _calm(situations) if each.stack not in study.headline), "stack")


def _grouped(study: RemedyStudy, situations: Iterable[Situation], axis: str) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in _cells(study, situations):
        found.setdefault(str(getattr(cell.situation, axis)), []).append(cell)
    return found


def _by_level(study: RemedyStudy, situations: Sequence[Situation]) -> dict[str, list[Cell]]:
    """Returns all handovers, and those of each level of the axes that have several."""
    every = _cells(study, situations)
    found = {"all": every}
    for axis in vars(every[0].situation) if every else ():
        levels = dict.fromkeys(getattr(cell.situation, axis) for cell in every)
        for level in levels if len(levels) > 1 else ():
            found[f"{axis}={level}"] = [cell for cell in every if getattr(cell.situation, axis) == level]
    return found


def _repeating_still(study: RemedyStudy, situations: Iterable[Situation]) -> dict[str, list[Cell]]:
    """Returns the cells in which a mobile stays on a link that repeats, by stack."""
    found: dict[str, list[Cell]] = {}
    for cell in _still(situations):
        if cell.situation.handover.removeprefix(STAYS) in study.paths[cell.situation.path].repeating:
            found.setdefault(cell.situation.stack, []).append(cell)
    return found


def _still(situations: Iterable[Situation]) -> list[Cell]:
    return [Cell(each, 0) for each in situations if each.handover.startswith(STAYS)]


def _cells(study: RemedyStudy, situations: Iterable[Situation]) -> list[Cell]:
    moving = [each for each in situations if not each.handover.startswith(STAYS)]
    return [Cell(each, number) for each in moving for number in range(len(study.paths[each.path].ways))]
