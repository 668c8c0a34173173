"""A sweep as a table for people: goodput and longest stall of each flow, or a program's results, at each point."""

from __future__ import annotations

from collections.abc import Callable

from baton.summary import Json
from baton.sweep.quantities import axis_parts
from baton.tables import NOTHING, count, scaled, seconds
from baton.text_table import Table

Shown = Callable[[float | None], str]
COLUMNS: dict[str, tuple[str, Shown]] = {
    "goodput_bps": ("Goodput", lambda value: scaled(value, "bit/s")),
    "completion_s": ("Completion", seconds),
    "longest_stall_s": ("Longest stall", seconds),
}


def print_sweep(found: Json) -> None:
    """Prints points and failures on standard output."""
    axes = list(dict.fromkeys(axis for point in found["points"] for axis in point["set"]))
    first, last = found["seeds"]
    print(f"{found['name']}: {count(len(found['points']))} points, seeds {first} to {last}")
    has_programs = any("program.longest_stall_s" in point["quantities"] for point in found["points"])
    print(_program_table(found, axes) if has_programs else _flow_table(found, axes))
    _print_failures(found)
    for run in found["untrusted"]:
        print(f"NOT TRUSTED {_where(found, run)}: {'; '.join(run['doubts'])}")


def _program_table(found: Json, axes: list[str]) -> Table:
    """Returns the table of live runs of a program: its longest stall, and the numbers that it reported."""
    names = {name for point in found["points"] for name in point["quantities"] if name.startswith("program.reported.")}
    shown = {name: (name.removeprefix("program.reported."), lambda value: f"{value:.4g}") for name in sorted(names)}
    columns: dict[str, tuple[str, Shown]] = {"program.longest_stall_s": ("Longest stall", seconds), **shown}
    heads = [each for head, _ in columns.values() for each in (head, "95 % interval")]
    table = Table(*map(_short, axes), "Runs", *heads, text_columns=len(axes))
    for point in found["points"]:
        values = [point["set"].get(axis, NOTHING) for axis in axes]
        cells = [
            cell for name, (_, show) in columns.items() for cell in _of_quantity(point["quantities"].get(name), show)
        ]
        table.add_row(*values, count(point["runs"]) + ("*" if point["stopped_early"] else ""), *cells)
    return table


def _flow_table(found: Json, axes: list[str]) -> Table:
    """Returns the table of goodput, completion and longest stall of each flow."""
    used = [key for key in COLUMNS if any(_has(point, key) for point in found["points"])]
    heads = [each for key in used for each in (COLUMNS[key][0], "95 % interval")]
    table = Table(*map(_short, axes), "Flow", "Runs", *heads, text_columns=len(axes) + 1)
    for point in found["points"]:
        names = [name for name in point["quantities"] if name.endswith(".goodput_bps") and name.startswith("flows.")]
        for flow in (name.split(".")[1] for name in names):
            values = [point["set"].get(axis, NOTHING) for axis in axes]
            cells = [cell for key in used for cell in _cells(point, flow, key)]
            table.add_row(*values, flow, count(point["runs"]) + ("*" if point["stopped_early"] else ""), *cells)
    if any(point["stopped_early"] for point in found["points"]):
        table.caption = "*: stopped early, the interval was narrow enough."
    return table


def _print_failures(found: Json) -> None:
    """Prints each failed point and seed with its reason; a traceback that several share is shown once."""
    before = None
    for failure in found["failures"]:
        *traceback, error = failure["reason"].split("\n")
        shown = error if traceback == before else failure["reason"]
        print(f"FAILED {_where(found, failure)}: {shown}")
        before = traceback


def _where(found: Json, run: Json) -> str:
    """Returns the point and the seed of a run, or the point alone."""
    point = ", ".join(f"{key} = {value}" for key, value in found["points"][run["point"]]["set"].items())
    return (point or "the scenario") + ("" if run["seed"] is None else f", seed {run['seed']}")


def _has(point: Json, key: str) -> bool:
    """Returns true if a flow has a value of this kind."""
    return any(name.startswith("flows.") and name.endswith(f".{key}") for name in point["quantities"])


def _short(axis: str) -> str:
    """Writes the last two parts of a key, one above the other."""
    return "\n".join(axis_parts(axis)[-2:])


def _cells(point: Json, flow: str, key: str) -> tuple[str, str]:
    _, shown = COLUMNS[key]
    return _of_quantity(point["quantities"].get(f"flows.{flow}.{key}"), shown)


def _of_quantity(each: Json | None, shown: Shown) -> tuple[str, str]:
    """Writes the mean and its interval."""
    if each is None:
        return NOTHING, NOTHING
    missing = f" ({each['values']} of {each['runs']})" if each["values"] < each["runs"] else ""
    between = NOTHING if each["low"] is None else f"{shown(each['low'])} to {shown(each['high'])}"
    return shown(each["mean"]) + missing, between
