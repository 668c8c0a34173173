"""`baton compare`: a table on the terminal, JSON, and a page."""

from __future__ import annotations

import json
from pathlib import Path

from baton import tables
from baton.report.tables import Run
from baton.text_table import Table

from . import cli_sweeps, page
from .measure import Comparison, FlowPair, Quantity, compare
from .runs import kind, names_of, open_both
from .signalling import HandoverPair
from .sweeps import is_sweep

FORMAT = 1
"""Version of the output of `--json`."""
# Remarks that are printed; the page and `--json` have all.
MOST_REMARKS = 20


def run(path_a: Path, path_b: Path, *, as_json: bool) -> int:
    """Compares, prints and writes; returns the exit status."""
    if is_sweep(path_a) or is_sweep(path_b):
        return cli_sweeps.run(path_a, path_b, as_json=as_json)
    comparison = compare(*open_both(path_a, path_b))
    joined = "-".join(run.folder.resolve().name for run in (comparison.a, comparison.b))
    report = page.write(comparison, Path("results") / f"compare-{joined}" / "report.html")
    if as_json:
        print(json.dumps(to_json(comparison) | {"report": str(report)}))
        return 0
    names = names_of(comparison.a, comparison.b)
    for side, of in zip(names, (comparison.a, comparison.b), strict=True):
        print(f"{side}: {of.folder} ({kind(of)})")
    for pair in comparison.pairs:
        print(pair_table(pair, names))
    for handover in comparison.handovers:
        print(handover_table(handover, names))
    if comparison.remarks:
        print(f"Differences, and values not compared ({names[0]} / {names[1]}):")
    for remark in comparison.remarks[:MOST_REMARKS]:
        print(f"  {remark}")
    if len(comparison.remarks) > MOST_REMARKS:
        print(f"  and {len(comparison.remarks) - MOST_REMARKS} more differences, which the page lists")
    print(report)
    return 0


def to_json(comparison: Comparison) -> dict[str, object]:
    """Returns the comparison as `--json` prints it."""

    def of(run: Run) -> dict[str, object]:
        known = {key: run.summary.get(key) for key in ("scenario", "seed", "simulated_s")}
        return {"folder": str(run.folder), "kind": kind(run), **known}

    flows = [
        {"a": pair.a, "b": pair.b, "quantities": [each.to_json() for each in pair.quantities]}
        for pair in comparison.pairs
    ]
    return {
        "format": FORMAT,
        "a": of(comparison.a),
        "b": of(comparison.b),
        "flows": flows,
        "handovers": [handover.to_json() for handover in comparison.handovers],
        "remarks": comparison.remarks,
    }


def pair_table(pair: FlowPair, names: tuple[str, str]) -> Table:
    """Returns a table with one row per quantity."""
    table = Table(pair.name, *names, "difference", "relative", text_columns=1)
    for each in pair.quantities:
        share = tables.NOTHING if each.relative is None else f"{100 * each.relative:+.1f} %"
        table.add_row(each.name, *(_value(each, value) for value in (each.a, each.b, each.difference)), share)
    return table


def handover_table(pair: HandoverPair, names: tuple[str, str]) -> Table:
    """Returns a table with one row per step, with its times in milliseconds."""
    table = Table(f"handover {pair.number}: ms after its start", *names, "difference", text_columns=1)
    for step in pair.steps:
        table.add_row(step.name, *(_milliseconds(time) for time in (step.a, step.b, step.difference)))
    return table


def _milliseconds(time_s: float | None) -> str:
    return tables.NOTHING if time_s is None else f"{1000 * time_s:.1f}"


def _value(of: Quantity, value: float | None) -> str:
    if value is None:
        return tables.NOTHING
    if of.unit == "s":
        return f"{value:.4g} s"
    return tables.scaled(value, of.unit) if of.unit else tables.count(round(value))
