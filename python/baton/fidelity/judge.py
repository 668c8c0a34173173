"""Comparison of medians, with the spread of the kernel's repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton.live.trials import Figures
from baton.verdict import DIFFERS, Estimate, Tolerance, verdict

from .cases import Case
from .causes import Causes, cause
from .execute import Outcome
from .rules import QUANTITIES, RULES, Quantity

NOT_JUDGED, NOT_COMPARED = "not judged", "not compared"


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
    """Median of the simulated runs; `kernel` is that of the live ones. Nothing if most runs have no value."""
    kernel: float | None
    low: float | None
    """Least and greatest of the kernel's repetitions."""
    high: float | None
    rule: Tolerance | None
    verdict: str
    cause: str | None
    """Cause of the difference; only if it differs."""

    def as_json(self) -> dict[str, Any]:
        """Returns the row as `--json` prints it."""
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
    """Yields a row for every quantity that either side has."""
    live = outcome.compared
    keys = dict.fromkeys(key for run in live for key in run)
    kernel = {key: _median(live, key) for key in keys}
    yield from judge(outcome.case, outcome.simulated, kernel, causes, compared=bool(live))


def judge(
    case: Case, simulated: Sequence[Figures], kernel: Mapping[str, Estimate], causes: Causes, *, compared: bool = True
) -> Iterator[Row]:
    """Compares simulated runs with the kernel's repetitions, by the key of the figure."""
    keys = list(dict.fromkeys([*(key for run in simulated for key in run), *kernel]))
    for quantity in QUANTITIES:
        for key in keys:
            base, _, number = key.partition(".")
            if base != quantity.key:
                continue
            ours, theirs = _median(simulated, key).value, kernel.get(key, Estimate(None))
            if ours is None and theirs.value is None:
                continue
            rule = RULES[case.kind].get(base)
            if not compared:
                found = NOT_COMPARED
            elif rule is None:
                found = NOT_JUDGED
            else:
                # A difference inside the spread of the kernel's own repetitions is none.
                found = verdict(Estimate(ours), theirs, rule)
            yield Row(
                case.name,
                case.congestion,
                case.kind,
                case.half,
                quantity,
                int(number) if number else None,
                ours,
                theirs.value,
                theirs.low,
                theirs.high,
                rule,
                found,
                cause(causes, case.name, case.congestion, base) if found == DIFFERS else None,
            )


def _median(runs: Sequence[Figures], key: str) -> Estimate:
    return Estimate.median([run.get(key) for run in runs])
