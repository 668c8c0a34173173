"""Verdict of a reproduction on one published number: measured, verdict, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from baton.toml import loads

from .figures import Figure

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
    #: Of a comparison: in how many of 20 seeds it has to hold, each for itself; 0 if of the mean alone.
    seeds: int = 0


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
    #: Of a comparison that is counted: seeds in which it holds, and all; else ``None``.
    held: int | None = None
    runs: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The check as ``--json`` prints it."""
        return asdict(self)


@dataclass(frozen=True)
class Reproduced:
    """All of a study: its checks, and what its page draws."""

    checks: list[Check]
    figures: list[Figure] = field(default_factory=list)


def judged(folder: Path, samples: Mapping[str, Sequence[float]]) -> list[Check]:
    """All checks of the study in a folder, in the order of its file, of the values that its runs have given."""
    notes = load_notes(folder / "notes.toml")
    expected = load_expected(folder / "expected.toml")
    return [judge(check, samples.get(check.id, []), notes.get(check.id, "")) for check in expected]


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
            seeds=row.get("seeds", 0),
        )
        for row in rows
    ]


def load_notes(file: Path) -> dict[str, str]:
    """Reads the reasons why numbers differ, as far as they were found out, by check."""
    notes: dict[str, str] = loads(file.read_text(encoding="utf-8"))
    return notes


def judge(expected: Expected, samples: Sequence[float], note: str = "") -> Check:
    """Compares the mean of ``samples`` with what was published."""
    mean, low, high = mean_interval(samples)
    held = sum(_agrees(expected, sample) for sample in samples) if expected.seeds else None
    return Check(
        id=expected.id,
        quantity=expected.quantity,
        unit=expected.unit,
        published=expected.published,
        measured=mean,
        low=low,
        high=high,
        verdict=_verdict(expected, mean, low, high) if held is None else _counted(expected.seeds, held, len(samples)),
        rule=describe(expected),
        source=expected.source,
        note=note,
        held=held,
        runs=None if held is None else len(samples),
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
    each = f", in at least {expected.seeds} of 20 seeds" if expected.seeds else ""
    match expected.rule:
        case "equal":
            return "equal to the digits printed"
        case "within":
            return f"within {expected.tolerance:.0%} or inside the 95 % interval"
        case "at_least":
            return f"at least the published value{each}"
        case "at_most":
            return f"at most the published value{each}"
        case _:
            return "nothing published to compare with"


def _verdict(expected: Expected, mean: float | None, low: float | None, high: float | None) -> Verdict:
    if expected.rule == "beyond" or expected.published is None:
        return "beyond"
    if mean is None:
        return "differs"
    published = expected.published
    inside = expected.rule == "within" and low is not None and high is not None and low <= published <= high
    return "agrees" if inside or _agrees(expected, mean) else "differs"


def _agrees(expected: Expected, value: float) -> bool:
    """Returns true if one value is as published."""
    published = expected.published
    assert published is not None, "nothing was published of what is beyond"
    match expected.rule:
        case "equal":
            return abs(value - published) <= expected.tolerance
        case "at_least":
            return value >= published
        case "at_most":
            return value <= published
        case _:
            return abs(value - published) <= expected.tolerance * abs(published)


def _counted(needed: int, held: int, runs: int) -> Verdict:
    """Of a comparison that holds in some of its seeds; of other than 20 seeds as large a part is needed."""
    return "agrees" if runs and held * 20 >= needed * runs else "differs"
