"""From a situation and a remedy to a scenario that can be run."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from baton import Scenario, ScenarioError
from baton.summary import Json
from baton.sweep.study import toml_text

from .facts import NOTHING
from .loads import flows
from .study import RemedyStudy, Situation


@dataclass(frozen=True)
class CrossPoint:
    """A situation with a remedy."""

    situation: Situation
    remedy: str
    file: str
    """The path's scenario file."""
    overrides: list[str]
    """What is set in it, as `baton run --set` takes it."""

    @property
    def command(self) -> str:
        """One run of it, with its report."""
        sets = [word for override in self.overrides for word in ("--set", override)]
        return shlex.join(["baton", "run", self.file, "--seed", "1", *sets])

    @property
    def values(self) -> dict[str, str]:
        """The value on each axis."""
        return {key: str(value) for key, value in vars(self.situation).items()} | {"remedy": self.remedy}


def points(study: RemedyStudy) -> list[CrossPoint]:
    """Every situation with every remedy."""
    return [point_of(study, situation, remedy) for situation in study.situations() for remedy in study.remedies]


def point_of(study: RemedyStudy, situation: Situation, remedy: str) -> CrossPoint:
    """A situation with a remedy as changes to its path's scenario."""
    path, stack = study.paths[situation.path], study.stacks[situation.stack]
    network = study.remedies[remedy].network
    also = {} if network is None else network.handovers
    mobile = path.about | {"timetable": path.timetable_of(situation.handover, also)}
    if network is not None:
        mobile.pop("mobility", None)
    of_flow = remedy if network is None else NOTHING
    overrides = [
        f"mobiles.{path.mobile}={toml_text(mobile)}",
        f"flows={toml_text(flows(path, situation.load, stack.set, of_flow))}",
    ]
    for key, value in ({} if network is None else network.links).items():
        overrides += [f"links.{link}.{key}={toml_text(value)}" for link in path.links]
    if situation.loss:
        overrides += [f"links.{link}.packet_error_rate={situation.loss}" for link in path.links]
    return CrossPoint(situation, remedy, str(path.file), overrides)


def load(point: CrossPoint) -> tuple[Scenario | None, str | None]:
    """The scenario of a point, or the reason why the engine refuses it."""
    try:
        return Scenario.load(point.file, point.overrides), None
    except ScenarioError as error:
        return None, str(error).rpartition(": ")[2] if "\n" not in str(error) else str(error)


def entry(point: CrossPoint, texts: Mapping[str, str]) -> Json:
    """What `sweep.json` says of a point. There are many: of what is run only a hash is kept; `texts` are the files'."""
    told = "\n".join([texts[point.file], *point.overrides])
    resolved = f"# SHA-256 of the file and what is set in it: {hashlib.sha256(told.encode()).hexdigest()}\n"
    return {"values": point.values, "overrides": [], "resolved": resolved, "traces": {}, "reason": None}
