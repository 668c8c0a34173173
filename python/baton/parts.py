"""Parts of a scenario that run on several threads, in words."""

import sys
from typing import TypedDict

from baton.summary import Json

FEW_EVENTS = 20
"""Events of a window below which the waits of threads may cost what they gain (chosen)."""


class Part(TypedDict):
    """A part of a scenario."""

    nodes: int
    names: list[str]
    share_percent: int


class Cut(TypedDict):
    """Parts of a scenario; fewer than two mean that it is not cut."""

    parts: list[Part]
    links: list[str]
    delay_s: float | None
    limits: list[str]


def describe(cut: Cut) -> str:
    """Returns the parts, a line for each, and what keeps nodes together."""
    lines = [f"parts of a run on threads: {len(cut['parts']) or 1}"]
    if cut["delay_s"] is not None:
        links = _listed(cut["links"], len(cut["links"]))
        lines[0] += f", at least {cut['delay_s'] * 1000:g} ms apart, cut at {links}"
    for number, part in enumerate(cut["parts"], 1):
        names = _listed(part["names"], part["nodes"])
        lines.append(f"  {number}: {part['share_percent']} % of the expected load, {names}")
    if cut["limits"]:
        lines += ["kept together:", *(f"  {limit}" for limit in cut["limits"])]
    return "\n".join(lines)


def warn_before(name: str, cut: Cut) -> None:
    """Warns if a scenario that is to run on threads is not cut."""
    if not cut["parts"]:
        why = cut["limits"][0] if cut["limits"] else "no link is long enough"
        _warn(f"--threads: {name} is not cut and runs on one thread ({why}); `baton check --cut` shows all reasons")


def warn_after(summary: Json) -> None:
    """Warns if a run on threads was cut in vain."""
    cut = summary.get("cut")
    if cut is None:
        return
    events = summary["events"] / cut["windows"]
    if events < FEW_EVENTS:
        _warn(
            f"--threads: a window of {cut['window_s'] * 1000:g} ms had {events:.0f} events; with so few, the waits"
            " of the threads may take what they gain: compare a run without --threads"
        )


def _listed(names: list[str], count: int, most: int = 8) -> str:
    shown = ", ".join(names[:most])
    more = count - min(len(names), most)
    return f"{shown} and {more} more" if more else shown


def _warn(text: str) -> None:
    print(f"baton: warning: {text}", file=sys.stderr)
