"""Means, intervals and quantiles of sweeps, against scipy."""

from __future__ import annotations

import numpy as np
import pytest

from baton.sweep import statistics

scipy_stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 10, 29, 30, 99, 100, 999, 4999])
def test_quantiles_of_students_t_are_scipys(freedom):
    assert statistics.t_quantile(freedom) == pytest.approx(scipy_stats.t.ppf(0.975, freedom), rel=1e-10)


@pytest.mark.parametrize("count", [2, 5, 30, 400])
def test_the_interval_of_symmetric_values_is_scipys_t_interval(count):
    values = np.random.default_rng(count).uniform(100, 110, count)
    expected = scipy_stats.t.interval(0.95, count - 1, loc=values.mean(), scale=scipy_stats.sem(values))
    found = statistics.describe(values)
    assert found.method == "t"
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("count", [10, 40, 300])
def test_the_interval_of_skewed_values_is_scipys_bootstrap(count):
    values = np.random.default_rng(count).lognormal(0, 1.5, count)
    found = statistics.describe(values)
    expected = scipy_stats.bootstrap((values,), np.mean, n_resamples=9999, method="BCa", random_state=7)
    assert found.method == "bootstrap"
    # Both are drawn: their ends agree to some per cent of the interval, in the far tail.
    width = expected.confidence_interval.high - expected.confidence_interval.low
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval), abs=0.08 * width)
    assert statistics.describe(values) == found, "the same values have the same interval"


def test_quantiles_are_scipys_and_values_that_are_missing_are_left_out():
    values = np.random.default_rng(3).exponential(1, 50)
    with_gaps = np.insert(values, [0, 7, 7], np.nan)
    found = statistics.describe(with_gaps)
    expected = scipy_stats.mstats.mquantiles(values, [0.05, 0.25, 0.5, 0.75, 0.95], alphap=1, betap=1)
    assert list(found.quantiles.values()) == pytest.approx(expected.tolist())
    assert (found.runs, found.values) == (53, 50)
    assert found.mean == pytest.approx(values.mean())
    assert found.method == "bootstrap"


def test_the_skewness_of_cochrans_rule_is_scipys():
    values = np.random.default_rng(4).gamma(2, 1, 60)
    assert statistics._skewness(values) == pytest.approx(scipy_stats.skew(values))


@pytest.mark.parametrize(
    ("values", "method"), [([], "none"), ([np.nan], "none"), ([3.0], "none"), ([3.0] * 12, "constant")]
)
def test_too_few_or_equal_values(values, method):
    found = statistics.describe(np.array(values))
    assert found.method == method
    assert (found.low is None) == (method == "none")


def test_an_interval_of_counts_does_not_reach_below_zero():
    values = np.array([0.0] * 17 + [1.0, 1.0, 9.0])
    low, _ = statistics.student(values)
    assert low < 0 <= statistics.describe(values).low


def test_intervals_hold_the_true_mean_as_often_as_they_say():
    """5 % of a thousand intervals miss; three standard deviations of that are 2.1 %."""
    generator = np.random.default_rng(5)
    samples = generator.normal(10, 3, (1000, 20))
    ends = [statistics.student(sample) for sample in samples]
    held = np.mean([low <= 10 <= high for low, high in ends])
    assert held == pytest.approx(0.95, abs=0.021)
