"""The page of a comparison, made of the parts of a run's report."""

from __future__ import annotations

import html
from pathlib import Path

from baton.report import write_page
from baton.report.render import assemble, details, facts, scenario_text
from baton.report.tables import Run
from baton.report.text_tables import ABSENT, number, quantity, table

from .figures import describe
from .measure import Comparison, Quantity
from .runs import kind


def write(comparison: Comparison, file: Path) -> Path:
    """Writes the page and returns its path. Raises `OSError`."""
    a, b = comparison.a, comparison.b
    parts = {
        "title": html.escape(f"{a.folder.name} and {b.folder.name}"),
        "description": "Two runs compared: A is drawn solid and dark, B dashed and light.",
        "banner": "",
        "facts": facts([("A", _run(a)), ("B", _run(b))]),
        "tables": _quantities(comparison) + _remarks(comparison),
        "details": details("Scenario of A, as it was run", scenario_text(a.manifest))
        + details("Scenario of B, as it was run", scenario_text(b.manifest)),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    return write_page(file, assemble(parts, describe(comparison)))


def _run(run: Run) -> str:
    seed = run.summary.get("seed", run.manifest.get("seed"))
    return f"{run.manifest.get('scenario') or run.summary.get('scenario')}, seed {seed}, {kind(run)}"


def _quantities(comparison: Comparison) -> str:
    heads = [("Flow", ""), ("Quantity", ""), ("A", ""), ("B", ""), ("B \u2212 A", ""), ("relative", "%")]
    rows = []
    for pair in comparison.pairs:
        for place, each in enumerate(pair.quantities):
            shown = [_value(each, value) for value in (each.a, each.b, each.difference)]
            share = None if each.relative is None else 100 * each.relative
            rows.append([pair.name if place == 0 else "", each.name, *shown, number(share)])
    return table("Comparison", heads, rows, texts=2) if rows else ""


def _value(of: Quantity, value: float | None) -> str:
    if value is None:
        return ABSENT
    if of.unit in ("bit/s", "B"):
        return quantity(value, of.unit)
    return f"{number(value)}\u00a0{of.unit}".strip()


def _remarks(comparison: Comparison) -> str:
    if not comparison.remarks:
        return ""
    items = "".join(f"<li>{html.escape(remark)}</li>" for remark in comparison.remarks)
    return f"<section><h2>What differs, or is not compared (A / B)</h2><ul>{items}</ul></section>"
