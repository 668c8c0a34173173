"""The page of a comparison, made of the parts of a run's report."""

from __future__ import annotations

import html
from pathlib import Path

from baton.report import write_page
from baton.report.render import assemble, details, facts, listed, scenario_text
from baton.report.tables import Run
from baton.report.text_tables import ABSENT, number, quantity, table

from .figures import describe
from .measure import Comparison, Quantity
from .runs import kind, names_of


def write(comparison: Comparison, file: Path) -> Path:
    """Writes the page and returns its path. Raises `OSError`."""
    a, b = comparison.a, comparison.b
    names = names_of(a, b)
    parts = {
        "title": html.escape(f"{names[0]} and {names[1]}"),
        "description": html.escape(
            f"Two runs compared: {names[0]} is drawn solid and dark, {names[1]} dashed and light."
        ),
        "banner": "",
        "facts": facts([(html.escape(name), _run(run)) for name, run in zip(names, (a, b), strict=True)]),
        "tables": _quantities(comparison, names)
        + _signalling(comparison, names)
        + listed(f"Differences, and values not compared ({names[0]} / {names[1]})", comparison.remarks),
        "details": "".join(
            details(f"Scenario of {side}, as it was run", scenario_text(run.manifest))
            for side, run in zip(names, (a, b), strict=True)
            if run.manifest.get("resolved")
        ),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    return write_page(file, assemble(parts, describe(comparison)))


def _run(run: Run) -> str:
    seed = run.summary.get("seed", run.manifest.get("seed"))
    named = run.manifest.get("scenario") or run.summary.get("scenario")
    return ", ".join([str(named), *([] if seed is None else [f"seed {seed}"]), kind(run)])


def _quantities(comparison: Comparison, names: tuple[str, str]) -> str:
    heads = [("Flow", ""), ("Quantity", ""), (names[0], ""), (names[1], ""), ("difference", ""), ("relative", "%")]
    rows = []
    for pair in comparison.pairs:
        for place, each in enumerate(pair.quantities):
            shown = [_value(each, value) for value in (each.a, each.b, each.difference)]
            share = None if each.relative is None else 100 * each.relative
            rows.append([pair.name if place == 0 else "", each.name, *shown, number(share)])
    return table("Comparison", heads, rows, texts=2) if rows else ""


def _signalling(comparison: Comparison, names: tuple[str, str]) -> str:
    heads = [("Handover", ""), ("Step", ""), (names[0], "ms"), (names[1], "ms"), ("difference", "ms")]
    rows = []
    for pair in comparison.handovers:
        for place, step in enumerate(pair.steps):
            times = [None if time is None else 1000 * time for time in (step.a, step.b, step.difference)]
            rows.append([str(pair.number) if place == 0 else "", step.name, *map(number, times)])
    return table("Signalling after each handover began", heads, rows, texts=2) if rows else ""


def _value(of: Quantity, value: float | None) -> str:
    if value is None:
        return ABSENT
    if of.unit in ("bit/s", "B"):
        return quantity(value, of.unit)
    return f"{number(value)}\u00a0{of.unit}".strip()
