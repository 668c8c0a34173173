"""The comparison as a table for the terminal, as JSON, and as Markdown, which docs/validation quotes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from baton import tables, version
from baton.live.trials import not_compared
from baton.summary import Json
from baton.text_table import Table
from baton.verdict import AGREES, DIFFERS

from .causes import Causes
from .execute import Outcome
from .judge import rows
from .kernel import MATCHED, others, warnings
from .rules import QUANTITIES, RULES

SCHEMA = 1
HALVES = {"first": "first half of the list", "second": "second half of the list"}
_NAMES = {quantity.key: quantity.name for quantity in QUANTITIES}


def document(outcomes: Sequence[Outcome], causes: Causes, repetitions: int, listed: int) -> dict[str, Any]:
    """Returns the contents of `fidelity.json` and of `--json`. `listed`: cases of the whole list."""
    kernels = sorted({kept.kernel for outcome in outcomes for kept in outcome.live})
    return {
        "schema": SCHEMA,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "version": version.installed(),
        "matched": MATCHED,
        "kernels": kernels,
        "sysctls": next((kept.sysctls for outcome in outcomes for kept in outcome.live), {}),
        "other_settings": [other.as_json() for other in others(outcomes)],
        "repetitions": repetitions,
        "cases": {"compared": sum(bool(outcome.compared) for outcome in outcomes), "listed": listed},
        "rows": [row.as_json() for outcome in outcomes for row in rows(outcome, causes)],
        "not_compared": [line for each in outcomes for line in not_compared(each.case, each.live)],
    }


def as_text(found: Json) -> str:
    """Returns the document as the text of a file, with a line for each row, so that two results can be compared."""
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in found["rows"])
    rest = json.dumps({key: value for key, value in found.items() if key != "rows"}, indent=1, ensure_ascii=False)
    return rest.removesuffix("\n}") + f',\n "rows": [\n{rows}\n ]\n}}\n'


def table(found: Json) -> Table:
    """Returns a table with one row per quantity of a case."""
    made = Table(
        "Case", "Control", "Quantity", "Simulated", "Kernel", "Least", "Greatest", "Rule", "Verdict", text_columns=3
    )
    for row in found["rows"]:
        values = (value(row, key) for key in ("simulated", "kernel", "kernel_low", "kernel_high"))
        made.add_row(row["case"], row["congestion"], name(row), *values, row["rule"] or "", row["verdict"])
    return made


def name(row: Json) -> str:
    """Returns the name of the quantity, with the number of the handover from the second on."""
    quantity, handover = _NAMES[row["quantity"]], row["handover"]
    return quantity if handover in (None, 1) else f"{quantity} {handover}"


def value(row: Json, key: str) -> str:
    """Writes a value with its unit."""
    number, unit = row[key], row["unit"]
    if number is None:
        return tables.NOTHING
    if unit == "s":
        return f"{number:.3g} s"
    return tables.scaled(number, unit) if unit else f"{number:g}"


def summary_lines(found: Json) -> Iterator[str]:
    """Yields the number of figures that agree in each half, the disturbed runs, and the kernels that differ."""
    for half, called in HALVES.items():
        counts = Counter(row["verdict"] for row in found["rows"] if row["half"] == half)
        if counts[AGREES] + counts[DIFFERS]:
            yield f"{called}: {counts[AGREES]} agree, {counts[DIFFERS]} differ"
    yield from (f"not compared: {each}" for each in found["not_compared"])
    yield from (f"warning: {each}" for each in warnings(found))


def misses(found: Json) -> list[Json]:
    """Returns the rows that differ."""
    return [row for row in found["rows"] if row["verdict"] == DIFFERS]


def markdown(found: Json) -> str:
    """Returns the whole comparison in Markdown: the differences with their causes first, then everything."""
    return "\n".join([*head(found), "", "Everything:", "", *markdown_table(found["rows"])]) + "\n"


def judged(found: Json) -> dict[str, list[Json]]:
    """Returns the rows that a rule judges, by the kind of their case."""
    kinds = {kind: [row for row in found["rows"] if row["kind"] == kind and row["rule"]] for kind in RULES}
    return {kind: listed for kind, listed in kinds.items() if listed}


def head(found: Json) -> Iterator[str]:
    """Yields the cases that were run, the number of figures that agree, and those that differ."""
    cases = found["cases"]
    yield (
        f"Kernel {', '.join(found['kernels'])} beside Baton {found['version']}, whose profile linux-6 was matched to"
        f" {found['matched']}; {found['date']}. {cases['compared']} of the list's {cases['listed']} cases, each with"
        f" {found['repetitions']} repetitions. Medians; the kernel's with the least and the greatest of its"
        " repetitions."
    )
    yield from ("", *(f"- {line}" for line in summary_lines(found)), "")
    yield from _counts(found["rows"])
    differing = misses(found)
    if differing:
        yield from ("", "Differences:", "")
        yield from ("| case | control | figure | simulated | kernel | rule | why |", "|---|---|---|---|---|---|---|")
        yield from (f"{_cells(row)} {row['cause']} |" for row in differing)


def _counts(listed: Sequence[Json]) -> Iterator[str]:
    """Yields the number of figures of each kind of case that agree, by control."""
    controls = list(dict.fromkeys(row["congestion"] for row in listed))
    yield f"| cases | {' | '.join(controls)} |"
    yield "|---" * (1 + len(controls)) + "|"
    for kind in RULES:
        cells = []
        for control in controls:
            verdicts = [row["verdict"] for row in listed if (row["kind"], row["congestion"]) == (kind, control)]
            agreeing, judged = verdicts.count(AGREES), verdicts.count(AGREES) + verdicts.count(DIFFERS)
            cells.append(f"{agreeing} of {judged} agree" if judged else tables.NOTHING)
        if any(cell != tables.NOTHING for cell in cells):
            yield f"| {kind} | {' | '.join(cells)} |"


def markdown_table(listed: Sequence[Json]) -> Iterator[str]:
    """Yields rows in Markdown."""
    yield from ("| case | control | figure | simulated | kernel | rule | verdict |", "|---|---|---|---|---|---|---|")
    yield from (f"{_cells(row)} {row['verdict']} |" for row in listed)


def _cells(row: Json) -> str:
    simulated, kernel, low, high = (value(row, key) for key in ("simulated", "kernel", "kernel_low", "kernel_high"))
    spread = "" if low == high else f" ({low} to {high})"
    cells = (row["case"], row["congestion"], name(row), simulated, kernel + spread, row["rule"] or "")
    return f"| {' | '.join(cells)} |"
