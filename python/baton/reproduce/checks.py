"""Verdict on one published number of a reproduction, with the measured value and the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from baton import verdict
from baton.toml import loads
from baton.verdict import Estimate, Tolerance

from .figures import Figure

Verdict = Literal["agrees", "differs", "by construction", "holds", "fails", "beyond"]
#: Origin of a check's number: the study's text; a chosen input of ours, from which the number follows; or an oracle of
#: ours (a closed form, another simulator, measured peers, a target).
Basis = Literal["text", "construction", "own"]
#: File of a study's folder with the checks that hang on chosen parameters.
HANGING = "sensitivity.toml"
#: Verdicts in the order of a summary, with their words.
COUNTED: dict[Verdict, str] = {
    "agrees": "agree",
    "differs": "differ",
    "by construction": "by construction",
    "holds": "of our own hold",
    "fails": "of our own fail",
    "beyond": "beyond what was published",
}


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
    basis: Basis = "text"


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
    #: Other values of chosen parameters at which the verdict is another, each with that verdict.
    hangs_on: dict[str, str]
    basis: Basis = "text"
    #: Of a comparison that is counted: seeds in which it holds, and all; else ``None``.
    held: int | None = None
    runs: int | None = None
    #: True if a number of the text bounds the measured one from both sides, with a tolerance.
    two_sided: bool = False

    def remarks(self) -> list[str]:
        """Returns the reason why the number differs, and the values of parameters on which its verdict hangs."""
        reason = self.note or ("Unexplained." if self.verdict in ("differs", "fails") else "")
        others = "; ".join(f"{value}: {verdict}" for value, verdict in self.hangs_on.items())
        hangs = f"Hangs on a chosen value: {others}." if others else ""
        return [text for text in (reason, hangs) if text]

    def as_json(self) -> dict[str, Any]:
        """Returns the check as ``--json`` prints it."""
        return asdict(self)


def tally(checks: Sequence[Check]) -> dict[str, int]:
    """Counts checks by verdict, and those of them that are two-sided as `two-sided` and `two-sided agrees`."""
    counts: dict[str, int] = {verdict: sum(check.verdict == verdict for check in checks) for verdict in COUNTED}
    two_sided = [check for check in checks if check.two_sided]
    counts["two-sided"] = len(two_sided)
    counts["two-sided agrees"] = sum(check.verdict == "agrees" for check in two_sided)
    return counts


def summary(checks: Sequence[Check]) -> str:
    """Counts checks by verdict, in words."""
    counts = tally(checks)
    always = ("agrees", "differs")
    words = [f"{counts[key]} {word}" for key, word in COUNTED.items() if counts[key] or key in always]
    two_sided = f" (two-sided: {counts['two-sided agrees']} of {counts['two-sided']})" if counts["two-sided"] else ""
    return ", ".join([words[0] + two_sided, *words[1:]])


@dataclass(frozen=True)
class Reproduced:
    """A study's checks and the figures of its page."""

    checks: list[Check]
    figures: list[Figure] = field(default_factory=list)


def put(samples: dict[str, list[float]], figures: Mapping[str, float | None]) -> None:
    """Adds the values of one run, by check; a run without a value adds none."""
    for name, value in figures.items():
        if value is not None:
            samples.setdefault(name, []).append(float(value))


def judged(folder: Path, samples: Mapping[str, Sequence[float]]) -> list[Check]:
    """Judges all checks of the study in a folder, in the order of its file, by the values of its runs."""
    notes = load_notes(folder / "notes.toml")
    hanging = load_hanging(folder / HANGING)
    expected = load_expected(folder / "expected.toml")
    return [
        judge(check, samples.get(check.id, []), notes.get(check.id, ""), hanging.get(check.id, {}))
        for check in expected
    ]


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
            basis=row.get("basis", "text"),
        )
        for row in rows
    ]


def load_notes(file: Path) -> dict[str, str]:
    """Reads the known reasons why numbers differ, by check."""
    notes: dict[str, str] = loads(file.read_text(encoding="utf-8"))
    return notes


def load_hanging(file: Path) -> dict[str, dict[str, str]]:
    """Reads the checks whose verdict changes within the range of a parameter, each with the values that change it."""
    return loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def judge(
    expected: Expected, samples: Sequence[float], note: str = "", hangs_on: Mapping[str, str] = MappingProxyType({})
) -> Check:
    """Compares the mean of ``samples`` with the published number."""
    mean = Estimate.mean(samples)
    held = sum(_agrees(expected, sample) for sample in samples) if expected.seeds else None
    found = _named(expected, _verdict(expected, mean) if held is None else _counted(expected, held, len(samples)))
    return Check(
        id=expected.id,
        quantity=expected.quantity,
        unit=expected.unit,
        published=expected.published,
        measured=mean.value,
        low=mean.low,
        high=mean.high,
        verdict=found,
        rule=describe(expected),
        source=expected.source,
        note=note,
        # The values were found with fewer seeds, so that some may lead to the same verdict.
        hangs_on={value: verdict for value, verdict in hangs_on.items() if verdict != found},
        basis=expected.basis,
        two_sided=expected.basis == "text" and expected.rule == "within",
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


def _named(expected: Expected, agrees: bool | None) -> Verdict:
    """Names an outcome by the origin of the check's number; there is no outcome where nothing was published."""
    if agrees is None:
        return "beyond"
    if expected.basis == "text":
        return "agrees" if agrees else "differs"
    if not agrees:
        return "fails"
    return "by construction" if expected.basis == "construction" else "holds"


def _verdict(expected: Expected, mean: Estimate) -> bool | None:
    if expected.rule == "beyond" or expected.published is None:
        return None
    if expected.rule == "within":
        published = Estimate(expected.published)
        return verdict.verdict(mean, published, Tolerance(relative=expected.tolerance)) == verdict.AGREES
    return mean.value is not None and _agrees(expected, mean.value)


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


def _counted(expected: Expected, held: int, runs: int) -> bool:
    """Judges a comparison that holds in some of its seeds; of another number than 20, it needs the same share."""
    return runs > 0 and held * 20 >= expected.seeds * runs
