"""Restriction of a study to what the command line asks for."""

from __future__ import annotations

from collections.abc import Sequence

from baton.errors import InputError, nearest
from baton.sweep.study import split_values

from .facts import CLASS, NOTHING, of_class
from .reading import refuse_unknown
from .study import AXES, LEVELS, Block, RemedyStudy


def narrowed(study: RemedyStudy, overrides: Sequence[str], seeds: int | None) -> RemedyStudy:
    """Returns the study with fewer levels, by `--set AXIS=A,B`, and with other numbers of seeds. Raises
    `InputError`."""
    for override in overrides:
        axis, equals, text = override.partition("=")
        if axis not in AXES or not equals:
            raise InputError(f"--set {override}: a study of remedies has no such axis; {nearest(axis, AXES)}")
        _narrow(study, axis, split_values(text))
    if seeds is not None:
        study.blocks = [Block(**vars(block) | {"seeds": seeds}) for block in study.blocks]
    study.blocks = [block for block in study.blocks if all(getattr(block, level) for level in LEVELS)]
    if not study.blocks:
        raise InputError("no block has all of that; see the study file for what is crossed with what")
    return study


def _narrow(study: RemedyStudy, axis: str, wanted: Sequence[str]) -> None:
    if axis == "remedy":
        directory = next(iter(study.paths.values())).file.parent
        study.remedies |= {name: of_class(name, directory) for name in wanted if name.startswith(CLASS)}
        refuse_unknown("--set remedy", wanted, study.remedies)
        kept = {*wanted, *(study.remedies[name].base for name in wanted), NOTHING}
        kept |= {each.name for each in study.remedies.values() if each.of_flow in wanted and each.base in kept}
        study.remedies = {name: each for name, each in study.remedies.items() if name in kept}
        return
    level = dict(zip(AXES, LEVELS, strict=False))[axis]
    there = {str(value) for block in study.blocks for value in getattr(block, level)}
    numbers = {str(float(value)): value for value in there} if axis == "loss" else {}
    chosen = [numbers.get(str(float(value)), value) if axis == "loss" else value for value in wanted]
    refuse_unknown(f"--set {axis}", chosen, there)
    study.blocks = [
        Block(**vars(block) | {level: [value for value in getattr(block, level) if str(value) in chosen]})
        for block in study.blocks
    ]
