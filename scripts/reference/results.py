"""Tables of the page on results: columns, series, the keys of the summary."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import pyarrow

from baton import Scenario
from baton.shipped import scenario_path
from baton.summary import LiveSummary, ObservedFlow, Summary, object_in

from . import table

SIGNALLING = """\
name = "signalling"
duration = "1 s"
links.cell = { between = ["agent", "aircraft"], kind = "wired", rate = "1 Mbit/s", delay = "1 ms" }
home_agents.agent.prefix = "2001:db8::/64"
[mobiles.aircraft]
timetable = [{ at = "0 s", attach = "cell" }]
mobility = { protocol = "mobile-ipv6", home_agent = "agent", home_link = "cell" }
"""


@cache
def recorded() -> dict[str, pyarrow.Table]:
    """Returns the tables of a run, by their names."""
    result = Scenario.load(scenario_path("wavelan-to-gsm"), ["duration=15 s"]).run()
    signals = Scenario.parse(SIGNALLING).run().signals
    return {
        name: pyarrow.table(each)
        for name, each in (("packets", result.packets), ("series", result.series), ("signals", signals))
    }


def description(found: pyarrow.Table) -> dict[str, Any]:
    """Returns the dictionary that a table carries."""
    ((_, text),) = [item for item in found.schema.metadata.items() if item[0].startswith(b"baton.")]
    return dict(json.loads(text))


def columns(name: str) -> str:
    """Returns the columns of a table. Raises `ValueError` if one is not described."""
    found = recorded()[name]
    described = description(found)["columns"]
    if found.column_names != [each["name"] for each in described]:
        raise ValueError(f"columns {found.column_names}, but described are {[each['name'] for each in described]}")
    rows = [
        [f"`{each['name']}`", type_name(found.schema.field(each["name"])), each["unit"], f"{each['description']}."]
        for each in described
    ]
    return table(["column", "type", "unit", "meaning"], rows)


def type_name(field: pyarrow.Field) -> str:
    """Returns a column's type, in Arrow's words."""
    kind = field.type.value_type if pyarrow.types.is_dictionary(field.type) else field.type
    text = "list of " + str(kind.value_type) if pyarrow.types.is_list(kind) else str(kind)
    return text + (", or null" if field.nullable else "")


def series() -> str:
    """Returns the series that the column `series` may name."""
    described = description(recorded()["series"])["series"]
    rows = [[f"`{each['name']}`", each.get("unit") or "", f"{each['description']}."] for each in described]
    return table(["series", "unit", "meaning"], rows)


def summary() -> str:
    """Returns a table for the summary and for every object in it."""
    parts = ["### Of every run\n", keys(Summary, "")]
    pending = [*inner(Summary, ""), ("flows[]", ObservedFlow), ("", LiveSummary), *inner(LiveSummary, "")]
    shown: list[Any] = [Summary]
    while pending:
        path, kind = pending.pop(0)
        if kind in shown:
            continue
        shown.append(kind)
        where = "Of a live run" if not path else f"`{path}` of a live run" if kind is ObservedFlow else f"`{path}`"
        about = f"\n{kind.__doc__}\n" if kind.__doc__ else ""
        parts += [f"### {where}\n{about}", keys(kind, path)]
        pending = [*inner(kind, path), *pending]
    return "\n".join(parts).rstrip()


def keys(kind: Any, path: str) -> str:
    """Returns the keys of an object. Raises `ValueError` for one without a description."""
    hidden = get_type_hints(Summary) if kind is LiveSummary else {}
    rows = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if name in hidden:
            continue
        if not hasattr(hint, "__metadata__"):
            raise ValueError(f"{kind.__name__}.{name}: has no description in python/baton/summary.py")
        rows.append([f"`{name}`", json_type(hint.__origin__), f"{hint.__metadata__[0]}."])
    return table(["key", "type", "meaning"], rows) + "\n"


def inner(kind: Any, path: str) -> list[tuple[str, Any]]:
    """Returns objects in an object, with their paths."""
    found = []
    for name, hint in get_type_hints(kind).items():
        is_list = get_origin(hint) is list
        item = get_args(hint)[0] if is_list else object_in(hint)
        if is_typeddict(item):
            found.append((f"{path}{'.' if path else ''}{name}{'[]' if is_list else ''}", item))
    return found


def json_type(hint: Any) -> str:
    """Returns a type in JSON's words."""
    names = {str: "text", int: "whole number", float: "number", bool: "true or false", type(None): "null"}
    if hint in names:
        return names[hint]
    if is_typeddict(hint) or get_origin(hint) is dict:
        return "object"
    if get_origin(hint) is list:
        return f"array of {json_type(get_args(hint)[0])}s"
    return " or ".join(json_type(each) for each in get_args(hint))
