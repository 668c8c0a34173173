"""Figures of a reproduced study, drawn on its page as the study draws them: their content as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from baton.report.render import asset, drawing_library, embedded
from baton.report.style import LINK_LOOKS, link_role
from baton.verdict import Estimate

Floats = npt.NDArray[np.float64]

#: Points of a curve that a page takes; of more, one of so many.
MOST_POINTS = 1200
#: Digits of a number that a page takes.
DIGITS = 5
_DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True)
class Curve:
    """One quantity over the figure's axis, with its 95 % interval where it has one.

    Curves look different by `look`; equal ones look equal in all figures of a page. The seventh has the colour of the
    first, and dashes. `points` are not joined, and their intervals are bars.
    """

    name: str
    x: Floats
    y: Floats
    look: int
    low: Floats | None = None
    high: Floats | None = None
    shape: Literal["line", "points"] = "line"
    #: Beside the matter: a thin line, without its points.
    aside: bool = False


def printed(name: str, places: Sequence[tuple[float, float]], look: int) -> Curve:
    """Returns points that the study prints, as ours look."""
    x, y = np.array(places, dtype=np.float64).T
    return Curve(f"{name}, published", x, y, look, shape="points")


def printed_level(name: str, value: float, span: tuple[float, float], look: int) -> Curve:
    """Returns a value that the study prints, as a thin line over this part of the axis."""
    return Curve(f"{name}, published", np.array(span), np.array([value, value]), look, aside=True)


@dataclass(frozen=True)
class Figure:
    """A diagram, named as in the study."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    #: Caption: the thing to see in it.
    note: str = ""
    #: Places on the axis that are marked, with what is there.
    marks: Sequence[tuple[float, str]] = ()
    #: Names of the places 0, 1, … where the axis has no numbers.
    names: Sequence[str] = ()
    #: The axis whose scale is logarithmic, if one is.
    logarithmic: Literal["", "x", "y"] = ""


def columns(found: Sequence[Estimate]) -> tuple[Floats, Floats | None, Floats | None]:
    """Returns means and the ends of their intervals, if all have one."""
    rows = np.array([(each.value, each.low, each.high) for each in found], dtype=np.float64)
    mean, low, high = rows.T
    return (mean, None, None) if np.isnan(low).any() else (mean, low, high)


def section(figures: Sequence[Figure]) -> str:
    """Returns the figures with all that draws them, as a part of a page; nothing without figures."""
    if not figures:
        return ""
    data = [_data(figure) for figure in figures]
    return _SECTION.format(
        panels="\n".join(_panel(place, figure) for place, figure in enumerate(figures)),
        data=embedded({"figures": data}),
        plotly=drawing_library(),
        script="\n".join(asset(name) for name in ("decode.js", "page.js", "curves.js")),
    )


_SECTION = """<section id="figures" aria-label="Figures"><h2>Figures, drawn as in the study</h2>
<div id="panels">
{panels}
</div>
<noscript><p class="note">The diagrams are drawn by a script in this page; scripts are switched off.</p></noscript>
</section>
<script type="application/json" id="data">{data}</script>
<script type="text/plain" id="plotly">{plotly}</script>
<script>
"use strict";
{script}
</script>
"""


def _panel(place: int, figure: Figure) -> str:
    told = escape(f"{figure.title}: {', '.join(curve.name for curve in figure.curves)}")
    return (
        f'<section class="panel"><div class="caption"><h3>{escape(figure.title)}</h3>'
        f'</div><div class="plot" id="figure-{place}" role="img" aria-label="{told}"></div>'
        f'<p class="note">{escape(figure.note)}</p></section>'
    )


def _data(figure: Figure) -> dict[str, Any]:
    return {
        "x": figure.x,
        "y": figure.y,
        "curves": [_curve(curve) for curve in figure.curves],
        "marks": list(figure.marks),
        "names": list(figure.names),
        "logarithmic": figure.logarithmic,
    }


def _curve(curve: Curve) -> dict[str, Any]:
    step = -(-len(curve.x) // MOST_POINTS)
    columns = {"x": curve.x, "y": curve.y, "low": curve.low, "high": curve.high}
    return {
        "name": curve.name,
        "role": link_role(curve.look),
        "dash": _DASHES[curve.look // LINK_LOOKS % len(_DASHES)],
        "shape": curve.shape,
        "aside": curve.aside,
        **{
            name: [_number(value) for value in column[::step]] for name, column in columns.items() if column is not None
        },
    }


def _number(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
