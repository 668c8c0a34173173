"""Study T with the kernel's own TCP: T2 to T6 live, beside the study's stack and a present one simulated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from baton.errors import InputError
from baton.live import trials
from baton.live.trials import Figures, Kept, Report, Trial

from .checks import Expected
from .study_run import figures
from .study_t import WINDOWS, window, windows

#: Version of what is told of a live reproduction.
FORMAT = 1
#: Runs of each scenario, of each stack; the seed is the number of the run, on all sides.
REPETITIONS = 5
#: The simulated stacks: the study's, and the one that behaves as a present kernel.
STACKS = ("linux-2.0.36", "linux-6")
#: Trials of which the first live run is kept whole, with its report.
WHOLE = ("download", "download-back")

_WINDOWS = {f"window-{name}": name for name in WINDOWS}
#: The live runs that each group of checks needs.
_NEEDS = {
    "T2": ("download",),
    "T3": ("download",),
    "T4": ("download", *_WINDOWS),
    "T5": ("download-back",),
    "T6": ("download-back",),
}
#: Reasons why the other groups are not run live.
_ONLY_SIMULATED = {
    "T1": "arithmetic, for which nothing is run",
    "T7": "remedies, which are compared in the simulator",
    "T8": "variants, which the study names and did not measure",
    "T9": "an upload, for which the study's authors suspect their testbed",
}
#: Reasons why a kernel has no figure for a check.
_NOT_TOLD = {
    "T2.g": "the kernel counts fast retransmits of all its connections together, and tells none of one",
    "T6.e": "the kernel does not tell its samples of the round-trip time",
}


@dataclass(frozen=True)
class Row:
    """A published number beside the medians of the runs of each stack."""

    expected: Expected
    simulated: dict[str, float | None]
    """By profile."""
    kernel: float | None
    low: float | None
    """Least and greatest of the kernel's runs."""
    high: float | None
    why_not: str
    """Reason why there is no figure of the kernel; empty if there is one."""

    def as_json(self) -> dict[str, Any]:
        """As in the output of `--json`."""
        return {
            "id": self.expected.id,
            "quantity": self.expected.quantity,
            "unit": self.expected.unit,
            "published": self.expected.published,
            "source": self.expected.source,
            "simulated": self.simulated,
            "kernel": self.kernel,
            "kernel_low": self.low,
            "kernel_high": self.high,
            "not_measured": self.why_not or None,
        }


@dataclass(frozen=True)
class Found:
    """Findings of a live reproduction."""

    rows: list[Row]
    not_run: dict[str, str]
    """Groups of checks that are not run live, and why."""
    not_compared: list[str]
    """Live runs that were late or disturbed each time, and why."""
    kernels: list[str]
    sysctls: dict[str, Any]
    whole: list[str]
    """Folders of live runs that are there as wholes."""

    def as_json(self) -> dict[str, Any]:
        """As in the output of `--json`."""
        return {
            "format": FORMAT,
            "date": datetime.now(timezone.utc).date().isoformat(),
            "kernels": self.kernels,
            "sysctls": self.sysctls,
            "repetitions": REPETITIONS,
            "rows": [row.as_json() for row in self.rows],
            "not_run": self.not_run,
            "not_compared": self.not_compared,
        }


def reproduce(folder: Path, expected: Sequence[Expected], out: Path, report: Report) -> Found:
    """Runs what `expected` needs of the study in `folder`: simulated, and live what is not in `out` yet.

    Raises `InputError` if nothing of it can be run live, `RunError` if a run fails.
    """
    groups = dict.fromkeys(_group(each) for each in expected)
    not_run = {group: _ONLY_SIMULATED[group] for group in groups if group not in _NEEDS}
    names = dict.fromkeys(name for group in groups for name in _NEEDS.get(group, ()))
    if not names:
        reasons = "; ".join(f"{group}: {reason}" for group, reason in not_run.items())
        raise InputError(f"{', '.join(not_run)}: not run live ({reasons}); expected some of {', '.join(_NEEDS)}")
    chosen = [_trial(folder, name) for name in names]
    simulated = {stack: _simulated(chosen, stack) for stack in STACKS}
    plan = trials.Plan(out, REPETITIONS, figures, WHOLE)
    kept = trials.run(chosen, plan, report)
    live = _by_repetition(chosen, kept)
    all_kept = [each for of_trial in kept for each in of_trial]
    return Found(
        [_row(each, simulated, live) for each in expected if _group(each) in _NEEDS],
        not_run,
        [line for trial, of_trial in zip(chosen, kept, strict=True) for line in trials.not_compared(trial, of_trial)],
        sorted({each.kernel for each in all_kept}),
        all_kept[0].sysctls,
        [f"{name}/run-1" for name in names if (out / name / "run-1" / "manifest.json").is_file()],
    )


def _group(expected: Expected) -> str:
    return expected.id.partition(".")[0]


def _trial(folder: Path, name: str) -> Trial:
    """One of the study's scenarios with the stack of a present kernel."""
    file = folder / f"{name if name in WHOLE else 'download'}.toml"
    limits = window(_WINDOWS[name]) if name in _WINDOWS else []
    return Trial(name, file, (*limits, f"flows.download.profile={STACKS[1]}"))


def _simulated(chosen: Sequence[Trial], stack: str) -> list[Figures]:
    """The checks of simulated runs, one set for each seed."""
    from baton import Scenario
    from baton.report.tables import run_of

    def run(trial: Trial, seed: int) -> Figures:
        overrides = [*trial.overrides, f"flows.download.profile={stack}"]
        return figures(run_of(Scenario.load(trial.file, overrides).run(seed=seed)))

    return [checks({trial.name: run(trial, seed) for trial in chosen}) for seed in range(1, REPETITIONS + 1)]


def _by_repetition(chosen: Sequence[Trial], kept: Sequence[Sequence[Kept]]) -> list[Figures]:
    """The checks of live runs, one set for each repetition."""
    return [
        checks({trial.name: each.figures or {} for trial, each in zip(chosen, of_all, strict=True)})
        for of_all in zip(*kept, strict=True)
    ]


def checks(of_trials: Mapping[str, Figures]) -> Figures:
    """Returns the figures of T2 to T6 from trials, by id."""
    found = {**of_trials.get("download", {}), **of_trials.get("download-back", {})}
    if all(name in of_trials for name in _WINDOWS):
        found |= windows(of_trials["download"], {name: of_trials[trial] for trial, name in _WINDOWS.items()})
    return found


def _row(expected: Expected, simulated: Mapping[str, Sequence[Figures]], live: Sequence[Figures]) -> Row:
    name = expected.id
    kernel = _values(live, name)
    why_not = "" if kernel else _NOT_TOLD.get(name, "no live run has this figure")
    return Row(
        expected,
        {stack: _median(_values(runs, name)) for stack, runs in simulated.items()},
        _median(kernel),
        min(kernel, default=None),
        max(kernel, default=None),
        why_not,
    )


def _values(runs: Iterable[Figures], name: str) -> list[float]:
    return [value for run in runs if (value := run.get(name)) is not None]


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
