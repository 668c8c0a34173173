"""The published studies: each number beside Baton's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from baton.errors import InputError, nearest

from .checks import Expected, Reproduced, load_expected

if TYPE_CHECKING:
    from baton.sweep.engines import Engine

#: Scenario files, expected numbers and notes, a folder a study.
STUDIES = Path(__file__).parent.parent / "studies"
#: Studies by id, with what each is about.
TITLES = {
    "A": "AeroTP: a transport for airborne telemetry over links with bit errors, beside TCP and UDP",
    "C": "A cross-layer scheme for hard handovers between satellite and WiFi",
    "D": "Network mobility over L-DACS1: handovers of aircraft, and buffering by the home agent",
    "S": "Satellite and WiFi for high-speed trains: congestion controls and remedies at a tunnel",
    "T": "TCP across sudden link changes: WaveLAN and GSM with Mobile IPv4 on a testbed",
}

Progress = Callable[[str], None]


def select(ids: Sequence[str]) -> dict[str, list[Expected]]:
    """Selects the published numbers that ``ids`` name, by study: a study (``T``), a group of checks (``T2``) or one
    (``T2.h``).

    Without ids, all studies. Raises `InputError` for an id that does not exist.
    """
    wanted = list(ids) or list(TITLES)
    chosen: dict[str, list[Expected]] = {}
    for study in dict.fromkeys(name[:1] for name in wanted):
        if study not in TITLES:
            raise InputError(f"`{study}`: no such study; {nearest(study, TITLES)}")
        known = load_expected(STUDIES / study / "expected.toml")
        chosen[study] = [each for each in known if any(_names(name, each.id) for name in wanted)]
        for name in wanted:
            if name[:1] == study and not any(_names(name, each.id) for each in known):
                raise InputError(f"`{name}`: no such check; {nearest(name, [each.id for each in known])}")
    return chosen


def reproduce(
    ids: Sequence[str], progress: Progress = lambda _: None, engine: Engine | None = None
) -> dict[str, Reproduced]:
    """Makes the simulated checks that ``ids`` name, by study, and the figures of those studies; without an engine on
    all cores.

    Raises `InputError` for an id that does not exist.
    """
    results: dict[str, Reproduced] = {}
    for study, expected in select(ids).items():
        wanted = {each.id for each in expected}
        found = study_module(study).reproduce(STUDIES / study, progress, engine=engine)
        results[study] = Reproduced([check for check in found.checks if check.id in wanted], found.figures)
    return results


def study_module(study: str) -> ModuleType:
    """Returns the module of a study; only a study that runs loads its libraries."""
    return import_module(f".study_{study.lower()}", __name__)


def _names(name: str, check: str) -> bool:
    """Returns true if an id names a check: itself, its group or its study."""
    return name in (check, check.partition(".")[0], check[:1])
