"""A study to sweep: a scenario, the values of its keys, and the number of seeds.

A study file is TOML:

    scenario = "wavelan-to-gsm"        # a shipped name, or a file beside this one
    seeds = 20                         # runs of each point
    [set]
    flows.download.transport.congestion = ["reno", "cubic"]     # an axis
    links.gsm.queue = "20 packets"                     # the same in all points
    [[variants]]                       # values that go together, each set with a name
    name = "linux 2.0"
    set = { "flows.download.transport.profile" = "linux-2.0", … }
    [live]                             # real time and the kernel's protocols, with programs in the real hosts
    program = ["./client", "server"]
    server = "./server"

A table under a quoted key with dots replaces the value there; under a plain one, its keys are set one by one.

Each combination of a value of each axis and a variant is a point. Every point is run with the same seeds: the
scenario's, and those that follow it.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baton.errors import InputError, nearest
from baton.shipped import scenario_path
from baton.toml import loads

from .code import Live

SEEDS = 10
"""Runs of a point, if neither the study nor the command line says. Chosen: the least at which a bootstrap is used."""
MOST_RUNS = 10_000_000
STUDY_KEYS = {"scenario", "seeds", "set", "variants", "live"}
LIVE_KEYS = {"program", "server"}
VARIANT = "variant"

Assignment = dict[str, str]
"""Values of keys, as `--set` takes them."""


@dataclass(frozen=True)
class Point:
    """One combination of values."""

    values: Assignment
    """The value on each axis, including `variant`; settings that all points share are left out."""
    overrides: list[str]
    """All settings, as `--set` takes them."""

    @property
    def name(self) -> str:
        """Describes the point in words."""
        return ", ".join(f"{key} = {value}" for key, value in self.values.items()) or "the scenario"


@dataclass
class Study:
    """A scenario, axes and seeds."""

    scenario: Path
    axes: dict[str, list[str]]
    """Values of each key, in order; a single one is no axis but holds for all points."""
    variants: dict[str, Assignment]
    seeds: int | None
    live: Live | None = None
    """Programs in the real hosts, if the points are run live."""

    def points(self) -> list[Point]:
        """Returns all combinations; the last axis changes fastest. Raises `InputError`."""
        count = math.prod(map(len, self.axes.values())) * max(len(self.variants), 1)
        if count > MOST_RUNS:
            raise InputError(f"the axes have {count:,} combinations; at most {MOST_RUNS:,} runs can be swept")
        return [
            self._point(variant, dict(zip(self.axes, values, strict=True)))
            for variant in (self.variants or [None])
            for values in itertools.product(*self.axes.values())
        ]

    def _point(self, variant: str | None, values: Assignment) -> Point:
        together = self.variants[variant] if variant is not None else {}
        overrides = [f"{key}={value}" for key, value in (values | together).items()]
        named = {VARIANT: variant} if variant is not None and len(self.variants) > 1 else {}
        axes = {key: value for key, value in values.items() if len(self.axes[key]) > 1}
        return Point(named | {key: shown(value) for key, value in axes.items()}, overrides)


def read_study(given: str, overrides: Sequence[str], seeds: int | None) -> Study:
    """Reads the study file or the scenario that a command line names; `overrides` and `seeds` prevail over the file's.

    Raises `InputError`.
    """
    path = scenario_path(given)
    document = _document(path)
    study = _study(path, document) if "scenario" in document else Study(path, {}, {}, None)
    for override in overrides:
        key, values = _set_option(override)
        study.axes[key] = values
    for key in [*study.axes, *itertools.chain.from_iterable(study.variants.values())]:
        if key == "seed":
            raise InputError("seed: is the same series for all points; choose how many with --seeds")
    for name, together in study.variants.items():
        both = together.keys() & study.axes.keys()
        if both:
            raise InputError(f"{path}: variants.{name}: sets {min(both)}, which is an axis too; leave one of them out")
    study.seeds = seeds or study.seeds or SEEDS
    return study


def shown(value: str) -> str:
    """Writes a value as people do: text without its quotes."""
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            return value
    return value


def split_values(text: str) -> list[str]:
    """Splits `A,B,C` into its parts. A comma within quotes, brackets or braces separates nothing."""
    parts, depth, quote, begin = [], 0, "", 0
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    return [part.strip() for part in [*parts, text[begin:]]]


def _set_option(override: str) -> tuple[str, list[str]]:
    key, equals, text = override.partition("=")
    values = split_values(text)
    if not equals or not key.strip() or "" in values:
        raise InputError(
            f"--set {override}: expected key=value,value,…, as in flows.download.transport.congestion=reno,cubic"
        )
    _refuse_twice(f"--set {override}", values)
    return key.strip(), values


def _document(path: Path) -> dict[str, Any]:
    """Returns the TOML of a file; empty if it cannot be read: then the scenario's reader says why."""
    try:
        document: dict[str, Any] = loads(path.read_text(encoding="utf-8"))
        return document
    except (OSError, ValueError):
        return {}


def _study(path: Path, document: dict[str, Any]) -> Study:
    for key in document.keys() - STUDY_KEYS:
        raise InputError(f"{path}: {key}: no such key in a study; {nearest(key, STUDY_KEYS)}")
    seeds, axes = document.get("seeds"), document.get("set", {})
    if seeds is not None and (not isinstance(seeds, int) or isinstance(seeds, bool) or seeds < 1):
        raise InputError(f"{path}: seeds: expected how many, a whole number from 1")
    if not isinstance(axes, dict):
        raise InputError(f"{path}: set: expected a table of keys and values")
    beside = path.parent / str(document["scenario"])
    scenario = beside if beside.is_file() else scenario_path(str(document["scenario"]))
    values = _values(f"{path}: set.", axes)
    live = _live(path, document["live"]) if "live" in document else None
    return Study(scenario, values, dict(_variants(path, document.get("variants", []))), seeds, live)


def _live(path: Path, table: Any) -> Live:
    if not isinstance(table, dict):
        raise InputError(f"{path}: live: expected a table, with the keys program and server, or none")
    for key in table.keys() - LIVE_KEYS:
        raise InputError(f"{path}: live.{key}: no such key; {nearest(key, LIVE_KEYS)}")
    program, server = table.get("program", []), table.get("server")
    if not isinstance(program, list) or not all(isinstance(word, str) for word in program):
        raise InputError(f'{path}: live.program: expected the program and its arguments, as in ["./client", "server"]')
    if server is not None and not isinstance(server, str):
        raise InputError(f'{path}: live.server: expected a command for the shell, as in "./server"')
    return Live(program, server)


def assigned(axes: Mapping[str, Any]) -> Study:
    """Returns a study of values in Python, whose number of seeds is set later. Raises `InputError`."""
    if "seed" in axes:
        raise InputError("seed: is the same series for all points; choose how many with `seeds`")
    return Study(Path(), _values("axes.", axes), {}, None)


def _values(where: str, axes: Mapping[str, Any]) -> dict[str, list[str]]:
    """Returns the values of each key as `--set` takes them; a value that is no list is the same in all points."""
    values = {
        key: [toml_text(each) for each in value] if isinstance(value, (list, tuple)) else [toml_text(value)]
        for key, value in _dotted(axes)
    }
    for key, listed in values.items():
        if not listed:
            raise InputError(f"{where}{key}: is empty; expected at least one value")
        _refuse_twice(f"{where}{key}", listed)
    return values


def _variants(path: Path, listed: Any) -> Iterator[tuple[str, Assignment]]:
    seen: set[str] = set()
    for number, variant in enumerate(listed if isinstance(listed, list) else [listed]):
        where = f"{path}: variants[{number}]"
        right = isinstance(variant, dict) and variant.keys() == {"name", "set"}
        if not right or not isinstance(variant["name"], str) or not isinstance(variant["set"], dict):
            raise InputError(f"{where}: expected a name and a table `set` of keys and values, and nothing else")
        if variant["name"] in seen:
            raise InputError(f"{where}: there is a variant {variant['name']} already")
        seen.add(variant["name"])
        yield variant["name"], {key: toml_text(value) for key, value in _dotted(variant["set"])}


def _refuse_twice(where: str, values: Sequence[str]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise InputError(f"{where}: {shown(value)} is given twice")


def _dotted(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Joins keys of nested tables by dots: TOML reads `a.b = 1` as a table in a table.

    A key that holds dots itself was quoted: its table is a value.
    """
    for key, value in table.items():
        if isinstance(value, dict) and "." not in key:
            yield from _dotted(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def toml_text(value: Any) -> str:
    """Writes a value of a TOML file as TOML again, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_text, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)} = {toml_text(each)}' for key, each in value.items())} }}"
    return str(value)
