"""Studies with the kernel's own TCP, live, beside simulations of the study's stack and a present one."""

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

from . import study_d_live, study_t_live
from .checks import Expected
from .live_study import LiveStudy

#: Version of what is told of a live reproduction.
FORMAT = 1
#: Runs of each scenario, of each stack; the seed is the number of the run, on all sides.
REPETITIONS = 5
#: The studies that can be run live, by id.
LIVE_STUDIES: dict[str, LiveStudy] = {"T": study_t_live.STUDY, "D": study_d_live.STUDY}


@dataclass(frozen=True)
class Row:
    """A published number beside the medians of the runs of each stack."""

    expected: Expected
    simulated: dict[str, float | None]
    """Medians by stack."""
    kernel: float | None
    low: float | None
    """Least and greatest of the kernel's runs."""
    high: float | None
    why_not: str
    """Reason why there is no figure of the kernel; empty if there is one."""

    def as_json(self) -> dict[str, Any]:
        """Returns the row as `--json` prints it."""
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
    """Results of a live reproduction."""

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
        """Returns the results as `--json` prints them."""
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


def reproduce(study: LiveStudy, expected: Sequence[Expected], places: tuple[Path, Path], report: Report) -> Found:
    """Makes the runs of the study that `expected` needs: simulated ones, and live ones that are not there yet.

    `places` are the study's folder and that of its live runs.
    Raises `InputError` if nothing of it can be run live, `RunError` if a run fails.
    """
    folder, out = places
    groups = dict.fromkeys(_group(each) for each in expected)
    not_run = {group: study.only_simulated[group] for group in groups if group not in study.needs}
    names = dict.fromkeys(name for group in groups for name in study.needs.get(group, ()))
    if not names:
        reasons = "; ".join(f"{group}: {reason}" for group, reason in not_run.items())
        raise InputError(f"{', '.join(not_run)}: not run live ({reasons}); expected some of {', '.join(study.needs)}")
    simulated = {
        stack: _simulated(study, [study.trial(folder, name, stack) for name in names]) for stack in study.stacks
    }
    chosen = [study.trial(folder, name, study.present) for name in names]
    plan = trials.Plan(out, REPETITIONS, study.measure, tuple(study.whole))
    kept = trials.run(chosen, plan, report)
    live = _by_repetition(study, chosen, kept)
    all_kept = [each for of_trial in kept for each in of_trial]
    return Found(
        [_row(study, each, simulated, live) for each in expected if _group(each) in study.needs],
        not_run,
        [line for trial, of_trial in zip(chosen, kept, strict=True) for line in trials.not_compared(trial, of_trial)],
        sorted({each.kernel for each in all_kept}),
        all_kept[0].sysctls,
        [f"{name}/run-1" for name in names if (out / name / "run-1" / "manifest.json").is_file()],
    )


def _group(expected: Expected) -> str:
    return expected.id.partition(".")[0]


def _simulated(study: LiveStudy, chosen: Sequence[Trial]) -> list[Figures]:
    """Returns the checks of simulated runs, one set for each seed."""
    from baton import Scenario
    from baton.report.tables import run_of

    def run(trial: Trial, seed: int) -> Figures:
        return study.measure(run_of(Scenario.load(trial.file, list(trial.overrides)).run(seed=seed)))

    return [study.checks({trial.name: run(trial, seed) for trial in chosen}) for seed in range(1, REPETITIONS + 1)]


def _by_repetition(study: LiveStudy, chosen: Sequence[Trial], kept: Sequence[Sequence[Kept]]) -> list[Figures]:
    """Returns the checks of live runs, one set for each repetition."""
    return [
        study.checks({trial.name: each.figures or {} for trial, each in zip(chosen, of_all, strict=True)})
        for of_all in zip(*kept, strict=True)
    ]


def _row(
    study: LiveStudy, expected: Expected, simulated: Mapping[str, Sequence[Figures]], live: Sequence[Figures]
) -> Row:
    name = expected.id
    kernel = _values(live, name)
    why_not = "" if kernel else study.not_told.get(name, "no live run has this figure")
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
