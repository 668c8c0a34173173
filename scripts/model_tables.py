"""Writes the tables of parameters into the pages of the models, from the extension's schema and defaults.

    .venv/bin/python scripts/model_tables.py

A table stands between `<!-- table: NAME ... -->` and `<!-- end of table -->`. NAME is `link KIND`, `queue MANAGEMENT`,
`control KIND`, `profile NAME`, `profiles`, or `keys KEY ...` for some keys of a link's direction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from baton._baton import json_defaults, json_schema

PAGES = Path(__file__).resolve().parents[1] / "docs" / "models"
REGION = re.compile(r"(<!-- table: (.*?) -->\n).*?(<!-- end of table -->)", re.DOTALL)
DEFAULTS: dict[str, Any] = json.loads(json_defaults())
VALUES = {
    "time": "time",
    "positive-time": "time above zero",
    "delay": "time",
    "data-rate": "rate",
    "size": "size",
    "queue-size": "packets or size",
    "distance": "distance",
    "speed": "speed",
    "frequency": "frequency",
    "power": "power",
}
"""Kind of a value, by the schema's formats; its units are told in `docs/models/README.md`."""

Schema = dict[str, Any]


def fill(text: str) -> str:
    """A page with its tables as they should be."""
    return REGION.sub(lambda found: f"{found[1]}\n{table(*found[2].split())}\n{found[3]}", text)


def table(kind: str, *names: str) -> str:
    """The table that a mark asks for."""
    return TABLES[kind](*names)


def link(kind: str) -> str:
    """A kind of link: all its keys but those of recordings and of queues' managers."""
    defaults, schema = DEFAULTS["links"][kind], flat(link_schema())
    of_up = {key: schema[key.removeprefix("up.")] for key in defaults if key.startswith("up.")}
    return rows(schema | of_up, [*(key for key in schema if key in defaults), *of_up], defaults)


def keys(*names: str) -> str:
    """Some keys of a direction."""
    bursts = {f"burst_loss.{key}": value for key, value in DEFAULTS["burst_loss"].items()}
    return rows(flat(link_schema()), list(names), {**DEFAULTS["links"]["wired"], **bursts})


def queue(management: str) -> str:
    """Returns the keys of `queue` for a manager."""
    schema = flat(link_schema())
    return kind_rows(schema, "queue", "management", management, ["queue.limit"])


def control(kind: str) -> str:
    """The parameters of a congestion control."""
    return kind_rows(flat(tcp_schema()), "congestion", "kind", kind, [])


def kind_rows(schema: Schema, key: str, tag: str, name: str, common: list[str]) -> str:
    """Returns the keys of a table of several kinds for one of them: those of all, the one that tells, and its own."""
    branches = [branch for table in schema[key]["anyOf"] for branch in table.get("oneOf", [])]
    found = next(each["properties"] for each in branches if each["properties"].get(tag, {}).get("const") == name)
    own = {f"{key}.{inner}": {**entry, "needed": False} for inner, entry in found.items() if inner != tag}
    defaults = {inner: entry["default"] for inner, entry in own.items()}
    return rows(schema | own, [*common, f"{key}.{tag}", *own], defaults)


def profile(name: str) -> str:
    """A profile's settings."""
    schema, settings = flat(tcp_schema()), DEFAULTS["profiles"][name]
    return rows(schema, [key for key in schema if key in settings], settings, "in this profile")


def profiles() -> str:
    """All profiles, side by side."""
    names, found = list(DEFAULTS["profiles"]), flat(tcp_schema())
    head = f"| key | {' | '.join(f'[`{name}`](profile-{name}.md)' for name in names)} |\n{'|---' * (len(names) + 1)}|\n"
    lines = (
        f"| `{key}` | {' | '.join(shown(DEFAULTS['profiles'][name][key]) for name in names)} |\n"
        for key in found
        if key in DEFAULTS["profiles"][names[0]]
    )
    return head + "".join(lines)


TABLES: dict[str, Callable[..., str]] = {
    "link": link,
    "keys": keys,
    "queue": queue,
    "control": control,
    "profile": profile,
    "profiles": profiles,
}


def rows(schema: Schema, names: list[str], defaults: dict[str, Any], heading: str = "default") -> str:
    """A table of keys: what each is, which kind of value it takes, and its default."""
    lines = [f"| key | what | value | {heading} |\n|---|---|---|---|\n"]
    for name in names:
        entry = schema[name]
        default = shown(defaults[name]) if defaults.get(name) is not None else told(entry)
        lines.append(f"| `{name}` | {description(entry)} | {value(entry)} | {default} |\n")
    return "".join(lines)


def told(entry: Schema) -> str:
    """The default that the types' documentation tells, for keys that depend on others, or that there is none."""
    if entry["needed"]:
        return "required"
    found = re.search(r'Default:? "?((?:[^".]|\.\d)*)"?\.?$', entry.get("description", ""))
    return found[1] if found else ""


def shown(default: Any) -> str:
    """A default as one would write it."""
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)


def description(entry: Schema) -> str:
    """Returns the types' documentation of a key, without whom it is for and what the default is."""
    text = " ".join(entry.get("description", "").split())
    links = rf"({'|'.join(DEFAULTS['links'])}) only(, which needs at least one)?"
    text = re.sub(rf"^({links}): ", "", text)
    text = re.sub(r"\s*Default:? .*$", "", text).rstrip(".")
    return text[:1].upper() + text[1:]


def value(entry: Schema) -> str:
    """Describes the values that a key takes."""
    entries = entry.get("anyOf", [entry])
    words = [word for each in entries for word in choices(each)]
    if words:
        kinds = [kind_of(each) for each in entries if not choices(each)]
        return " or ".join([", ".join(f"`{word}`" for word in words), *filter(None, kinds)])
    return " or ".join(filter(None, dict.fromkeys(kind_of(each) for each in entries)))


def choices(entry: Schema) -> list[str]:
    """Words that a key takes."""
    if "oneOf" in entry:
        return [each["const"] for each in entry["oneOf"] if "const" in each]
    return [str(word) for word in entry.get("enum", [])]


def kind_of(entry: Schema) -> str:
    """A kind of value, with its range."""
    if entry.get("format") in VALUES:
        return VALUES[entry["format"]]
    if entry.get("format") == "python-class":
        return "`python:module.Class`"
    if "properties" in entry or entry.get("type") == "object":
        return "table"
    if entry.get("type") == "array" and "maxItems" not in entry:
        return "tables" if "properties" in entry["items"] else "names"
    low, high = entry.get("minimum"), entry.get("maximum")
    span = f"{plain(low)} to {plain(high)}" if low is not None and high is not None else ""
    if span and entry.get("type") == "number":
        return "0 to 1" if (low, high) == (0, 1) else span
    return {"boolean": "true or false", "integer": span or "number", "string": "file", "array": "two nodes"}.get(
        entry.get("type", ""), ""
    )


def plain(number: float) -> str:
    """A number with its fraction, if it has one."""
    return f"{number:,.0f}" if number == int(number) else f"{number:g}"


def flat(schema: Schema) -> Schema:
    """Properties by name, those of tables within as `table.key`."""
    return dict(_flat(schema, ""))


def _flat(schema: Schema, before: str) -> Iterator[tuple[str, Schema]]:
    for name, entry in schema["properties"].items():
        if name in ("up", "down", "sender", "receiver", "gateway"):
            continue
        yield before + name, {**entry, "needed": name in schema.get("required", [])}
        for inner in (entry, entry.get("items", {}), *entry.get("anyOf", [])):
            if "properties" in inner:
                yield from _flat(inner, f"{before}{name}.")


def link_schema() -> Schema:
    """The schema of a link."""
    return table_of(json.loads(json_schema())["properties"]["links"])


def tcp_schema() -> Schema:
    """The schema of a flow's `tcp`."""
    flows: Schema = json.loads(json_schema())["properties"]["flows"]
    found: Schema = flows["items"]["properties"]["tcp"]
    return found


def table_of(named: Schema) -> Schema:
    """The schema of what a table of names holds."""
    found: Schema = named["additionalProperties"]
    return found


def main() -> None:
    """Writes all pages."""
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (filled := fill(text)) != text:
            page.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main()
