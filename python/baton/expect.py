"""Expectations: conditions on the summary of a run, such as `flows.download.longest_stall_s < 2`.

An expectation is a path, an operator and a value. The path walks the object that `baton run --json` prints: by key,
by the name of a flow, by number (`handovers[0].lost_packets` or `handovers.0.lost_packets`, the first is 0). A name
with other characters than letters, digits, `_` and `-` stands in double quotes. The operators are
`<` `<=` `>` `>=` `==` `!=`. The value is a number, or after `==` and `!=` also a text in double quotes, `true` or
`false`. A number is in the unit that the name ends with (`_s` seconds, `_bps` bits per second).
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from baton.errors import InputError, nearest
from baton.summary import FlowSummary, HandoverSummary, Json, Summary

Scalar = float | int | str | bool

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
ORDERINGS = {"<", "<=", ">", ">="}

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_SEGMENT = re.compile(rf"\s*(?P<dot>\.?)\s*(?:\[\s*(?P<index>\d+)\s*\]|(?P<quoted>{_QUOTED})|(?P<name>[\w-]+))\s*")
_OPERATOR = re.compile("|".join(re.escape(symbol) for symbol in OPERATORS))


class ExpectationError(InputError):
    """An expectation that cannot be read, or that asks for something a run does not measure."""


@dataclass(frozen=True)
class Expectation:
    """A condition on the summary of a run."""

    text: str
    """As the user wrote it."""
    path: tuple[str | int, ...]
    operator: str
    value: Scalar

    @staticmethod
    def parse(text: str) -> Expectation:
        """Reads an expectation. Raises `ExpectationError`."""
        path, rest = _parse_path(text)
        symbol = _OPERATOR.match(rest)
        if symbol is None:
            raise _unreadable(text, f"expected one of {' '.join(OPERATORS)} at `{rest}`", rest)
        value_text = rest[symbol.end() :].strip()
        value = _parse_value(text, value_text)
        if symbol.group() in ORDERINGS and not _is_number(value):
            raise _unreadable(text, f"`{symbol.group()}` compares numbers, but `{value_text}` is none", value_text)
        return Expectation(text, path, symbol.group(), value)

    def check(self, summary: Json) -> Outcome:
        """Compares with a summary. Raises `ExpectationError` for a path that no summary has."""
        measured = self._resolve(summary)
        if measured is None or isinstance(measured, Missing):
            return Outcome(self, measured, holds=False)
        if _is_number(self.value) != _is_number(measured) or not isinstance(measured, (float, int, str)):
            raise ExpectationError(
                f"expectation `{self.text}`: {_path_text(self.path)} is {_kind(measured)},"
                f" and cannot be compared with {_kind(self.value)}"
            )
        return Outcome(self, measured, holds=OPERATORS[self.operator](measured, self.value))

    def _resolve(self, summary: Json) -> Any:
        found: Any = summary
        for depth, segment in enumerate(self.path):
            found = self._step(found, segment, self.path[:depth])
            if isinstance(found, Missing):
                break
        return found

    def _step(self, found: Any, segment: str | int, above: tuple[str | int, ...]) -> Any:
        if isinstance(found, list) and isinstance(segment, int):
            if segment < len(found):
                return found[segment]
            return Missing(f"there are only {len(found)} {_path_text(above)}")
        if isinstance(found, list):
            found = {item["name"]: item for item in found if isinstance(item, dict) and "name" in item}
        if not isinstance(found, dict):
            raise ExpectationError(
                f"expectation `{self.text}`: {_path_text(above)} is {_kind(found)}, nothing below it"
            )
        if str(segment) in found:
            return found[str(segment)]
        where = f" in {_path_text(above)}" if above else ""
        raise ExpectationError(
            f"expectation `{self.text}`: there is no `{segment}`{where}; {nearest(str(segment), found)}"
        )


@dataclass(frozen=True)
class Missing:
    """A list has fewer entries than an expectation asks for."""

    why: str


@dataclass(frozen=True)
class Outcome:
    """An expectation and what a run measured."""

    expectation: Expectation
    measured: Any
    """Value in the summary; `None` for null, `Missing` if a list was too short."""
    holds: bool

    @property
    def expected_text(self) -> str:
        """The condition on the measured value, as in `< 2`."""
        return f"{self.expectation.operator} {json.dumps(self.expectation.value)}"

    @property
    def measured_text(self) -> str:
        """What was measured, in words where there is no value."""
        if isinstance(self.measured, Missing):
            return self.measured.why
        if self.measured is None:
            return "nothing: null, it did not come to an end"
        return json.dumps(self.measured)

    def to_json(self) -> Json:
        """As an entry of `expectations` in the output of `--json`."""
        return {
            "expression": self.expectation.text,
            "expected": self.expected_text,
            "measured": None if isinstance(self.measured, Missing) else self.measured,
            "holds": self.holds,
        }


def parse_all(texts: Iterable[str]) -> list[Expectation]:
    """Reads expectations; one that is given twice counts once. Raises `ExpectationError`."""
    return list(dict.fromkeys(Expectation.parse(text) for text in texts))


def check_names(expectations: Iterable[Expectation], flow_names: Iterable[str]) -> None:
    """Finds, before a run, paths that no summary of it will have. Raises `ExpectationError`."""
    flow = dict.fromkeys(FlowSummary.__annotations__)
    skeleton: Json = {
        **dict.fromkeys(Summary.__annotations__),
        "flows": [{**flow, "name": name} for name in flow_names],
        "handovers": [dict.fromkeys(HandoverSummary.__annotations__)],
    }
    for expectation in expectations:
        expectation.check(skeleton)


def _parse_path(text: str) -> tuple[tuple[str | int, ...], str]:
    path: list[str | int] = []
    at = 0
    while segment := _SEGMENT.match(text, at):
        if bool(segment["dot"]) == (not path or segment["index"] is not None):
            break
        path.append(_path_segment(segment))
        at = segment.end()
    if not path:
        raise _unreadable(text, "expected a path such as flows.download.longest_stall_s", text)
    return tuple(path), text[at:].strip()


def _path_segment(segment: re.Match[str]) -> str | int:
    if segment["index"] is not None:
        return int(segment["index"])
    if segment["quoted"] is not None:
        return _load_text(segment["quoted"])
    return int(segment["name"]) if segment["name"].isdecimal() else segment["name"]


def _load_text(quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise ExpectationError(f"{quoted} is not a text as in JSON") from None


def _parse_value(text: str, value_text: str) -> Scalar:
    try:
        value = json.loads(value_text, parse_constant=_refuse)
    except ValueError:
        value = None
    if not isinstance(value, (float, int, str)):
        hint = "a plain number in the unit that the name ends with, a text in double quotes, true or false"
        raise _unreadable(text, f"expected {hint}, found `{value_text}`", value_text)
    return value


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _unreadable(text: str, why: str, rest: str) -> ExpectationError:
    column = len(text) - len(rest) + 1 if rest and text.endswith(rest) else len(text) + 1
    return ExpectationError(f"expectation `{text}`, column {column}: {why}")


def _path_text(path: tuple[str | int, ...]) -> str:
    return ".".join(str(segment) for segment in path)


def _is_number(value: object) -> bool:
    return isinstance(value, (float, int)) and not isinstance(value, bool)


def _kind(value: object) -> str:
    if _is_number(value):
        return "a number"
    names = {bool: "true or false", str: "a text", list: "a list", dict: "a group of values"}
    return names.get(type(value), "nothing")
