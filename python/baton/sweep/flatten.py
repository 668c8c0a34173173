"""A summary as one row: a name and a value for each number in it.

The names are the paths that `--expect` takes: `flows.download.goodput_bps`, `handovers.0.lost_packets`,
`handovers.0.flows.download.stall_s`, `discarded.no_route`. An element of a list goes by its own name, or by its place
from 0. Wall time is left out, since it depends on the machine; so are the tracks of mobiles, which are for a map, and
the command lines and the kernel's settings of live runs, which are the same in all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Row = dict[str, float | int | str | None]
LEFT_OUT = {"format", "name", "scenario", "seed", "radios", "argv", "command", "sysctls", "sysctls_set"}


def flatten(summary: Mapping[str, Any]) -> Row:
    """Returns the numbers and words of a summary by path; `None` for a quantity without a value."""
    return dict(_leaves({key: value for key, value in summary.items() if key != "wall_s"}, ""))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        kept = [(_name(each, place), each) for place, each in enumerate(value)]
    elif isinstance(value, Mapping):
        kept = [(key, inner) for key, inner in value.items() if key not in LEFT_OUT]
    else:
        yield path, value
        return
    for key, inner in kept:
        yield from _leaves(inner, f"{path}.{key}" if path else key)


def _name(value: Any, place: int) -> str:
    """Returns the name of an element of a list."""
    return str(value["name"]) if isinstance(value, Mapping) and "name" in value else str(place)
