"""One line of the page: our value beside an oracle's, and the verdict by a rule that is stated with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from baton.sweep.statistics import interval
from baton.verdict import AGREES, Estimate, Tolerance, verdict


@dataclass(frozen=True)
class Row:
    """A quantity measured and what it should be."""

    id: str
    page: str
    """The model's page, without its folder and ending."""
    what: str
    unit: str
    ours: float | Sequence[float]
    """A value, or one a seed."""
    oracle: float
    source: str
    tolerance: float
    """Largest error that agrees, as a share of the oracle's value; of an oracle of zero, as a number."""
    reason: str
    """Reason for that tolerance."""
    cause: str = ""
    """Cause of the difference, as far as known; shown only if the values differ."""

    @property
    def values(self) -> np.ndarray:
        """Our values, one per seed."""
        return np.atleast_1d(np.asarray(self.ours, dtype=float))

    @property
    def mean(self) -> float:
        """Mean of our values."""
        return float(np.mean(self.values))

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of our mean, if chance plays a part."""
        low, high, method = interval(self.values)
        return None if low is None or high is None or method == "constant" else (low, high)

    @property
    def error(self) -> float:
        """Ours less the oracle's, as a share of the oracle's."""
        return (self.mean - self.oracle) / self.oracle if self.oracle else self.mean - self.oracle

    @property
    def agrees(self) -> bool:
        """The rule: the error is no larger than the tolerance."""
        allowed = Tolerance(relative=self.tolerance) if self.oracle else Tolerance(absolute=self.tolerance)
        return verdict(Estimate(self.mean), Estimate(self.oracle), allowed) == AGREES
