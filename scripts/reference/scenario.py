"""The keys of scenario files, from the JSON Schema, whose texts are the comments of the Rust types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from baton import json_schema

from . import GENERATED, table
from .scenario_sections import SECTIONS, Section

Schema = dict[str, Any]

INTRODUCTION = """\
# Scenario files

{generated}

Every key of a scenario, with what it may hold and what it is without being given. `baton schema` prints the same as a JSON
Schema for your editor; `baton check FILE` says of a file what is wrong, and where. How to begin one:
[Write a scenario](../how-to/write-a-scenario.md). What the values mean in a model: [the models' pages](../models/README.md).

Any key can be set for one run, `--set links.lan.rate="1 Mbit/s"`, elements of arrays by their name (`flows.download.bytes`)
or their place from 0 (`mobiles.laptop.timetable.1.at`).

## Values

Quantities are texts with their unit; a number without one is refused.

{units}
"""

# How a value is described whose schema names a format: the name, what it holds, an example.
FORMATS = {
    "time": ("time", "`ns`, `us`, `ms`, `s`, `min`, `h`, `d`; from 0 to ten years", '`"20 ms"`'),
    "positive-time": ("time above 0", "the same, but not 0", '`"1.5 s"`'),
    "delay": ("time", "", ""),
    "data-rate": ("rate", "`bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`; from 1 bit/s to 1000 Gbit/s", '`"5 Mbit/s"`'),
    "size": ("size", "`B`, `kB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`; from 1 B to 1000000 GB", '`"16 kB"`'),
    "queue-size": ("queue size", "`packets`, or a size; at least 1", '`"100 packets"`, `"64 kB"`'),
    "ip-prefix": ("home prefix", "an IPv6 prefix of at most 64 bits, or an IPv4 prefix of at most 30",
                  '`"2001:db8:1::/64"`, `"192.0.2.0/24"`'),
    "distance": ("distance", "`m`, `km`, `ft`, `NM`; from 0 to 100000 km", '`"225 km"`'),
    "speed": ("speed", "`m/s`, `km/h`, `kt`; above 0", '`"800 km/h"`'),
    "frequency": ("frequency", "`kHz`, `MHz`, `GHz`; from 1 kHz to 1000 GHz", '`"993.5 MHz"`'),
    "power": ("power", "`dBm`; from -300 dBm to 300 dBm", '`"-95 dBm"`'),
    "ipv6-prefix": ("prefix", "an IPv6 prefix of at most 64 bits", '`"2001:db8:1::/64"`'),
    "name": ("name", "1 to 64 letters, digits, `-` and `_`, the first a letter or digit", '`"download"`'),
    "python-class": ('`"python:module.Class"`', "a [congestion control in Python](../how-to/write-a-congestion-control.md)",
                     '`"python:mine.Reno"`'),
}  # fmt: skip

DEFAULT = re.compile(r"\s*\bDefault:? (.+?)\.(?=\s+[A-Z]|$)")


def page() -> str:
    """The page. Raises `ValueError` if a key of the schema is in no section, or has no default."""
    schema = json.loads(json_schema())
    units = table(["value", "units and range", "like"], [list(row) for row in FORMATS.values() if row[1]])
    parts = [INTRODUCTION.format(generated=GENERATED, units=units)]
    shown: set[frozenset[str]] = set()
    for section in SECTIONS:
        found = at(schema, section.path)
        hidden = set(at(schema, section.without)["properties"]) if section.without else set()
        shown.add(frozenset(found["properties"]))
        parts.append(render(section, found, hidden))
    for names in tables_of(schema):
        if not any(table_keys.issuperset(names) for table_keys in shown):
            raise ValueError(f"scripts/reference/scenario_sections.py shows no table with the keys {', '.join(names)}")
    return "\n".join(parts).rstrip() + "\n"


def at(schema: Schema, path: str) -> Schema:
    """The table at a path like `links.*.queue`: of values that are alternatives, the one that is a table."""
    for step in path.split(".") if path else []:
        schema = table_in(schema["additionalProperties"] if step == "*" else schema["properties"][step])
    return schema


def table_in(schema: Schema) -> Schema:
    """The table that a value is, or that it holds."""
    if "items" in schema:
        return table_in(schema["items"])
    for each in schema.get("anyOf", []):
        if "properties" in each:
            return dict(each)
    return schema


def tables_of(schema: Any) -> Iterator[list[str]]:
    """The keys of every table in the schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
            yield list(schema["properties"])
        for value in schema.values():
            yield from tables_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from tables_of(value)


def render(section: Section, found: Schema, hidden: set[str]) -> str:
    """A section: its words, its keys, its example. Raises `ValueError` for a key that the example lacks."""
    rows = []
    for name, value in found["properties"].items():
        if name in hidden:
            continue
        if not re.search(rf"\b{name}\b", section.example):
            raise ValueError(f"{section.title}: the example has no `{name}`")
        meaning, default = split_default(
            " ".join(value.get("description", "").split()), name in found.get("required", []), section
        )
        rows.append([f"`{name}`", kind(value), default, " ".join([meaning, *words(value)])])
    example = f"```toml\n{section.example.strip()}\n```\n"
    head = f"{section.level} {section.title}\n\n{section.text.strip()}\n"
    return f"{head}\n{table(['key', 'value', 'default', 'meaning'], rows)}\n\n{example}"


def split_default(description: str, required: bool, section: Section) -> tuple[str, str]:
    """The comment without the sentence about the default, and what that sentence says."""
    found = DEFAULT.search(description)
    if required:
        return description, "required"
    if found is None and section.default:
        return description, section.default
    if found is None:
        raise ValueError(f"{section.title}: no `Default …` in the comment {description!r}")
    default = found[1] if found[0].strip().startswith("Default:") else re.sub(r'"[^"]*"|^[\w.]+', r"`\g<0>`", found[1])
    return (description[: found.start()] + description[found.end() :]).strip(), default


def kind(value: Schema) -> str:
    """What a value is, in a few words."""
    if "const" in value:
        return f'`"{value["const"]}"`'
    for list_name in ("oneOf", "anyOf"):
        if list_name in value:
            return " or ".join(dict.fromkeys(kind(each) for each in value[list_name]))
    if "enum" in value:
        return " or ".join(f'`"{each}"`' for each in value["enum"])
    if value["type"] == "array":
        return array(value)
    if value["type"] == "object":
        return "table"
    if value["type"] == "string":
        return FORMATS[value["format"]][0] if "format" in value else "text"
    return {"boolean": "`true` or `false`"}.get(value["type"]) or number(value)


def array(value: Schema) -> str:
    """What an array is."""
    if "properties" in value["items"]:
        return "array of tables"
    if "maxItems" in value:
        least, most = value["minItems"], value["maxItems"]
        return f"array of {most if least == most else f'{least} to {most}'} texts"
    return "array of texts"


def number(value: Schema) -> str:
    """A number and its range."""
    what = "whole number" if value["type"] == "integer" else "number"
    low, high = value.get("minimum"), value.get("maximum")
    if high is None:
        return f"{what} from {low:g}"
    return f"{what} from {low:g} to {high:g}"


def words(value: Schema) -> list[str]:
    """What each of a value's words means."""
    named = [each for each in value.get("oneOf", []) if "const" in each and each.get("description")]
    return [f'<br>`"{each["const"]}"`: {each["description"]}' for each in named]
