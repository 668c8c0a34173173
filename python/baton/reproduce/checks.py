"""Verdict on one published number of a reproduction, with the measured value and the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from baton import verdict
from baton.toml import loads
from baton.verdict import Estimate, Tolerance

from .figures import Figure

Verdict = Literal["agrees", "differs", "beyond"]


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
        """Returns the check as ``--json`` prints it."""
        return asdict(self)


@dataclass(frozen=True)
class Reproduced:
    """A study's checks and the figures of its page."""

    checks: list[Check]
    figures: list[Figure] = field(default_factory=list)


def judged(folder: Path, samples: Mapping[str, Sequence[float]]) -> list[Check]:
    """Judges all checks of the study in a folder, in the order of its file, by the values of its runs."""
    notes = load_notes(folder / "notes.toml")
    expected = load_expected(folder / "expected.toml")
    return [judge(check, samples.get(check.id, []), notes.get(check.id, "")) for check in expected]


def load_expected(file: Path) -> list[Expected]:
    """Reads the published numbers of a study, in the order of its file."""
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
    """Reads the known reasons why numbers differ, by check."""
    notes: dict[str, str] = loads(file.read_text(encoding="utf-8"))
    return notes


def judge(expected: Expected, samples: Sequence[float], note: str = "") -> Check:
    """Compares the mean of ``samples`` with the published number."""
    mean = Estimate.mean(samples)
    held = sum(_agrees(expected, sample) for sample in samples) if expected.seeds else None
    return Check(
        id=expected.id,
        quantity=expected.quantity,
        unit=expected.unit,
        published=expected.published,
        measured=mean.value,
        low=mean.low,
        high=mean.high,
        verdict=_verdict(expected, mean) if held is None else _counted(expected.seeds, held, len(samples)),
        rule=describe(expected),
        source=expected.source,
        note=note,
        held=held,
        runs=None if held is None else len(samples),
    )


def describe(expected: Expected) -> str:
    """Describes the rule."""
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


def _verdict(expected: Expected, mean: Estimate) -> Verdict:
    if expected.rule == "beyond" or expected.published is None:
        return "beyond"
    if expected.rule == "within":
        return verdict.verdict(mean, Estimate(expected.published), Tolerance(relative=expected.tolerance))
    return "agrees" if mean.value is not None and _agrees(expected, mean.value) else "differs"


def _agrees(expected: Expected, value: float) -> bool:
    """Returns true if one value is as published."""
    published = expected.published
    assert published is not None, "nothing was published of what is beyond"
    match expected.rule:
        case "at_least":
            return value >= published
        case "at_most":
            return value <= published
        case "equal":
            return Tolerance(absolute=expected.tolerance).allows(published, value)
        case _:
            return Tolerance(relative=expected.tolerance).allows(published, value)


def _counted(needed: int, held: int, runs: int) -> Verdict:
    """Judges a comparison that holds in some of its seeds; of another number than 20, it needs the same share."""
    return "agrees" if runs and held * 20 >= needed * runs else "differs"
