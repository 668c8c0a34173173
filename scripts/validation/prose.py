"""Numbers in a study's prose, held against the run.

A number that comes from a check has a comment behind it with the check and, if the text has it in another form, the
steps from the check's value to the text's: `16<!-- T7.j * 100 - 100 --> %`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping

STEPS: dict[str, Callable[[float, float], float]] = {
    "*": operator.mul,
    "/": operator.truediv,
    "+": operator.add,
    "-": operator.sub,
}
_NUMBER = re.compile(r"(?P<text>[\d.,]*\d)<!-- (?P<check>[A-Z]\d+\.[a-z]+)(?P<steps>(?: [*/+-] [\d.]+)*) -->")


def wrong(text: str, measured: Mapping[str, float | None]) -> Iterator[str]:
    """Yields each number that is not the measured one, rounded to as many places."""
    for found in _NUMBER.finditer(text):
        written, check = found["text"].replace(",", ""), found["check"]
        value = measured.get(check)
        if value is None:
            yield f"{found['text']}: {check} was not measured"
            continue
        steps = found["steps"].split()
        for step, number in zip(steps[::2], steps[1::2], strict=True):
            value = STEPS[step](value, float(number))
        places = len(written.partition(".")[2])
        if round(value, places) != float(written):
            yield f"{found['text']}: {check} is {value:.6g} there"


def count(text: str) -> int:
    """Returns the number of marked numbers."""
    return len(_NUMBER.findall(text))
