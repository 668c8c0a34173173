"""The comparison as a table for the terminal, as JSON, and as the Markdown that docs/validation.md quotes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from rich.table import Table

from baton import tables
from baton.live.trials import not_compared

from .execute import Outcome
from .judge import AGREES, DIFFERS, Row, rows

SCHEMA = 1


def table(judged: Sequence[Row]) -> Table:
    """One row a quantity of a case."""
    made = tables.new_table(
        "Case", "Control", "Quantity", "Simulated", "Kernel", "Least", "Greatest", "Rule", "Verdict", text_columns=3
    )
    for row in judged:
        values = (value(row, each) for each in (row.simulated, row.kernel, row.low, row.high))
        rule = "" if row.rule is None else str(row.rule)
        made.add_row(row.case, row.congestion, row.name, *values, rule, row.verdict)
    return made


def value(row: Row, number: float | None) -> str:
    """A value with its unit."""
    if number is None:
        return tables.NOTHING
    if row.quantity.unit == "s":
        return f"{number:.3g} s"
    if row.quantity.unit:
        return tables.scaled(number, row.quantity.unit)
    return f"{number:g}"


def summary_lines(judged: Sequence[Row]) -> Iterator[str]:
    """How many agree, in all and in each half of the list."""
    for half in ("first", "second"):
        counts = Counter(row.verdict for row in judged if row.half == half)
        if counts[AGREES] + counts[DIFFERS]:
            yield f"{half} half of the list: {counts[AGREES]} agree, {counts[DIFFERS]} differ"


def document(outcomes: Sequence[Outcome], judged: Sequence[Row], repetitions: int) -> dict[str, Any]:
    """What `fidelity.json` holds and `--json` prints."""
    kernels = sorted({kept.kernel for outcome in outcomes for kept in outcome.live})
    return {
        "schema": SCHEMA,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "kernels": kernels,
        "sysctls": next((kept.sysctls for outcome in outcomes for kept in outcome.live), {}),
        "repetitions": repetitions,
        "rows": [row.as_json() for row in judged],
        "not_compared": [line for each in outcomes for line in not_compared(each.case, each.live)],
    }


def markdown(found: dict[str, Any], judged: Sequence[Row]) -> str:
    """The table as a page of Markdown: misses first, then everything."""
    lines = [
        f"Kernel {', '.join(found['kernels'])}, {found['repetitions']} repetitions, {found['date']}. Medians; the"
        " kernel's with the least and the greatest of its repetitions.",
        "",
        *(f"- {line}" for line in summary_lines(judged)),
        *(f"- not compared: {line}" for line in found["not_compared"]),
        "",
        "| case | control | quantity | simulated | kernel | rule | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in sorted(judged, key=lambda row: row.verdict != DIFFERS):
        simulated, kernel, low, high = (value(row, each) for each in (row.simulated, row.kernel, row.low, row.high))
        spread = "" if low == high else f" ({low} to {high})"
        rule = "" if row.rule is None else str(row.rule)
        lines.append(
            f"| {row.case} | {row.congestion} | {row.name} | {simulated} | {kernel}{spread} | {rule} | {row.verdict} |"
        )
    return "\n".join(lines) + "\n"


def all_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """The rows of all cases, in the order of the list."""
    return [row for outcome in outcomes for row in rows(outcome)]
