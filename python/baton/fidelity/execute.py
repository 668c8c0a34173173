"""Runs cases live and simulated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from baton.live import trials
from baton.live.trials import Figures, Kept, Report
from baton.report.tables import run_of

from .cases import Case
from .measure import figures


@dataclass
class Outcome:
    """A case after it was run both ways."""

    case: Case
    simulated: list[Figures]
    live: list[Kept]

    @property
    def compared(self) -> list[Figures]:
        """The figures of the live repetitions that can be trusted."""
        return [kept.figures for kept in self.live if kept.figures is not None]


def execute(cases: list[Case], repetitions: int, folder: Path, report: Report) -> list[Outcome]:
    """Runs every case that is not in the folder yet. Raises `RunError`."""
    simulated = [simulate(case, repetitions) for case in cases]
    live = trials.run(cases, trials.Plan(folder, repetitions, figures), report)
    return [Outcome(*each) for each in zip(cases, simulated, live, strict=True)]


def simulate(case: Case, repetitions: int) -> list[Figures]:
    """Returns the figures of simulated runs, one run for each repetition's seed."""
    return [figures(run_of(case.scenario.run(seed=number))) for number in range(1, repetitions + 1)]
