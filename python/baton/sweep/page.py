"""The page of a sweep: curves with intervals, a heat map, a box plot of each point, a table, and what failed."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

from baton.report.columns import ColumnStore
from baton.report.render import details, embedded, facts, fill, listed
from baton.report.text_tables import number, table
from baton.summary import Json
from baton.toml import loads

from . import live_identity
from .execute import column
from .quantities import axis_words, in_order, quantity
from .results import Difference, Sweep
from .statistics import Statistics
from .units import numbers

METHODS = (
    "Intervals are of the mean, at 95 %. Student's t where the number of runs is more than 25 times the squared"
    " skewness of the values (Cochran), every run has a value and the interval does not cross zero where no value does;"
    " else the bias-corrected and accelerated bootstrap (BCa, Efron 1987). Of fewer than ten, always Student's.\n"
    "Differences are paired: both points were run with the same seeds, and so met the same channel.\n"
    "If a flow did not finish in some runs, its mean is over the runs in which it did; the table gives their"
    " number. The same holds for every quantity."
)


def page(
    sweep: Sweep,
    found: Sequence[dict[str, Statistics]],
    compared: Sequence[Difference],
    swept: Json,
    remarks: Sequence[str] = (),
) -> bytes:
    """Returns the whole page as one HTML document.

    `swept` is what `sweep.json` holds; `remarks` are sentences that stand before the diagrams.
    """
    store = ColumnStore()
    data = _data(sweep, found, compared, store)
    runs = sum(len(point.counted(sweep.seeds)) for point in sweep.points)
    early = sum(point.enough is not None and point.enough < len(sweep.seeds) for point in sweep.points)
    told = [
        ("Points", number(len(sweep.points))),
        ("Runs that count" if sweep.untrusted else "Runs", number(runs)),
        ("Seeds", f"{sweep.seeds.start} to {sweep.seeds.stop - 1}"),
        ("Failed", number(len(sweep.failures))),
        ("Not to be trusted", number(len(sweep.untrusted)) if sweep.untrusted else ""),
        ("Stopped early", number(early) if early else ""),
    ]
    scenario = _scenario(swept)
    axes = ", ".join(map(axis_words, sweep.axes))
    build = " ".join(str(swept[key])[:12] for key in ("version", "commit") if swept.get(key))
    name, today = str(scenario.get("name", "")), date.today().isoformat()
    about = [("Scenario", name), ("Swept", axes), *_ran_live(sweep, swept), ("Made on", today), ("Baton", build)]
    parts = {
        "title": html.escape(name if sweep.name == "study" and name else sweep.name),
        "description": html.escape(str(scenario.get("description", ""))),
        "banner": "" if sweep.complete else _BANNER,
        "facts": facts([each for each in (*about, *told) if each[1]]),
        "before": _failures(sweep) + _untrusted(sweep) + listed("Differences, and values not compared", remarks),
        "details": details("Method of intervals and differences", METHODS),
        "data": embedded(data),
    }
    return fill("sweep.html", parts, ("decode.js", "page.js", "sweep.js"), store)


_BANNER = (
    '<p class="banner" role="status">This sweep was interrupted: the results below are from the runs that had'
    " ended.</p>"
)


def _scenario(swept: Json) -> Json:
    """Returns the scenario of the first point that has one."""
    resolved = next((point["resolved"] for point in swept.get("points", []) if point.get("resolved")), "")
    scenario: Json = loads(resolved)
    return scenario


def _ran_live(sweep: Sweep, swept: Json) -> list[tuple[str, str]]:
    """Describes live runs: the programs, and the machine, whose kernel may have been another one for some runs."""
    live = swept.get("live")
    if live is None:
        return []
    rows = (row for place in range(len(sweep.points)) for _, row in sweep.all_rows(place))
    kernels = sorted({str(row["live.kernel"]) for row in rows if row.get("live.kernel")})
    return [
        ("Runs", "live: in real time, one at a time, with the kernel's protocols"),
        *live_identity.program_words(live),
        ("Machine", live_identity.machine_words(live["machine"])),
        *([("Kernels of the runs", ", ".join(kernels))] if kernels != [live["machine"]["kernel"]] else []),
    ]


def _failures(sweep: Sweep) -> str:
    listed = [(each, each["reason"]) for each in sweep.failures]
    return _table_of_runs(sweep, "Failed", "Reason", listed)


def _untrusted(sweep: Sweep) -> str:
    listed = [(each, "; ".join(each["doubts"])) for each in sweep.untrusted]
    return _table_of_runs(sweep, "Not to be trusted, and counted nowhere", "Doubts", listed)


def _table_of_runs(sweep: Sweep, caption: str, head: str, runs: Sequence[tuple[Json, str]]) -> str:
    """Returns points, seeds and a text for each; nothing without runs."""

    def shown(run: Json, text: str) -> list[str]:
        point = ", ".join(f"{key} = {value}" for key, value in sweep.values[run["point"]].items())
        return [point or "the scenario", "all" if run["seed"] is None else str(run["seed"]), text]

    rows = [shown(*each) for each in runs]
    return table(caption, [("Point", ""), ("Seed", ""), (head, "")], rows, texts=3) if rows else ""


def _data(
    sweep: Sweep, found: Sequence[dict[str, Statistics]], compared: Sequence[Difference], store: ColumnStore
) -> Json:
    rows = [[row for _, row in sweep.rows(place)] for place in range(len(sweep.points))]
    everything = [row for each in rows for row in each]
    return {
        "axes": [_axis(name, values) for name, values in sweep.axes.items()],
        "points": [list(values.values()) for values in sweep.values],
        "runs": [len(each) for each in rows],
        "quantities": [
            {
                "name": each.name,
                "words": each.words,
                "unit": each.unit,
                "values": store.values(np.asarray(column(everything, each.name))),
                "points": [_numbers(point.get(each.name)) for point in found],
                "differences": [_numbers(other.quantities.get(each.name)) for other in compared],
            }
            for each in map(quantity, in_order(sweep.quantities))
        ],
        "differences": [{"axis": each.axis, "point": each.point, "base": each.base} for each in compared],
    }


def _axis(name: str, values: list[str]) -> dict[str, Any]:
    parsed = numbers(values)
    across = {"numbers": parsed and parsed[0], "unit": parsed[1] if parsed else ""}
    return {"name": name, "words": axis_words(name), "values": values} | across


def _numbers(each: Statistics | None) -> list[Any] | None:
    """Returns mean, ends of the interval, its method, values, runs, and quantiles."""
    if each is None:
        return None
    return [each.mean, each.low, each.high, each.method, each.values, each.runs, *each.quantiles.values()]
