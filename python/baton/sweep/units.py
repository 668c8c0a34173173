"""Values of an axis as numbers: `"20 ms"`, `"5 Mbit/s"`, `0.02`, in the units that scenarios know."""

from __future__ import annotations

import re
from collections.abc import Sequence

_UNITS = {
    "time": {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0},
    "rate": {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9},
    "size": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1_048_576.0},
    "packets": {"packets": 1.0, "packet": 1.0},
    "number": {"": 1.0},
}
_KNOWN = {unit: (kind, factor) for kind, units in _UNITS.items() for unit, factor in units.items()}
_FORM = re.compile(r"([+-]?[\d_]*\.?\d[\d_]*(?:[eE][+-]?\d+)?)\s*(\D*)")


def numbers(values: Sequence[str]) -> tuple[list[float], str] | None:
    """Returns the values as numbers and their unit, that of the first; `None` if they are not quantities of one
    kind."""
    found = [_FORM.fullmatch(value.strip()) for value in values]
    if not all(each and each[2] in _KNOWN for each in found):
        return None
    parsed = [(float(each[1]), each[2], *_KNOWN[each[2]]) for each in found if each]
    if len({kind for _, _, kind, _ in parsed}) != 1:
        return None
    _, unit, _, first = parsed[0]
    return [value * (factor / first) for value, _, _, factor in parsed], unit
