"""Studies that can be run live: their scenarios there, and their measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from baton.live.trials import Figures, Measure, Trial


@dataclass(frozen=True)
class LiveStudy:
    """A study with the kernel's own TCP beside simulated stacks."""

    stacks: Mapping[str, Sequence[str]]
    """The simulated stacks, each with its overrides. The last behaves as a present kernel; live runs have its."""
    needs: Mapping[str, Sequence[str]]
    """The live runs that each group of checks needs."""
    only_simulated: Mapping[str, str]
    """Why the other groups are not run live."""
    not_told: Mapping[str, str]
    """Why a kernel has no figure for a check."""
    files: Mapping[str, str]
    """Scenarios of trials that have another name."""
    limits: Mapping[str, Sequence[str]]
    """Overrides of trials, on all sides."""
    whole: Sequence[str]
    """Trials of which the first live run is kept whole, with its report."""
    measure: Measure
    """Measurements of a run."""
    checks: Callable[[Mapping[str, Figures]], Figures]
    """The checks by what was measured of each trial's run."""

    def trial(self, folder: Path, name: str, stack: str) -> Trial:
        """Returns one of the study's scenarios with a stack."""
        file = folder / f"{self.files.get(name, name)}.toml"
        return Trial(name, file, (*self.limits.get(name, ()), *self.stacks[stack]))

    @property
    def present(self) -> str:
        """The stack of a present kernel."""
        return list(self.stacks)[-1]
