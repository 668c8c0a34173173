"""The report's figures as plain data: panels of traces with roles. Nothing here knows of HTML or colours.

The page and printed figures are drawn from this one description, so that they agree.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .handovers import Mark
from .ladders import Ladder
from .maps import Map
from .shares import Series, outstanding
from .style import link_role
from .tables import Run


@dataclass
class Trace:
    """One quantity in a panel, over ascending times in ns.

    Shapes: `dots`, `marks` (crosses), `bars` (vertical, from `value` to `top`), `line`, `steps` (holds its
    value until the next). `labels` are strings that `codes` choose from for each point; shown on hover.
    """

    name: str
    role: str
    shape: str
    time_ns: np.ndarray
    value: np.ndarray
    top: np.ndarray | None = None
    codes: np.ndarray | None = None
    labels: list[str] = field(default_factory=list)
    dashed: bool = False


@dataclass
class Panel:
    """Traces over one axis of values. `note` explains missing data, or how to read the panel."""

    title: str
    quantity: str
    unit: str
    traces: list[Trace]
    note: str = ""
    tall: bool = False
    logarithmic: bool = False
    across: str = ""
    """The quantity of the other axis where that is not the time of the run; in seconds, which traces hold as ns."""


class FlowFigure(NamedTuple):
    """All panels of one flow."""

    name: str
    transport: str
    panels: list[Panel]
    marks: list[int]
    """Places of the handovers that are drawn with it: those of its mobile."""


class Description(NamedTuple):
    """Description of everything that a report draws."""

    duration_s: float
    marks: list[Mark]
    flows: list[FlowFigure]
    ladders: list[Ladder]
    maps: list[Map]


def link_roles(run: Run) -> dict[str, str]:
    """Returns a role for each link of the run; a link has the same role in all panels."""
    names = list(run.packets.names["link"].values) if run.packets is not None else []
    for subject, quantity in run.series or {}:
        if quantity == "queue packets" and link_of(subject)[0] not in names:
            names.append(link_of(subject)[0])
    return {name: link_role(number) for number, name in enumerate(names)}


def link_of(subject: str) -> tuple[str, str]:
    """Returns link and direction of a series' subject such as `link gsm down`."""
    link, _, direction = subject.removeprefix("link ").rpartition(" ")
    return link, direction


def scaled(values: list[np.ndarray], unit: str) -> tuple[float, str]:
    """Returns factor and unit in which the largest of the values has one to four digits before the point."""
    largest = max((float(np.nanmax(v)) for v in values if len(v) and not np.all(np.isnan(v))), default=0.0)
    if unit == "s":
        return (1.0, "s") if largest >= 2 or largest == 0 else (1e3, "ms")
    for factor, prefix in ((1e-9, "G"), (1e-6, "M"), (1e-3, "k")):
        if largest * factor >= 2:
            return factor, prefix + unit
    return 1.0, unit


def thinned(series: Series, limit: int) -> Series:
    """Reduces a series of more than `limit` points to the first, last, lowest and highest of equal stretches."""
    count = len(series.time_ns)
    if count <= limit:
        return series
    stretch = -(-count // max(limit // 4, 1))
    whole = count // stretch * stretch
    rows = np.concatenate((outstanding(series.value[:whole], stretch), np.arange(whole, count)))
    return Series(series.time_ns[rows], series.value[rows])


def nice_interval(duration_s: float, bins: int = 240) -> float:
    """Returns the smallest of 1, 2 and 5 times a power of ten, in seconds, such that `bins` of them cover the
    duration."""
    least = max(duration_s / bins, 1e-6)
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(power * step for step in (1, 2, 5, 10) if power * step >= least * (1 - 1e-9)))
