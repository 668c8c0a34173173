"""Medians against medians, with the spread of the kernel's repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from baton.live.trials import Figures

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
    """Why it differs; only if it does."""

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


def rows(outcome: Outcome, causes: Causes) -> Iterator[Row]:
    """Every quantity that one of both has."""
    case, live = outcome.case, outcome.compared
    keys = list(dict.fromkeys(key for run in (*outcome.simulated, *live) for key in run))
    for quantity in QUANTITIES:
        for key in keys:
            base, _, number = key.partition(".")
            if base != quantity.key:
                continue
            simulated, kernel = _median(outcome.simulated, key), _median(live, key)
            if simulated is None and kernel is None:
                continue
            low, high = _spread(live, key)
            rule = RULES[case.kind].get(base)
            verdict = _verdict(rule, simulated, kernel, (low, high), compared=bool(live))
            yield Row(
                case.name,
                case.congestion,
                case.kind,
                case.half,
                quantity,
                int(number) if number else None,
                simulated,
                kernel,
                low,
                high,
                rule,
                verdict,
                cause(causes, case.name, case.congestion, base) if verdict == DIFFERS else None,
            )


def _median(runs: Sequence[Figures], key: str) -> float | None:
    values = [value for run in runs if (value := run.get(key)) is not None]
    return median(values) if 2 * len(values) > len(runs) else None


def _spread(runs: Sequence[Figures], key: str) -> tuple[float | None, float | None]:
    values = [value for run in runs if (value := run.get(key)) is not None]
    return (min(values), max(values)) if values else (None, None)


def _verdict(
    rule: Rule | None,
    simulated: float | None,
    kernel: float | None,
    spread: tuple[float | None, float | None],
    *,
    compared: bool,
) -> str:
    if not compared:
        return NOT_COMPARED
    if rule is None:
        return NOT_JUDGED
    low, high = spread
    if simulated is None or kernel is None or low is None or high is None:
        return DIFFERS  # one of both never got there
    return AGREES if low <= simulated <= high or rule.allows(kernel, simulated) else DIFFERS
