"""The list of cases: scenarios that are run both ways, with their congestion controls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from baton.errors import InputError, nearest
from baton.live.trials import Trial
from baton.toml import loads

from .rules import RULES

HERE = Path(__file__).parent
SHIPPED = HERE / "list.toml"
HALVES = ("first", "second")
_KEYS = {"name", "kind", "scenario", "set", "quick"}


@dataclass(frozen=True)
class Case(Trial):
    """One scenario with one congestion control."""

    kind: str
    """Kind of its rules: a key of `RULES`."""
    congestion: str
    half: str
    """The half of the list that it stands in: `first` or `second`."""
    quick: bool

    @property
    def label(self) -> str:
        """Label such as `steady-5M-290ms/cubic`."""
        return f"{self.name}/{self.congestion}"

    def matches(self, pattern: str) -> bool:
        """Returns true if a pattern such as `soft-*` or `steady-5M-290ms/cubic` matches this case."""
        return fnmatch(self.label if "/" in pattern else self.name, pattern)


def read(path: Path, *, quick: bool, only: Sequence[str], half: str | None) -> list[Case]:
    """Reads the requested cases of a list. Raises `InputError`."""
    try:
        document = loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    congestion = document.get("congestion", ["cubic"])
    entries = document.get("cases")
    if not isinstance(entries, list) or not entries or not isinstance(congestion, list):
        raise InputError(f'{path}: expected `congestion = ["reno", …]` and at least one table [[cases]]')
    cases = [
        case
        for number, entry in enumerate(entries)
        for case in _cases(path, number, entry, congestion)
        if (not quick or case.quick) and (half is None or case.half == half)
    ]
    chosen = [case for case in cases if not only or any(case.matches(pattern) for pattern in only)]
    if not chosen:
        raise InputError(f"no case of {path} is left; --only takes names such as `soft-*` or `steady-5M-290ms/cubic`")
    return chosen


def _cases(path: Path, number: int, entry: dict[str, Any], congestion: Sequence[str]) -> list[Case]:
    where = f"{path}: cases.{number}"
    unknown = [key for key in entry if key not in _KEYS]
    if unknown:
        raise InputError(f"{where}: unknown key `{unknown[0]}`; {nearest(unknown[0], _KEYS)}")
    missing = [key for key in ("name", "kind", "scenario") if not isinstance(entry.get(key), str)]
    if missing:
        raise InputError(f"{where}: `{missing[0]}` is missing; expected a text")
    if entry["kind"] not in RULES:
        raise InputError(f"{where}.kind: `{entry['kind']}` has no rules; {nearest(entry['kind'], RULES)}")
    overrides = [f"{key}={_value(value)}" for key, value in entry.get("set", {}).items()]
    return [
        Case(
            entry["name"],
            _file(path, entry["scenario"]),
            (*overrides, f"flows.0.transport.congestion={control}"),
            entry["kind"],
            control,
            HALVES[number % 2],
            bool(entry.get("quick", False)),
        )
        for control in congestion
    ]


def _file(path: Path, name: str) -> Path:
    """Returns a scenario beside the list, or one that the shipped list uses. Raises `InputError`."""
    for place in (path.parent / name, HERE / "scenarios" / f"{name}.toml"):
        if place.is_file():
            return place
    known = [scenario.stem for scenario in HERE.glob("scenarios/*")]
    raise InputError(f"{path}: no scenario `{name}` beside it; {nearest(name, known)}")


def _value(value: Any) -> str:
    """Returns a value as `--set` takes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)
