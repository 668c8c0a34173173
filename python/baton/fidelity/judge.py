"""Medians against medians, with the spread of the kernel's repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from baton.live.trials import Figures

from .cases import Case
from .causes import Causes, cause
from .execute import Outcome
from .rules import QUANTITIES, RULES, Quantity, Rule

AGREES, DIFFERS, NOT_JUDGED, NOT_COMPARED = "agrees", "differs", "not judged", "not compared"


@dataclass(frozen=True)
class Row:
    """One quantity of one case."""

    case: str
    congestion: str
    kind: str
    half: str
    quantity: Quantity
    handover: int | None
    """Number of the handover that it is about."""
    simulated: float | None
    """Median of the simulated runs, as `kernel` is of the live ones; nothing if most runs have no value."""
    kernel: float | None
    low: float | None
    """Least and greatest of the kernel's repetitions."""
    high: float | None
    rule: Rule | None
    verdict: str
    cause: str | None
    """Cause of the difference; only if it differs."""

    def as_json(self) -> dict[str, Any]:
        """As in the output of `--json`."""
        return {
            "case": self.case,
            "congestion": self.congestion,
            "kind": self.kind,
            "half": self.half,
            "quantity": self.quantity.key,
            "handover": self.handover,
            "unit": self.quantity.unit,
            "simulated": self.simulated,
            "kernel": self.kernel,
            "kernel_low": self.low,
            "kernel_high": self.high,
            "rule": None if self.rule is None else str(self.rule),
            "verdict": self.verdict,
            "cause": self.cause,
        }


@dataclass(frozen=True)
class Spread:
    """One figure over the repetitions of a case."""

    median: float | None
    """Nothing if most repetitions have no value."""
    low: float | None
    high: float | None


def rows(outcome: Outcome, causes: Causes) -> Iterator[Row]:
    """Every quantity that one of both has."""
    live = outcome.compared
    keys = dict.fromkeys(key for run in live for key in run)
    kernel = {key: _spread(live, key) for key in keys}
    yield from judge(outcome.case, outcome.simulated, kernel, causes, compared=bool(live))


def judge(
    case: Case, simulated: Sequence[Figures], kernel: Mapping[str, Spread], causes: Causes, *, compared: bool = True
) -> Iterator[Row]:
    """Holds simulated runs against what the kernel's repetitions gave, by the key of the figure."""
    keys = list(dict.fromkeys([*(key for run in simulated for key in run), *kernel]))
    for quantity in QUANTITIES:
        for key in keys:
            base, _, number = key.partition(".")
            if base != quantity.key:
                continue
            ours, theirs = _spread(simulated, key).median, kernel.get(key, Spread(None, None, None))
            if ours is None and theirs.median is None:
                continue
            rule = RULES[case.kind].get(base)
            verdict = _verdict(rule, ours, theirs, compared=compared)
            yield Row(
                case.name,
                case.congestion,
                case.kind,
                case.half,
                quantity,
                int(number) if number else None,
                ours,
                theirs.median,
                theirs.low,
                theirs.high,
                rule,
                verdict,
                cause(causes, case.name, case.congestion, base) if verdict == DIFFERS else None,
            )


def _spread(runs: Sequence[Figures], key: str) -> Spread:
    values = [value for run in runs if (value := run.get(key)) is not None]
    if not values:
        return Spread(None, None, None)
    return Spread(median(values) if 2 * len(values) > len(runs) else None, min(values), max(values))


def _verdict(rule: Rule | None, simulated: float | None, kernel: Spread, *, compared: bool) -> str:
    if not compared:
        return NOT_COMPARED
    if rule is None:
        return NOT_JUDGED
    if simulated is None or kernel.median is None or kernel.low is None or kernel.high is None:
        return DIFFERS  # one of both never got there
    agrees = kernel.low <= simulated <= kernel.high or rule.allows(kernel.median, simulated)
    return AGREES if agrees else DIFFERS
