"""The keys of scenario files, a page a table, from the JSON Schema, whose texts are the comments of the Rust types."""

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

Every key, its allowed values and its default. `baton schema` prints the same as a JSON Schema for your editor;
`baton check FILE` lists the mistakes in a file, with their lines. To begin one: [Write a scenario](../how-to/write-a-scenario.md).
What a value does: [the models' pages](../models/README.md).

Any key can be set for one run, `--set links.lan.rate="1 Mbit/s"`, elements of arrays by their name (`flows.download.bytes`)
or their place from 0 (`mobiles.laptop.timetable.1.at`).

## Values

Quantities are texts with their unit; a number without one is refused.

{units}

## Tables

Each has a page.

{tables}

## The whole file

{whole}
"""

# Description of a value whose schema names a format: the name, what it holds, an example.
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


def pages() -> dict[str, str]:
    """The pages, by their file. Raises `ValueError` if a key of the schema is in no section, or has no default."""
    schema = json.loads(json_schema())
    keys = {section.path: keys_of(schema, section) for section in SECTIONS}
    for names in tables_of(schema):
        if not any(set(at(schema, path)["properties"]).issuperset(names) for path in keys):
            raise ValueError(f"scripts/reference/scenario_sections.py shows no table with the keys {', '.join(names)}")
    whole, *others = SECTIONS
    units = table(["value", "units and range", "like"], [list(row) for row in FORMATS.values() if row[1]])
    index = table(
        ["table", "keys"],
        [[f"[{title(each)}]({file(each)})", ", ".join(f"`{key}`" for key in keys[each.path])] for each in others],
    )
    first = INTRODUCTION.format(
        generated=GENERATED, units=units, tables=index, whole=body(schema, whole, keys[whole.path]).rstrip()
    )
    return {"scenario.md": first, **{file(each): page(schema, each, keys[each.path]) for each in others}}


def title(section: Section) -> str:
    """A table's name, as a file has it: `links.NAME.queue`."""
    if section.path == "links.*.down":
        return "Keys of a direction"
    return section.path.replace("*", "NAME").replace(".down.", ".")


def file(section: Section) -> str:
    """The page of a table, in the folder of the reference."""
    return f"scenario/{section.path.replace('.*', '').replace('.down.', '.').replace('.', '-')}.md"


def keys_of(schema: Schema, section: Section) -> list[str]:
    """The keys that a section shows."""
    hidden = at(schema, section.without)["properties"] if section.without else {}
    return [key for key in at(schema, section.path)["properties"] if key not in hidden]


def page(schema: Schema, section: Section, keys: list[str]) -> str:
    """The page of a table."""
    back = "All tables: [Scenario files](../scenario.md)."
    return f"# {title(section)}\n\n{GENERATED}\n\n{body(schema, section, keys)}\n{back}\n"


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


def body(schema: Schema, section: Section, keys: list[str]) -> str:
    """A table's words, keys and example. Raises `ValueError` for a key that the example lacks."""
    found, rows = at(schema, section.path), []
    # Keys of one kind of table stand in the page of its model.
    of_kinds = {name for branch in found.get("oneOf", []) for name in branch.get("properties", {})}
    for name in keys:
        value = found["properties"][name]
        if name not in of_kinds and not re.search(rf"\b{name}\b", section.example):
            raise ValueError(f"{section.path}: the example has no `{name}`")
        meaning, default = split_default(
            " ".join(value.get("description", "").split()), name in found.get("required", []), section
        )
        rows.append([f"`{name}`", kind(value), default, " ".join([meaning, *words(value)])])
    listed = table(["key", "value", "default", "meaning"], rows)
    return f"{section.text.strip()}\n\n{listed}\n\n```toml\n{section.example.strip()}\n```\n"


def split_default(description: str, required: bool, section: Section) -> tuple[str, str]:
    """The comment without the sentence about the default, and what that sentence says."""
    found = DEFAULT.search(description)
    if required:
        return description, "required"
    if found is None and section.default:
        return description, section.default
    if found is None:
        raise ValueError(f"{section.path}: no `Default …` in the comment {description!r}")
    default = found[1] if found[0].strip().startswith("Default:") else re.sub(r'"[^"]*"|^[\w.]+', r"`\g<0>`", found[1])
    return (description[: found.start()] + description[found.end() :]).strip(), default


def kind(value: Schema) -> str:
    """Returns the kind of a value, in a few words."""
    if value.get("type") == "object":
        return "table"
    if "const" in value:
        return f'`"{value["const"]}"`'
    for list_name in ("oneOf", "anyOf"):
        if list_name in value:
            return " or ".join(dict.fromkeys(kind(each) for each in value[list_name]))
    if "enum" in value:
        return " or ".join(f'`"{each}"`' for each in value["enum"])
    if value["type"] == "array":
        return array(value)
    if value["type"] == "string":
        return FORMATS[value["format"]][0] if "format" in value else "text"
    return {"boolean": "`true` or `false`"}.get(value["type"]) or number(value)


def array(value: Schema) -> str:
    """Returns the kind of an array."""
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
    """Returns the meanings of a value's words."""
    named = [each for each in value.get("oneOf", []) if "const" in each and each.get("description")]
    return [f'<br>`"{each["const"]}"`: {each["description"]}' for each in named]
