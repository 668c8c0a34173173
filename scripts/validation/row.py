"""One line of the page: our value beside an oracle's, and the verdict by a rule that is stated with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from baton.sweep.statistics import interval


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
    """Largest error that agrees, as a share of the oracle's value."""
    reason: str
    """Reason for that tolerance."""
    cause: str = ""
    """Cause of the difference of the values, as far as known; said only if they differ."""

    @property
    def values(self) -> np.ndarray:
        """Ours, one a seed."""
        return np.atleast_1d(np.asarray(self.ours, dtype=float))

    @property
    def mean(self) -> float:
        """Ours."""
        return float(np.mean(self.values))

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of ours, if it was drawn by chance."""
        low, high, method = interval(self.values)
        return None if low is None or high is None or method == "constant" else (low, high)

    @property
    def error(self) -> float:
        """Ours less the oracle's, as a share of the oracle's."""
        return (self.mean - self.oracle) / self.oracle if self.oracle else self.mean - self.oracle

    @property
    def agrees(self) -> bool:
        """The rule: the error is no larger than the tolerance."""
        return abs(self.error) <= self.tolerance
