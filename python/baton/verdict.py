"""Verdict on a value of ours beside another's: a published number, a closed form, the kernel's.

Both agree if the tolerance allows their difference, or if one lies within the other's interval, where it has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

import numpy as np

from .sweep.statistics import student

Verdict = Literal["agrees", "differs"]
AGREES: Verdict = "agrees"
DIFFERS: Verdict = "differs"


@dataclass(frozen=True)
class Tolerance:
    """Largest difference of values that agree: the larger of a share and a count."""

    relative: float = 0.0
    """Share of the other's value."""
    absolute: float = 0.0

    def allows(self, other: float, ours: float) -> bool:
        """Returns true if the values are near enough."""
        return abs(ours - other) <= max(self.relative * abs(other), self.absolute)

    def __str__(self) -> str:
        parts = [f"{100 * self.relative:g} %"] * bool(self.relative) + [f"{self.absolute:g}"] * bool(self.absolute)
        return " or ".join(parts) or "equal"


@dataclass(frozen=True)
class Estimate:
    """Value of some runs, and the interval in which others of them may lie."""

    value: float | None
    """Nothing if the runs have none."""
    low: float | None = None
    high: float | None = None

    @classmethod
    def mean(cls, samples: Sequence[float]) -> Estimate:
        """Returns the mean with its 95 % interval (Student's t); a single value has none."""
        if len(samples) < 2:
            return cls(samples[0] if samples else None)
        return cls(fmean(samples), *student(np.asarray(samples, dtype=float)))

    @classmethod
    def median(cls, samples: Sequence[float | None]) -> Estimate:
        """Returns the median with the least and the greatest; no median if most runs have no value."""
        values = [sample for sample in samples if sample is not None]
        if not values:
            return cls(None)
        return cls(median(values) if 2 * len(values) > len(samples) else None, min(values), max(values))

    def holds(self, value: float) -> bool:
        """Returns true if a value lies in the interval."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high


def verdict(ours: Estimate, other: Estimate, tolerance: Tolerance) -> Verdict:
    """Compares both; a value that one of them never reached differs from any."""
    if ours.value is None or other.value is None:
        return DIFFERS
    inside = ours.holds(other.value) or other.holds(ours.value)
    return AGREES if inside or tolerance.allows(other.value, ours.value) else DIFFERS
