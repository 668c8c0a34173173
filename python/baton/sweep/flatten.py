"""A summary as one row: a name and a value for each number in it.

The names are the paths that `--expect` takes: `flows.download.goodput_bps`, `handovers.0.lost_packets`,
`handovers.0.flows.download.stall_s`, `discarded.no_route`. What lists hold is named by its own name, or by its place
from 0. Wall time is left out: it says something about the machine; and so are the ways of mobiles, which are for a map.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Row = dict[str, float | int | str | None]
LEFT_OUT = {"format", "name", "scenario", "seed", "wall_s", "radios"}


def flatten(summary: Mapping[str, Any]) -> Row:
    """Numbers and words of a summary by path; `None` for what has no value."""
    return dict(_leaves(summary, ""))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        value = {each.get("name", str(place)): each for place, each in enumerate(value)}
        kept = value.items()
    elif isinstance(value, Mapping):
        kept = [(key, inner) for key, inner in value.items() if key not in LEFT_OUT]
    else:
        yield path, value
        return
    for key, inner in kept:
        yield from _leaves(inner, f"{path}.{key}" if path else key)
