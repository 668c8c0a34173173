"""Expectations: conditions on the summary of a run, such as `flows.download.longest_stall_s < 2`.

An expectation is a path, an operator and a number. The path walks the object that `baton run --json` prints: by key,
by the name of a flow, by place in a list (`handovers[0].lost_packets` or `handovers.0.lost_packets`; the first is 0).
`handovers.completed` is their number: those that were completed while a flow of the mobile was under way.
The operators are `<` `<=` `>` `>=` `==` `!=`. The number is in the unit that the name ends with (`_s` seconds, `_bps`
bits per second); true counts as 1, false as 0. A quantity without a value, such as the completion of a flow that
did not end, fails every expectation.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from baton.errors import InputError, nearest
from baton.summary import Json

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
# The number of handovers that say something about the flows.
HANDOVERS_COMPLETED = ("handovers", "completed")
# Objects that are null where there was nothing to measure.
MAY_BE_NULL = ("delay", "to_sink", "to_source")
_FORM = re.compile(rf"\s*([\w.\[\]-]+)\s*({'|'.join(OPERATORS)})\s*(\S+)\s*", re.ASCII)
_PATH = re.compile(r"[\w-]+(\[\d+\])*(\.[\w-]+(\[\d+\])*)*", re.ASCII)
# Names of the conversations that a live run finds in its packets: transport, the server's port (of other protocols
# their own number), a running number.
_OBSERVED = re.compile(r"(tcp|udp|protocol)-\d+-\d+|icmp-\d+|others", re.ASCII)


class ExpectationError(InputError):
    """An expectation that cannot be read, or that asks for something a run does not measure."""


class Missing(NamedTuple):
    """Absence of a value to compare: a list with fewer entries than an expectation asks for, or no such flow."""

    why: str


class Expectation(NamedTuple):
    """A condition on the summary of a run."""

    text: str
    """Text as the user wrote it."""
    path: tuple[str, ...]
    operator: str
    value: float

    @staticmethod
    def parse(text: str) -> "Expectation":
        """Reads an expectation. Raises `ExpectationError`."""
        form = _FORM.fullmatch(text)
        if form is None or not _PATH.fullmatch(form[1]):
            raise ExpectationError(
                f"`{text}` is not an expectation; expected a path, one of {' '.join(OPERATORS)} and a number,"
                " as in 'flows.download.longest_stall_s < 2'"
            )
        path = tuple(form[1].replace("[", ".").replace("]", "").split("."))
        return Expectation(text.strip(), path, form[2], _number(text, form[3]))

    def check(self, summary: Json) -> "Outcome":
        """Compares with a summary. Raises `ExpectationError` for a path that no summary has."""
        measured: Any = summary
        for depth, segment in enumerate(self.path):
            measured = self._step(measured, segment, self.path[:depth])
            if isinstance(measured, Missing) or (measured is None and segment in MAY_BE_NULL):
                break
        if measured is None or isinstance(measured, Missing):
            return Outcome(self, measured, holds=False)
        if not _is_number(measured):
            inside = f"; below it, {nearest('', _names(measured))}" if _names(measured) else ""
            raise ExpectationError(f"expectation `{self.text}`: {'.'.join(self.path)} is not a number{inside}")
        return Outcome(self, measured, holds=OPERATORS[self.operator](measured, self.value))

    @property
    def flows(self) -> list[str]:
        """Names of the flows that the path goes through."""
        pairs = zip(self.path, self.path[1:], strict=False)
        return [name for above, name in pairs if above == "flows" and not name.isdecimal()]

    @property
    def observed_flows(self) -> list[str]:
        """Names among these flows that a live run gives to a conversation of its programs."""
        return [name for name in self.flows if _OBSERVED.fullmatch(name)]

    def _step(self, found: Any, segment: str, above: tuple[str, ...]) -> Any:
        names = _names(found)
        if segment in names:
            return names[segment]
        if (*above, segment) == HANDOVERS_COMPLETED:
            return completed_handovers(found)
        if isinstance(found, list) and segment.isdecimal():
            if int(segment) < len(found):
                return found[int(segment)]
            return Missing(f"there is no {'.'.join((*above, segment))}: the run had {len(found)}")
        where = f" in {'.'.join(above)}" if above else ""
        holding = {path for path in _paths(found) if segment in path.rpartition(".")[2]}
        raise ExpectationError(
            f"expectation `{self.text}`: there is no `{segment}`{where}; {nearest(segment, holding or names)}"
        )


class Outcome(NamedTuple):
    """An expectation and its measured value."""

    expectation: Expectation
    measured: float | Missing | None
    """Value in the summary; `None` for null, `Missing` if there was nothing to measure."""
    holds: bool

    @property
    def expected_text(self) -> str:
        """The condition on the measured value, as in `< 2`."""
        return f"{self.expectation.operator} {self.expectation.value:.15g}"

    @property
    def measured_text(self) -> str:
        """The measured value, in words where there is no value."""
        if isinstance(self.measured, Missing):
            return self.measured.why
        return "no value: it did not finish" if self.measured is None else f"{self.measured:.15g}"

    def to_json(self) -> Json:
        """Returns an entry of `expectations` in the output of `--json`."""
        return {
            "expression": self.expectation.text,
            "expected": self.expected_text,
            "measured": None if isinstance(self.measured, Missing) else self.measured,
            "holds": self.holds,
        }


def parse_all(texts: Iterable[str]) -> list[Expectation]:
    """Reads expectations, a repeated one once. Raises `ExpectationError`."""
    return list(dict.fromkeys(Expectation.parse(text) for text in texts))


def completed_handovers(handovers: Iterable[Json]) -> int:
    """Returns the number of handovers that were completed while a flow was under way."""
    return sum(handover["completed_s"] is not None and bool(handover["active"]) for handover in handovers)


def _number(text: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ExpectationError(
            f"expectation `{text}`: `{number}` is not a number; expected one without a unit, in the unit that the name"
            " ends with (_s: seconds, _bps: bits per second)"
        )
    return value


def _names(found: Any) -> dict[str, Any]:
    if isinstance(found, list):
        return {item["name"]: item for item in found if isinstance(item, dict) and "name" in item}
    return found if isinstance(found, dict) else {}


def _paths(found: Any) -> Iterator[str]:
    """Yields the paths to the numbers below, flows by their names."""
    inner = dict(enumerate(found)) if isinstance(found, list) and not _names(found) else _names(found)
    for name, value in inner.items():
        if _is_number(value):
            yield str(name)
        yield from (f"{name}.{path}" for path in _paths(value))


def _is_number(value: object) -> bool:
    return isinstance(value, (float, int))
