"""Sensitivity of a study's verdicts to its chosen parameters: the study with each of their other values."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from baton import Scenario
from baton.live.trials import Figures
from baton.toml import loads

from .checks import Check, Reproduced, judge, load_expected

#: File of a study's folder with its chosen parameters.
PARAMETERS = "parameters.toml"
#: Seeds of a varied run: enough for a verdict that does not lie at its bound.
SEEDS = 8


@dataclass(frozen=True)
class Parameter:
    """Chosen parameter of a study: one value for all its checks."""

    name: str
    value: str | float
    others: Sequence[str | float]
    reason: str
    #: Keys that have the value, such as `links.wifi.queue`, by scenario.
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Constants of the study's code that have it, such as `study_s_run.DELTA`.
    constants: Sequence[str] = ()
    #: True if its values are combined with those of the study's other such parameters, too.
    together: bool = False


@dataclass(frozen=True)
class Variation:
    """Study's checks with another value of one parameter."""

    parameter: Parameter
    value: str | float
    checks: list[Check]

    def changed(self, chosen: Sequence[Check]) -> list[Check]:
        """Returns the checks whose verdict is not that at the chosen values."""
        verdicts = {check.id: check.verdict for check in chosen}
        return [check for check in self.checks if check.verdict != verdicts[check.id]]


@dataclass(frozen=True)
class Combination:
    """Values of the parameters of a study that are varied together, and a reading of its text."""

    values: Mapping[str, str | float]
    reading: str
    #: Two-sided checks that agree.
    agreeing: list[str]


def load_parameters(folder: Path) -> list[Parameter]:
    """Reads the chosen parameters of the study in a folder."""
    rows = loads((folder / PARAMETERS).read_text(encoding="utf-8"))["parameter"]
    return [Parameter(**row) for row in rows]


def vary(
    folder: Path, reproduce: Callable[..., Reproduced], progress: Callable[[str], None]
) -> tuple[list[Check], list[Variation]]:
    """Reproduces the study in a folder with its chosen parameters and with each of their other values, over as many
    seeds each; returns the checks of the first and all variations."""
    chosen = reproduce(folder, progress, SEEDS).checks
    variations = []
    for parameter in load_parameters(folder):
        for value in parameter.others:
            progress(f"{parameter.name} = {value}")
            with varied(folder, parameter, value) as other:
                variations.append(Variation(parameter, value, reproduce(other, lambda _: None, SEEDS).checks))
    return chosen, variations


def combine(
    folder: Path, readings: Callable[[Path], Mapping[str, Figures]], progress: Callable[[str], None]
) -> list[Combination]:
    """Judges the two-sided checks that `readings` measures, for all combinations of the values of the parameters that
    are varied together."""
    together = [parameter for parameter in load_parameters(folder) if parameter.together]
    rules = {check.id: check for check in load_expected(folder / "expected.toml")}
    found = []
    for values in product(*((parameter.value, *parameter.others) for parameter in together)):
        progress(", ".join(map(str, values)))
        with ExitStack() as stack:
            other = folder
            for parameter, value in zip(together, values, strict=True):
                other = stack.enter_context(varied(other, parameter, value))
            measured = readings(other)
        named = {parameter.name: value for parameter, value in zip(together, values, strict=True)}
        for reading, figures in measured.items():
            checks = [judge(rules[check], [value]) for check, value in figures.items() if value is not None]
            agreeing = [check.id for check in checks if check.two_sided and check.verdict == "agrees"]
            found.append(Combination(named, reading, agreeing))
    return found


def hanging(chosen: Sequence[Check], variations: Sequence[Variation]) -> dict[str, dict[str, str]]:
    """Returns the checks whose verdict changes with a value, each with those values and the verdicts there."""
    found: dict[str, dict[str, str]] = {}
    for variation in variations:
        for check in variation.changed(chosen):
            found.setdefault(check.id, {})[f"{variation.parameter.name} {variation.value}"] = check.verdict
    return {check.id: found[check.id] for check in chosen if check.id in found}


@contextmanager
def varied(folder: Path, parameter: Parameter, value: str | float) -> Iterator[Path]:
    """Yields a copy of a study's folder with another value of a parameter; its constants are changed meanwhile."""
    places = [name.rpartition(".") for name in parameter.constants]
    owners = [(importlib.import_module(f".{module}", __package__), name) for module, _, name in places]
    before = [getattr(owner, name) for owner, name in owners]
    with TemporaryDirectory() as temporary:
        copy = Path(temporary) / folder.name
        shutil.copytree(folder, copy)
        for scenario, keys in parameter.keys.items():
            overrides = [f"{key}={value}" for key in keys]
            text = Scenario.load(folder / f"{scenario}.toml", overrides=overrides).resolved
            (copy / f"{scenario}.toml").write_text(text, encoding="utf-8")
        try:
            for owner, name in owners:
                setattr(owner, name, value)
            yield copy
        finally:
            for (owner, name), old in zip(owners, before, strict=True):
                setattr(owner, name, old)
