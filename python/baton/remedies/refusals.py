"""Refusals of the engine: remedies that cannot act on a path, with a stack, or in a direction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .cross import CrossPoint, load
from .loads import UPLOAD
from .study import RemedyStudy


@dataclass(frozen=True)
class Refusal:
    """A remedy that the engine refuses somewhere."""

    remedy: str
    where: str
    """Uploads, paths, or everywhere, in words."""
    reason: str


def sentences(refused: Iterable[Refusal]) -> list[str]:
    """Returns sentences as a page lists them: refusals with the same words share one."""
    names: dict[tuple[str, str], list[str]] = {}
    for each in refused:
        said = each.reason.removeprefix(f'"{each.remedy}" ')
        names.setdefault((each.where, said), []).append(each.remedy)
    return [f"{', '.join(some)} ({where}): {said}" for (where, said), some in names.items()]


def find_unfit(study: RemedyStudy) -> None:
    """Notes the remedies that the engine refuses on a path with a stack in a direction, by one situation of each."""
    for place, situation in {(each.path, each.stack, each.direction): each for each in study.situations()}.items():
        crossed = [CrossPoint(study, situation, remedy) for remedy in study.remedies]
        study.unfit[place] = {point.remedy for point in crossed if load(point)[1] is not None}


def refusals(study: RemedyStudy, refused: Iterable[tuple[CrossPoint, str]]) -> list[Refusal]:
    """Returns the refusals of the refused points: each remedy and reason once."""
    places: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for point, reason in refused:
        places.setdefault((point.remedy, reason), set()).add((point.situation.path, point.situation.direction))
    every = {(each.path, each.direction) for each in study.situations()}
    return [Refusal(remedy, _where(found, every), reason) for (remedy, reason), found in places.items()]


def _where(found: set[tuple[str, str]], every: set[tuple[str, str]]) -> str:
    if found == every:
        return "everywhere"
    if all(direction == UPLOAD for _, direction in found):
        return "uploads"
    return ", ".join(sorted({path for path, _ in found}))
