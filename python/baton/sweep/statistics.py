"""Mean, quantiles and 95 % confidence interval of the runs of a point.

Which interval, by a rule that looks at the values:

- None of fewer than two values. Of equal values, that value: the run does not depend on the seed.
- Student's t, if the mean of this many values is near enough to normal: there are more than 25 G² of them, with the
  sample's skewness G (Cochran, "Sampling Techniques", 3rd ed. 1977, section 2.15); if its interval stays on the side of
  zero where all values are; and if every run has a value. Always for fewer than ten values, of which a bootstrap makes
  too narrow an interval.
- Else the bias-corrected and accelerated bootstrap (BCa; Efron, "Better Bootstrap Confidence Intervals", Journal of
  the American Statistical Association 82, 1987), with 9,999 resamples from a fixed seed, so that the same runs have
  the same interval. It leans to the longer side of a skewed distribution and keeps within bounds.

If a quantity has no value in some runs, such as the completion of a flow that did not end, its statistics are over the
runs that have one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

LEVEL = 0.95
RESAMPLES = 9_999
LEAST_FOR_BOOTSTRAP = 10
COCHRAN = 25.0
QUANTILES = (5, 25, 50, 75, 95)
FEW_VALUES = 200
_BLOCK_VALUES = 4_000_000

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Statistics:
    """Statistics of one quantity at one point."""

    runs: int
    values: int
    """Runs in which the quantity has a value."""
    mean: float | None
    low: float | None
    high: float | None
    """The 95 % interval of the mean."""
    method: str
    """Method by which the interval was found: "t", "bootstrap", "constant" or "none"."""
    quantiles: dict[str, float]
    """Quantiles by percent: "5", "25", "50", "75", "95"; linear between neighbours."""

    @property
    def relative_width(self) -> float:
        """Width of the interval as a share of the mean; infinite without an interval."""
        if self.low is None or self.high is None or self.mean is None:
            return math.inf
        width = self.high - self.low
        return 0.0 if width == 0 else width / abs(self.mean) if self.mean else math.inf

    def to_json(self) -> dict[str, Any]:
        """Returns the statistics as `--json` prints them."""
        return vars(self) | {}


def describe(values: Floats) -> Statistics:
    """Computes the statistics of a quantity's values in some runs; NaN stands for none."""
    known = values[~np.isnan(values)]
    if not len(known):
        return Statistics(len(values), 0, None, None, None, "none", {})
    mean = float(np.mean(known))
    is_constant = known.min() == known.max()
    quantiles = [known[0]] * len(QUANTILES) if is_constant else np.percentile(known, QUANTILES)
    named = {str(percent): float(value) for percent, value in zip(QUANTILES, quantiles, strict=True)}
    low, high, method = interval(known, complete=len(known) == len(values))
    return Statistics(len(values), len(known), mean, low, high, method, named)


def interval(values: Floats, *, complete: bool = True) -> tuple[float | None, float | None, str]:
    """Returns the interval of the mean and its method. `complete` says that every run has a value."""
    if len(values) < 2:
        return None, None, "none"
    if values.min() == values.max():
        return float(values[0]), float(values[0]), "constant"
    low, high = student(values)
    leaves_its_side = (low < 0 <= values.min()) or (high > 0 >= values.max())
    normal = len(values) > COCHRAN * _skewness(values) ** 2
    if len(values) < LEAST_FOR_BOOTSTRAP or (normal and complete and not leaves_its_side):
        return low, high, "t"
    return (*bootstrap(values), "bootstrap")


def student(values: Floats) -> tuple[float, float]:
    """Returns the interval of the mean by Student's t distribution."""
    half = t_quantile(len(values) - 1) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    mean = float(np.mean(values))
    return mean - half, mean + half


def bootstrap(values: Floats) -> tuple[float, float]:
    """Returns the BCa interval of the mean. The acceleration of a mean is a sixth of its skewness over √n."""
    means = np.sort(_resampled_means(values))
    below = np.searchsorted(means, np.mean(values), "left"), np.searchsorted(means, np.mean(values), "right")
    share = (below[0] + below[1]) / 2 / len(means)
    normal = NormalDist()
    bias = normal.inv_cdf(min(max(share, 1 / (len(means) + 1)), 1 - 1 / (len(means) + 1)))
    acceleration = _skewness(values) / (6 * math.sqrt(len(values)))
    ends = []
    for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2):
        z = bias + normal.inv_cdf(tail)
        ends.append(normal.cdf(bias + z / (1 - acceleration * z)))
    low, high = np.quantile(means, ends)
    return float(low), float(high)


def _resampled_means(values: Floats) -> Floats:
    chosen = _few_choices(len(values)) if len(values) <= FEW_VALUES else _choices(len(values))
    return np.concatenate([values[block].mean(axis=1) for block in chosen])


def _choices(count: int) -> Iterator[np.ndarray]:
    """Yields places of the values in each resample; always the same ones, in blocks that do not fill the memory."""
    generator = np.random.default_rng(1)
    block = max(_BLOCK_VALUES // count, 1)
    for begin in range(0, RESAMPLES, block):
        yield generator.integers(count, size=(min(block, RESAMPLES - begin), count), dtype=np.int32)


@lru_cache(maxsize=8)
def _few_choices(count: int) -> list[np.ndarray]:
    """Returns the same as `_choices`, kept for the other quantities and points of the sweep."""
    return list(_choices(count))


def _skewness(values: Floats) -> float:
    """Returns the third central moment over the standard deviation cubed (of the sample, without corrections)."""
    off = values - np.mean(values)
    return float(np.mean(off**3) / np.mean(off**2) ** 1.5)


@cache
def t_quantile(freedom: int) -> float:
    """Returns the 97.5 % quantile of Student's t distribution for a whole number of degrees of freedom."""
    low, high = 1.9, 13.0  # those for infinitely many degrees and for one
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _t_central(middle, freedom) < LEVEL else (low, middle)
    return (low + high) / 2


def _t_central(t: float, freedom: int) -> float:
    """Returns the probability between -t and t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    square = math.cos(angle) ** 2
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for degree in range(2 + odd, freedom - 1, 2):
        term *= square * (degree - 1) / degree
        total += term
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total
