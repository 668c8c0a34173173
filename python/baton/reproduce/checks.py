"""What a reproduction says of one published number: measured, verdict, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from baton.toml import loads

Verdict = Literal["agrees", "differs", "beyond"]

#: Two-sided 95 % quantiles of Student's t distribution, by degrees of freedom.
_T_95 = {4: 2.776, 9: 2.262, 19: 2.093, 29: 2.045}


@dataclass(frozen=True)
class Expected:
    """One published number and the rule by which it is checked, stated before any run."""

    id: str
    quantity: str
    unit: str
    #: ``None`` where nothing was published.
    published: float | None
    #: ``equal`` (to the digits printed), ``within`` (``tolerance`` times the published value, or inside
    #: the interval of the mean), ``at_least``, ``at_most``, ``beyond``.
    rule: str
    tolerance: float
    source: str


@dataclass(frozen=True)
class Check:
    """A published number beside the measured one."""

    id: str
    quantity: str
    unit: str
    published: float | None
    measured: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    rule: str
    source: str
    note: str

    def as_json(self) -> dict[str, Any]:
        """The check as ``--json`` prints it."""
        return asdict(self)


def load_expected(file: Path) -> list[Expected]:
    """The published numbers of a study, in the order of its file."""
    rows = loads(file.read_text(encoding="utf-8"))["check"]
    return [
        Expected(
            id=row["id"],
            quantity=row["quantity"],
            unit=row["unit"],
            published=row.get("published"),
            rule=row["rule"],
            tolerance=row.get("tolerance", 0.0),
            source=row["source"],
        )
        for row in rows
    ]


def load_notes(file: Path) -> dict[str, str]:
    """Why numbers differ, as far as it was found out, by check."""
    notes: dict[str, str] = loads(file.read_text(encoding="utf-8"))
    return notes


def judge(expected: Expected, samples: Sequence[float], note: str = "") -> Check:
    """Compares the mean of ``samples`` with what was published."""
    mean, low, high = mean_interval(samples)
    return Check(
        id=expected.id,
        quantity=expected.quantity,
        unit=expected.unit,
        published=expected.published,
        measured=mean,
        low=low,
        high=high,
        verdict=_verdict(expected, mean, low, high),
        rule=describe(expected),
        source=expected.source,
        note=note,
    )


def mean_interval(samples: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Mean and 95 % interval (Student's t); no interval of a single or of equal samples."""
    if not samples:
        return None, None, None
    mean = math.fsum(samples) / len(samples)
    if len(samples) - 1 not in _T_95:
        return mean, None, None
    variance = math.fsum((sample - mean) ** 2 for sample in samples) / (len(samples) - 1)
    half = _T_95[len(samples) - 1] * math.sqrt(variance / len(samples))
    return mean, mean - half, mean + half


def describe(expected: Expected) -> str:
    """The rule in words."""
    match expected.rule:
        case "equal":
            return "equal to the digits printed"
        case "within":
            return f"within {expected.tolerance:.0%} or inside the 95 % interval"
        case "at_least":
            return "at least the published value"
        case "at_most":
            return "at most the published value"
        case _:
            return "nothing published to compare with"


def _verdict(expected: Expected, mean: float | None, low: float | None, high: float | None) -> Verdict:
    published = expected.published
    if expected.rule == "beyond" or published is None:
        return "beyond"
    if mean is None:
        return "differs"
    match expected.rule:
        case "equal":
            agrees = abs(mean - published) <= expected.tolerance
        case "at_least":
            agrees = mean >= published
        case "at_most":
            agrees = mean <= published
        case _:
            inside = low is not None and high is not None and low <= published <= high
            agrees = inside or abs(mean - published) <= expected.tolerance * abs(published)
    return "agrees" if agrees else "differs"
