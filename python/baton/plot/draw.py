"""Draws the report's panels with matplotlib."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import EngFormatter, StrMethodFormatter

from baton.report.figures import Panel, Trace
from baton.report.handovers import Mark
from baton.report.style import LOOKS

if "ipykernel" in sys.modules:
    # A notebook has chosen a backend, and shows figures once it is loaded, which only figures of pyplot's do.
    plt.switch_backend(matplotlib.get_backend())

HEIGHTS = {True: 0.75, False: 0.5}
"""Heights of a tall panel and of another, in widths of the figure."""
STACKED = 0.75
"""Heights of panels that stand in a stack, in those of panels that stand alone."""
RASTER_LIMIT = 20_000
"""A trace of more points is drawn as an image also in PDF and SVG, which would grow beyond use."""
SIGNS = 6
"""Marks on a line that tell it from others without colour."""
HANDLE, HANDLE_SPACE, COLUMN_SPACE = 1.8, 0.6, 1.4
"""Length of a legend's samples, space behind them and between columns, in font sizes."""
LEGEND: dict[str, Any] = {
    "frameon": False,
    "borderpad": 0.2,
    "handlelength": HANDLE,
    "handletextpad": HANDLE_SPACE,
    "columnspacing": COLUMN_SPACE,
    "labelspacing": 0.3,
}
MOST_COLUMNS = 4
LABELS = 7.5
"""Room at the left of the axes for their ticks' labels and their name, in font sizes."""
GREY, SHADE = "#5c636e", "#e3e5e8"


def figure(panels: Sequence[Panel], marks: Sequence[Mark], closeup: Mark | None = None) -> Figure:
    """Draws the panels one above the other, over one axis of time: the whole run, or the close-up of a handover."""
    width = rcParams["figure.figsize"][0]
    heights = [width * HEIGHTS[panel.tall] * (STACKED if len(panels) > 1 else 1.0) for panel in panels]
    made = Figure(figsize=(width, sum(heights)), layout="constrained")
    rows = made.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    view = (closeup.from_s, closeup.to_s) if closeup else None
    for axes, panel in zip(rows, panels, strict=True):
        if view is not None:
            panel = replace(panel, traces=[_cut(trace, *view) for trace in panel.traces])
        _draw(axes, panel, view)
        _limit(axes, panel, closeup)
        _mark(axes, marks, labels=axes is rows[0])
    rows[-1].set_xlabel("time (s)")
    for axes, panel in zip(rows, panels, strict=True):
        head(axes, panel.title, [trace.name for trace in panel.traces])
    return made


def _cut(trace: Trace, from_s: float, to_s: float) -> Trace:
    """Cuts a trace to a stretch of time; a line keeps a point before and one after it."""
    begin, end = np.searchsorted(trace.time_ns, [from_s * 1e9, to_s * 1e9])
    seen = slice(max(begin - 1, 0), end + 1)
    top = trace.top[seen] if trace.top is not None else None
    return replace(trace, time_ns=trace.time_ns[seen], value=trace.value[seen], top=top)


def _draw(axes: Axes, panel: Panel, view: tuple[float, float] | None) -> None:
    own_unit = panel.unit in ("B", "packets", "")  # said by the ticks, or by the quantity
    axes.set_ylabel(panel.quantity if own_unit else f"{panel.quantity} ({panel.unit})")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#eceef1", linewidth=0.6)
    axes.set_axisbelow(True)
    if panel.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    elif panel.unit == "B":
        axes.yaxis.set_major_formatter(EngFormatter(unit="B"))
    if not panel.traces:
        axes.text(0.5, 0.5, panel.note, transform=axes.transAxes, ha="center", va="center", wrap=True, color=GREY)
    lines = sum(trace.shape in ("steps", "line") for trace in panel.traces)
    for trace in panel.traces:
        _trace(axes, trace, _signs(trace, view) if lines > 1 else [])


def head(axes: Axes, title: str, names: Sequence[str]) -> None:
    """Draws title and legend above the axes; `names` are the entries of the legend.

    The legend is not part of the layout, which would narrow the axes for a wider legend: it has as many columns as fit.
    """
    size = legend_size()
    beside = columns(names, size, LABELS * rcParams["font.size"])
    if names:
        legend = axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=beside, borderaxespad=0, **LEGEND)
        legend.set_in_layout(False)
    axes.set_title(title, loc="left", pad=1.35 * size * -(-len(names) // beside) + 4)


def legend_size() -> float:
    """Returns the size of a legend's letters, in points."""
    return FontProperties(size=rcParams["legend.fontsize"]).get_size_in_points()


def columns(names: Sequence[str], size: float, left: float) -> int:
    """Returns the number of legend columns that fit the figure; `size` is that of letters, `left` the room for other
    things."""
    room = rcParams["figure.figsize"][0] * 72 - left
    widths = [text_width(name, size) + size * (HANDLE + HANDLE_SPACE) for name in names]
    for count in range(min(MOST_COLUMNS, len(names)), 1, -1):
        # matplotlib gives the first columns one entry more where they are not equally long.
        rows, longer = divmod(len(names), count)
        ends = np.cumsum([rows + (place < longer) for place in range(count)])
        longest = [max(widths[begin:end]) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
        if sum(longest) + size * (COLUMN_SPACE * (count - 1) + 1) <= room:
            return count
    return 1


def text_width(text: str, size: float) -> float:
    """Returns the width of a text in points."""
    properties = FontProperties(family=rcParams["font.family"], size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, properties, ismath=False)
    return float(width)


def _signs(trace: Trace, view: tuple[float, float] | None) -> list[int]:
    """Returns the points of a line to mark, some way apart in time."""
    if not LOOKS[trace.role].sign or not len(trace.time_ns):
        return []
    seconds = trace.time_ns / 1e9
    from_s, to_s = view or (seconds[0], seconds[-1])
    places = np.searchsorted(seconds, np.linspace(from_s, to_s, SIGNS + 2)[1:-1], side="right") - 1
    return [int(place) for place in np.unique(places) if place >= 0]


def _trace(axes: Axes, trace: Trace, signs: list[int]) -> None:
    look, scale = LOOKS[trace.role], rcParams["font.size"] / 14
    seconds, width = trace.time_ns / 1e9, look.width * scale
    common: dict[str, Any] = {"label": trace.name, "rasterized": len(seconds) > RASTER_LIMIT}
    if trace.shape == "bars":
        # One path with gaps: many times faster than as many lines.
        top = trace.value if trace.top is None else trace.top
        ends = np.stack((trace.value, top, np.full(len(top), np.nan)), axis=1).ravel()
        axes.plot(np.repeat(seconds, 3), ends, linewidth=width, color=look.light, solid_capstyle="butt", **common)
    elif trace.shape in ("dots", "marks"):
        crosses = trace.shape == "marks"
        shape: dict[str, Any] = {"marker": "x" if crosses else "o", "markeredgewidth": 1.4 * scale if crosses else 0}
        size = width if crosses else 1.5 * width
        axes.plot(seconds, trace.value, linestyle="none", markersize=size, color=look.light, **shape, **common)
    else:
        line: dict[str, Any] = {
            "drawstyle": "steps-post" if trace.shape == "steps" else "default",
            "linestyle": "dashed" if trace.dashed or look.dash == "dash" else "solid",
        }
        sign: dict[str, Any] = {"marker": look.sign, "markevery": signs, "markersize": 6 * scale} if signs else {}
        axes.plot(seconds, trace.value, linewidth=width, color=look.light, **line, **sign, **common)


def _limit(axes: Axes, panel: Panel, closeup: Mark | None) -> None:
    """Limits the axes to the stretch of time and its values. Byte offsets are fitted to what follows the start
    of the handover."""
    if closeup is None:
        if not panel.logarithmic and not panel.tall and panel.traces:
            axes.set_ylim(bottom=0)
        return
    axes.set_xlim(closeup.from_s, closeup.to_s)
    begin = closeup.at_s if panel.unit == "B" else closeup.from_s
    seen = [_values(trace, begin) for trace in panel.traces]
    values = np.concatenate(seen) if seen else np.zeros(0)
    values = values[np.isfinite(values) & ((values > 0) | (not panel.logarithmic))]
    if not len(values):
        return
    low, high = float(values.min()), float(values.max())
    if panel.logarithmic:
        axes.set_ylim(low / 1.25, high * 1.25)
        return
    room = 0.05 * ((high - low) or abs(high) or 1.0)
    axes.set_ylim(low - room if panel.tall else min(low, 0.0), high + room)


def _values(trace: Trace, from_s: float) -> np.ndarray:
    """Returns the values from a time on; for lines with the value before."""
    begin = int(np.searchsorted(trace.time_ns, from_s * 1e9))
    if trace.shape in ("steps", "line"):
        begin = max(begin - 1, 0)
    parts = [trace.value[begin:]] + ([trace.top[begin:]] if trace.top is not None else [])
    return np.concatenate(parts)


def _mark(axes: Axes, marks: Sequence[Mark], labels: bool) -> None:
    """Draws lines and shades of the handovers, and labels in the first panel where they do not collide."""
    from_s, to_s = axes.get_xlim()
    axes.set_xlim(from_s, to_s)
    free = -np.inf
    for mark in marks:
        if mark.outage and mark.completed_s is not None:
            axes.axvspan(mark.at_s, mark.completed_s, color=SHADE, linewidth=0, zorder=0)
        axes.axvline(mark.at_s, color=LOOKS["handover"].light, linewidth=0.8, linestyle="dotted")
        if not labels or not from_s <= mark.at_s <= to_s or mark.at_s < free:
            continue
        free = mark.at_s + 0.05 * (to_s - from_s)
        axes.annotate(
            mark.label,
            (mark.at_s, 1),
            xycoords=("data", "axes fraction"),
            xytext=(2, -2),
            textcoords="offset points",
            rotation=90,
            va="top",
            color=LOOKS["handover"].light,
            fontsize="small",
            zorder=1.5,  # behind the curves: it stands where they matter most
        )
