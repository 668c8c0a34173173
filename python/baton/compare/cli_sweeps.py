"""`baton compare` of two sweeps: a table on the terminal, JSON, and a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from baton import tables
from baton.report import write_page
from baton.summary import Json
from baton.sweep import page
from baton.sweep.results import Difference, Sweep, differences, statistics
from baton.sweep.statistics import Statistics
from baton.sweep.tables import COLUMNS
from baton.text_table import Table

from .runs import folder_names
from .sweeps import AXIS, open_sweep, remarks, together

FORMAT = 1
"""Version of the output of `--json`."""


def run(path_a: Path, path_b: Path, *, as_json: bool) -> int:
    """Compares, prints and writes; returns the exit status."""
    a, b = open_sweep(path_a), open_sweep(path_b)
    sweep, said = together(a, b), list(remarks(a, b))
    found = statistics(sweep)
    compared = [each for each in differences(sweep) if each.axis == AXIS]
    joined = "-".join(each.folder.resolve().name for each in (a, b))
    file = Path("results") / f"compare-{joined}" / "report.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    swept = {key: value for key, value in a.manifest.items() if key != "live"}  # the remarks tell it of both
    report = write_page(file, page.page(sweep, found, compared, swept, said))
    if as_json:
        places = {"a": str(path_a), "b": str(path_b), "report": str(report)}
        print(json.dumps(places | to_json(sweep, found, compared) | {"remarks": said}))
        return 0
    names = folder_names(a.folder, b.folder)
    for name, path in zip(names, (path_a, path_b), strict=True):
        print(f"{name}: {path}")
    print(difference_table(sweep, found, compared, names))
    if said:
        print(f"Differences, and values not compared ({names[0]} / {names[1]}):")
    for remark in said:
        print(f"  {remark}")
    print(report)
    return 0


def to_json(sweep: Sweep, found: Sequence[dict[str, Statistics]], compared: Sequence[Difference]) -> Json:
    """Returns for each point of both sweeps the statistics of both, and of the paired differences."""
    points = []
    for each in compared:
        quantities = {
            name: {
                "a": found[each.base][name].to_json() if name in found[each.base] else None,
                "b": found[each.point][name].to_json() if name in found[each.point] else None,
                "difference": each.quantities[name].to_json() if name in each.quantities else None,
            }
            for name in sweep.quantities
        }
        points.append({"set": _values(sweep, each.base), "quantities": quantities})
    return {"format": FORMAT, "points": points}


def difference_table(
    sweep: Sweep, found: Sequence[dict[str, Statistics]], compared: Sequence[Difference], names: tuple[str, str]
) -> Table:
    """Returns a table with a row for each point, flow and kind of number."""
    axes = [axis for axis in sweep.axes if axis != AXIS]
    table = Table(*axes, "Flow", "Quantity", *names, "difference", "95 % interval", "Pairs", text_columns=len(axes) + 2)
    for each in compared:
        for name in sweep.quantities:
            parts = name.split(".")
            if len(parts) == 3 and parts[0] == "flows" and parts[2] in COLUMNS:
                values = [_values(sweep, each.base).get(axis, tables.NOTHING) for axis in axes]
                table.add_row(*values, parts[1], *_cells(name, parts[2], found, each))
    return table


def _cells(name: str, key: str, found: Sequence[dict[str, Statistics]], each: Difference) -> list[str]:
    title, shown = COLUMNS[key]
    means = [found[place][name].mean if name in found[place] else None for place in (each.base, each.point)]
    difference = each.quantities.get(name)
    if difference is None:
        return [title, *map(shown, means), tables.NOTHING, tables.NOTHING, "0"]
    between = f"{shown(difference.low)} to {shown(difference.high)}" if difference.low is not None else tables.NOTHING
    return [title, *map(shown, means), shown(difference.mean), between, str(difference.values)]


def _values(sweep: Sweep, place: int) -> dict[str, str]:
    return {axis: value for axis, value in sweep.values[place].items() if axis != AXIS}
