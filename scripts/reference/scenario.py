"""Tables of the keys of scenario files, from the JSON Schema, whose texts are the comments of the Rust types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from baton._baton import json_defaults, json_schema

from . import table

Schema = dict[str, Any]

SCHEMA: Schema = json.loads(json_schema())
DEFAULTS: dict[str, Any] = json.loads(json_defaults())
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "scenario"
"""Pages of the tables, each with one mark."""

# Description of a value whose schema names a format: the name, the range, an example.
FORMATS = {
    "time": ("time", "`ns`, `us`, `ms`, `s`, `min`, `h`, `d`; from 0 to ten years", '`"20 ms"`'),
    "positive-time": ("time above 0", "the same, but not 0", '`"1.5 s"`'),
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
    "python-class": ('`"python:module.Class"`',
                     "a [congestion control in Python](../how-to/write-a-congestion-control.md)",
                     '`"python:mine.Reno"`'),
}  # fmt: skip

DEFAULT = re.compile(r"\s*\bDefault:? (.+?)\.(?=\s+[A-Z]|$)")


def units() -> str:
    """Returns the kinds of quantities, with their units."""
    return table(["value", "units and range", "like"], [list(row) for row in FORMATS.values()])


def tables() -> str:
    """Returns the tables of the format, each with its page and keys."""
    rows = []
    for page in sorted(FOLDER.glob("*.md")):
        path = path_of(page)
        name = "Keys of a direction" if path == "links.*.down" else path.replace("*", "NAME").replace(".down.", ".")
        keys = ", ".join(f"`{key}`" for key in keys_of(at(path)))
        rows.append([f"[{name}](scenario/{page.name})", keys])
    return table(["table", "keys"], rows)


def path_of(page: Path) -> str:
    """Returns the place in the schema of the table that a page shows."""
    found = re.search(r"<!-- generated: scenario (\S+) -->", page.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{page.name}: has no mark `<!-- generated: scenario PATH -->`")
    return found[1]


def scenario(path: str = "") -> str:
    """Returns a table of the format: its keys, and below them those of each of its kinds."""
    found = at(path)
    tag, kinds = kinds_of(found)
    of_kinds = {name for each in kinds for name in each["properties"]} - {tag}
    shared = {name: entry for name, entry in keys_of(found).items() if name not in of_kinds}
    listed = [rows(shared, found.get("required", []))]
    for each in kinds:
        if own := {name: entry for name, entry in each["properties"].items() if name != tag}:
            kind = each["properties"][tag]["const"]
            otherwise = "the profile's" if (path, kind) == ("flows.transport", "tcp") else ""
            listed += [f'With `{tag} = "{kind}"`:', rows(own, each.get("required", []), otherwise=otherwise)]
    return "\n\n".join(listed)


def keys_of(found: Schema) -> Schema:
    """Returns the keys of a table; keys of a direction, which may stand in it too, have a page of their own."""
    own: Schema = found["properties"]
    merged = table_in(own["down"])["properties"] if "down" in own else {}
    return {name: entry for name, entry in own.items() if name not in merged}


def kinds_of(found: Schema) -> tuple[str, list[Schema]]:
    """Returns the key that tells a table's kind, and the kinds; none if all its tables have the same keys."""
    kinds = [each for each in found.get("oneOf", []) if "propertyNames" in each]
    return (next(iter(kinds[0]["properties"])) if kinds else ""), kinds


@cache
def at(path: str) -> Schema:
    """Returns the table at a path like `links.*.queue`: of values that are alternatives, the one that is a table."""
    schema = SCHEMA
    for step in path.split(".") if path else []:
        schema = table_in(schema["additionalProperties"] if step == "*" else value_of(schema, step))
    return schema


def value_of(schema: Schema, key: str) -> Schema:
    """Returns the schema of a table's key; for a key that differs from kind to kind, that of the first kind with it."""
    shared: Schema = schema["properties"][key]
    if shared.keys() != {"description"}:
        return shared
    found: Schema = next(each["properties"][key] for each in schema["oneOf"] if key in each["properties"])
    return found


def table_in(schema: Schema) -> Schema:
    """Returns the table that a value is, or that it holds."""
    if "items" in schema:
        return table_in(schema["items"])
    for each in schema.get("anyOf", []):
        if "properties" in each:
            return dict(each)
    return schema


def every_table(schema: Any = SCHEMA) -> Iterator[list[str]]:
    """Yields the keys of every table in the schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
            yield list(schema["properties"])
        for value in schema.values():
            yield from every_table(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from every_table(value)


def rows(
    entries: Schema,
    required: list[str],
    values: dict[str, Any] | None = None,
    heading: str = "default",
    otherwise: str = "",
) -> str:
    """Returns a table of keys: the kind of value, the default, the meaning. `values` are defaults of the engine that
    the schema lacks; `otherwise` is the default of keys for which neither has one. Raises `ValueError` for a key
    without any."""
    listed = []
    for name, entry in entries.items():
        meaning, told = split_default(" ".join(entry.get("description", "").split()))
        if values and values.get(name) is not None:
            default = literal(values[name])
        elif name in required:
            default = "required"
        elif "default" in entry:
            default = literal(entry["default"])
        elif told or otherwise:
            default = told or otherwise
        else:
            raise ValueError(f"`{name}`: no `Default …` in the comment {meaning!r}")
        listed.append([f"`{name}`", kind(entry), default, " ".join([meaning, *words(entry)])])
    return table(["key", "value", heading, "meaning"], listed)


def split_default(description: str) -> tuple[str, str]:
    """Returns the comment without the sentence about the default, and that sentence's words."""
    found = DEFAULT.search(description)
    if found is None:
        return description, ""
    words = found[1] if found[0].strip().startswith("Default:") else re.sub(r'"[^"]*"|^[\w.]+', r"`\g<0>`", found[1])
    return (description[: found.start()] + description[found.end() :]).strip(), words


def literal(value: Any) -> str:
    """Returns a value as a file has it."""
    return f"`{value:g}`" if isinstance(value, float) else f"`{json.dumps(value)}`"


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
    """Returns a number and its range."""
    of = "whole number" if value["type"] == "integer" else "number"
    low, high = (None if each is None else plain(each) for each in (value.get("minimum"), value.get("maximum")))
    return f"{of} from {low}" if high is None else f"{of} from {low} to {high}"


def plain(bound: float) -> str:
    """Returns a bound without an exponent."""
    return f"{bound:.0f}" if bound == int(bound) else f"{bound:g}"


def words(value: Schema) -> list[str]:
    """Returns the meanings of a value's words."""
    named = [each for each in value.get("oneOf", []) if "const" in each and each.get("description")]
    return [f'<br>`"{each["const"]}"`: {each["description"]}' for each in named]
