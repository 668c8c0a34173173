"""From a situation and a remedy to a scenario that can be run."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from baton import Scenario, ScenarioError
from baton.summary import Json
from baton.sweep.study import toml_text

from .facts import NOTHING
from .loads import flows
from .paths import AccessPath
from .regulators import REGULATORS, regulators
from .study import RemedyStudy, Situation


@dataclass(frozen=True)
class CrossPoint:
    """A situation with a remedy."""

    study: RemedyStudy
    situation: Situation
    remedy: str

    @property
    def path(self) -> AccessPath:
        """The path, whose scenario is varied."""
        return self.study.paths[self.situation.path]

    @property
    def overrides(self) -> list[str]:
        """Settings of the path's scenario, as `baton run --set` takes them. Not kept: there are many points."""
        situation, path = self.situation, self.path
        remedy = self.study.remedies[self.remedy]
        network = remedy.network
        also = {} if network is None else network.handovers
        mobile = path.about | {"timetable": path.timetable_of(situation.handover, also)}
        if network is not None and network.routed:
            mobile.pop("mobility", None)
        of_flow = remedy.of_flow or (remedy.name if network is None else NOTHING)
        stack = self.study.stacks[situation.stack].set
        all_flows = flows(path, situation, stack, of_flow)
        overrides = [f"mobiles.{path.mobile}={toml_text(mobile)}", f"flows={toml_text(all_flows)}"]
        for key, value in ({} if network is None else network.links).items():
            for link in path.links:
                of_link = regulators(path, link, value, all_flows) if key in REGULATORS else value
                overrides.append(f"links.{link}.{key}={toml_text(of_link)}")
        if situation.loss:
            overrides += [f"links.{link}.packet_error_rate={situation.loss}" for link in path.links]
        return overrides

    @property
    def command(self) -> str:
        """Command for one run of it, with its report."""
        sets = [word for override in self.overrides for word in ("--set", override)]
        return shlex.join(["baton", "run", str(self.path.file), "--seed", "1", *sets])

    @property
    def values(self) -> dict[str, str]:
        """Value on each axis."""
        return {key: str(value) for key, value in vars(self.situation).items()} | {"remedy": self.remedy}


def points(study: RemedyStudy) -> list[CrossPoint]:
    """Returns every situation with every remedy."""
    return [CrossPoint(study, situation, remedy) for situation, remedy in study.crossed()]


def load(point: CrossPoint) -> tuple[Scenario | None, str | None]:
    """Returns the scenario of a point, or the reason why the engine refuses it."""
    try:
        return Scenario.load(point.path.file, point.overrides), None
    except ScenarioError as error:
        # Of several flows the same is said of each, in a line of its own.
        first = str(error).splitlines()[0]
        return None, first.rpartition(": ")[2]


def entries(crossed: Sequence[CrossPoint]) -> Iterator[Json]:
    """Returns the entries of `sweep.json`, one for each point. Since there are many, they keep only a hash of the
    files."""
    for point in crossed:
        told = f"# SHA-256 of study and path: {_hash(point.study.file, point.path.file)}\n"
        yield {"values": point.values, "overrides": [], "resolved": told, "traces": {}, "reason": None}


@cache
def _hash(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
