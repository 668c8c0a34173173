"""Quantities of a sweep in words: `handovers.0.flows.download.stall_s` is the "Stall of download, handover 1"."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Endings of names that are units, and the unit.
_UNITS = {"_s": "s", "_us": "µs", "_bps": "bit/s", "_bytes": "B"}
# Last parts of paths that say too little, or are no words.
_WORDS = {
    "completion": "completion time",
    "delivered": "data delivered",
    "goodput": "goodput",
    "new rate": "rate of the new link",
    "old rate": "rate of the old link",
    "at": "begin",
    "completed": "time of completion",
    "time to 90 percent": "time to 90 % of the new rate",
    "mean rtt": "mean round-trip time",
    "retransmitted": "retransmissions",
    "spurious retransmitted": "spurious retransmissions",
    "longest stall": "longest stall",
    "wall": "time that it ran",
}
_PERCENTILE = re.compile(r"p(\d+)(?:_(\d+))?")
# Quantities of a handover that a reader asks for first, by the ends of names; then those of a flow.
_FIRST = ("stall_s", "interruption_s", "lost_packets", "time_to_90_percent_s")


@dataclass(frozen=True)
class Quantity:
    """A quantity as people call it."""

    name: str
    """Path in a summary."""
    words: str
    unit: str
    """`s`, `µs`, `bit/s`, `B`, or nothing for a count or a share."""

    @property
    def axis(self) -> str:
        """The name of an axis without a prefix in its unit."""
        return f"{self.words} ({self.unit})" if self.unit else self.words


def quantity(name: str) -> Quantity:
    """Returns the quantity with this path."""
    parts = name.split(".")
    ending = next((each for each in _UNITS if parts[-1].endswith(each)), "")
    leaf = parts[-1].removesuffix(ending)
    what, of = _what([*parts[:-1], leaf])
    return Quantity(name, what[:1].upper() + what[1:] + of, _UNITS.get(ending, ""))


def axis_parts(axis: str) -> list[str]:
    """Returns the parts of an axis's key, without the table in which a flow has it:
    `flows.download.transport.congestion`."""
    match axis.split("."):
        case ["flows", name, "transport" | "traffic", *leaf] if leaf:
            return ["flows", name, *leaf]
        case parts:
            return parts


def axis_words(axis: str) -> str:
    """Returns the key of an axis in words: `links.lan.rate` is "rate of lan"."""
    match axis_parts(axis):
        case ["mobiles", mobile, "timetable", number, *leaf]:
            return f"{_leaf(leaf)} of {mobile}'s move {number}"
        case [_, name, *leaf] if leaf:
            return f"{_leaf(leaf)} of {name}"
        case parts:
            return _leaf(parts)


def in_order(names: list[str]) -> list[str]:
    """Sorts the names by what a reader asks for first: of programs, of handovers, then of flows."""

    def rank(name: str) -> int:
        parts = name.split(".")
        if parts[0] == "program":
            return -1 if parts[-1] == "longest_stall_s" or parts[1] == "reported" else 0
        if parts[0] == "handovers" and parts[-1] in _FIRST:
            return _FIRST.index(parts[-1]) + (0 if "flows" in parts else len(_FIRST))
        return 2 * len(_FIRST)

    return sorted(names, key=rank)


def _what(parts: list[str]) -> tuple[str, str]:
    """Returns the quantity itself, its subject, and the words between them."""
    match parts:
        case ["handovers", number, "flows", flow, *leaf]:
            return _leaf(leaf), f" of {flow}, handover {_from_one(number)}"
        case ["handovers", number, *leaf]:
            return _leaf(leaf), f", handover {_from_one(number)}"
        case ["flows" | "classes", flow, *leaf]:
            return _leaf(leaf), f" of {flow}"
        case ["agents", number, *leaf]:
            return f"packets {_leaf(leaf)}", f", agent {_from_one(number)}"
        case ["program", "reported", *leaf]:
            return f"{_leaf(leaf)}, as the program reports it", ""
        case ["program" | "server" as which, *leaf]:
            return _leaf(leaf), f" of the {which}"
        case ["live", *leaf]:
            return _leaf(leaf), ", live run"
        case ["discarded", *leaf]:
            return f"packets discarded: {_leaf(leaf)}", ""
        case _:
            return _leaf(parts), ""


def _leaf(parts: list[str]) -> str:
    """Returns the last parts of a path in words."""
    return ", ".join(_word(part) for part in parts)


def _word(part: str) -> str:
    found = _PERCENTILE.fullmatch(part)
    if found:
        return f"{found[1]}{f'.{found[2]}' if found[2] else ''} %"
    text = part.replace("_", " ")
    return _WORDS.get(text, text)


def _from_one(number: str) -> str:
    """Returns a place that is counted from 0, counted from 1 as on the pages."""
    return str(int(number) + 1) if number.isdecimal() else number
