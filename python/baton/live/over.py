"""Expectations over the repetitions of a live run, such as `p95(program.longest_stall_s) < 1`.

`p50(…)`, `p95(…)` and any other percentile, `mean(…)`, `min(…)` and `max(…)` take a quantity of the summary; `share(…)`
takes a condition, and is the part of the repetitions in which it holds. Percentiles between two repetitions are
interpolated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from baton.errors import InputError
from baton.expect import OPERATORS, Expectation, ExpectationError, Missing, Outcome
from baton.summary import Json

from .judge import measured

_FORM = re.compile(rf"\s*(p\d{{1,2}}|mean|min|max|share)\(([^()]+)\)\s*({'|'.join(OPERATORS)})\s*(\S+)\s*", re.ASCII)

_SHARE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", re.ASCII)


@dataclass(frozen=True)
class OverRepetitions:
    """A condition on all repetitions together."""

    function: str
    inner: Expectation
    """Expectation on each repetition: a condition under `share`, otherwise a quantity, whose comparison is ignored."""
    outer: Expectation
    """Condition on the function's value."""

    @staticmethod
    def is_one(text: str) -> bool:
        """Returns true if an expectation is meant to be over repetitions."""
        return "(" in text

    @staticmethod
    def parse(text: str) -> OverRepetitions:
        """Reads an expectation over repetitions. Raises `ExpectationError`."""
        form = _FORM.fullmatch(text)
        if form is None:
            raise ExpectationError(
                f"`{text}` is not an expectation over repetitions; expected p50, p95 or another percentile, mean, min"
                " or max of a quantity, or share of a condition, as in 'p95(program.longest_stall_s) < 1' or"
                " 'share(program.longest_stall_s < 1) >= 0.95'"
            )
        function, inside, operator, number = form.groups()
        inner = Expectation.parse(inside if function == "share" else f"{inside} >= 0")
        compared = Expectation.parse(f"{function} {operator} {number}")
        return OverRepetitions(function, inner, Expectation(text.strip(), compared.path, operator, compared.value))

    @staticmethod
    def passing(least_share: float) -> OverRepetitions:
        """Returns the expectation that at least this share of the repetitions passes."""
        text = f"share(passed) >= {least_share:g}"
        return OverRepetitions(
            "share", Expectation.parse("passed == 1"), Expectation(text, ("share",), ">=", least_share)
        )

    def check(self, summaries: Sequence[Json]) -> Outcome:
        """Checks the summaries of all repetitions."""
        found = [measured(self.inner, summary) for summary in summaries]
        if self.function == "share":
            return self._outcome(sum(outcome.holds for outcome in found) / len(found) if found else None)
        values = [outcome.measured for outcome in found if isinstance(outcome.measured, (int, float))]
        if not values or len(values) < len(found):
            why = f"{len(found) - len(values)} of {len(found)} repetitions have no {'.'.join(self.inner.path)}"
            return Outcome(self.outer, Missing(why), holds=False)
        return self._outcome(evaluate(self.function, values))

    def _outcome(self, value: float | None) -> Outcome:
        holds = value is not None and OPERATORS[self.outer.operator](value, self.outer.value)
        return Outcome(self.outer, value, holds)


def evaluate(function: str, values: Sequence[float]) -> float:
    """Returns a percentile such as `p95`, or the mean, the smallest or the largest of these values."""
    if function.startswith("p"):
        return float(np.quantile(values, int(function[1:]) / 100))
    if function == "mean":
        return float(np.mean(values))
    return float(min(values) if function == "min" else max(values))


def value(path: str, summary: Json) -> float:
    """Returns a quantity of a repetition; NaN for none."""
    found = measured(Expectation.parse(f"{path} >= 0"), summary).measured
    return float(found) if isinstance(found, (int, float)) else math.nan


def share(text: str) -> float:
    """Reads a share such as `95 %` or `0.95`. Raises `InputError`."""
    form = _SHARE.fullmatch(text)
    value = float(form[1]) / (100 if form[2] else 1) if form else math.nan
    if not 0 <= value <= 1:
        raise InputError(f"--pass `{text}`: expected a share of the repetitions, like '95 %' or 0.95")
    return value
