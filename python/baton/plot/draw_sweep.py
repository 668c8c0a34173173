"""Draws a sweep with matplotlib: curves with intervals, distributions, bars."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from baton.report.figures import scaled
from baton.report.style import LINK_LOOKS, LOOKS, link_role
from baton.sweep.units import numbers

from .draw import LEGEND, SIGNS, columns, legend_size, text_width
from .sweeps import PointValues, SweepValues

HEIGHT = 0.62
"""Height of a figure, in its widths."""
LABEL_SHARE = 0.6
"""Share of the height beyond which the name of the axis of values takes two lines."""
DASHES = ("solid", "dashed", "dotted", "dashdot")
HATCHES = ("", "//", "..", "xx", "\\\\", "oo")
"""Hatches of bars, which tell them apart without colour."""
RATIO_FOR_LOGARITHM = 50


def curves(values: SweepValues, over: str) -> Figure:
    """Draws the mean over an axis, a curve for each combination of the others, with the 95 % intervals."""
    made, axes = _empty()
    told = numbers(values.axes[over])
    across = dict(zip(values.axes[over], told[0] if told else range(len(values.axes[over])), strict=True))
    groups = _groups(values, over)
    factor = _name(axes, values)
    for number, (name, points) in enumerate(groups.items()):
        points.sort(key=lambda point: across[point.at[over]])
        # Without numbers to tell the order there is no line from one to the next; and they stand beside one another.
        aside = 0.0 if told else (number - (len(groups) - 1) / 2) * 0.6 / len(groups)
        x = [across[point.at[over]] + aside for point in points]
        look = _look(number) | ({} if told else {"linestyle": "none"})
        means = [point.mean * factor for point in points]
        axes.errorbar(x, means, _ends(points, factor), label=name, capsize=2, **look)
    _from_zero(axes, values)
    if told:
        positive = [each for each in told[0] if each > 0]
        if len(positive) == len(told[0]) and max(positive) > RATIO_FOR_LOGARITHM * min(positive):
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_xlabel(f"{over} ({told[1]})" if told[1] else over)
    else:
        _named(axes, values.axes[over], over)
    _legend(made, list(groups))
    return made


def distribution(values: SweepValues) -> Figure:
    """Draws the share of the runs that have at most a value, a curve for each point."""
    made, axes = _empty()
    factor, unit = scaled([point.runs for point in values.points], values.quantity.unit)
    for number, point in enumerate(values.points):
        ordered = np.sort(point.runs) * factor
        look = _look(number, every=max(len(ordered) // SIGNS, 1))
        share = np.arange(len(ordered) + 1) / len(ordered)
        axes.step(
            np.append(ordered[:1], ordered),
            share,
            where="post",
            label=point.named(),
            **look,
        )
    axes.set(xlabel=_with_unit(values.quantity.words, unit), ylabel="share of runs", ylim=(0, 1.02))
    _legend(made, [point.named() for point in values.points])
    return made


def bars(values: SweepValues) -> Figure:
    """Draws a bar for the mean of each point, with its 95 % interval."""
    made, axes = _empty()
    factor = _name(axes, values)
    last = list(values.axes)[-1] if values.axes else ""
    groups = _groups(values, last)
    across = {value: place for place, value in enumerate(values.axes[last])} if last else {}
    width = 0.8 / len(groups)
    for number, (name, points) in enumerate(groups.items()):
        x = [across.get(point.at.get(last, ""), 0) + (number - (len(groups) - 1) / 2) * width for point in points]
        colour = LOOKS[link_role(number)].light
        look: dict[str, Any] = {"color": colour, "hatch": HATCHES[number % len(HATCHES)], "edgecolor": "white"}
        heights = [point.mean * factor for point in points]
        axes.bar(x, heights, 0.92 * width, yerr=_ends(points, factor), label=name, capsize=2, linewidth=0, **look)
    _from_zero(axes, values)
    _named(axes, values.axes[last] if last else [""], last)
    _legend(made, list(groups))
    return made


def _empty() -> tuple[Figure, Axes]:
    width = rcParams["figure.figsize"][0]
    made = Figure(figsize=(width, HEIGHT * width), layout="constrained")
    axes = made.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#eceef1", linewidth=0.6)
    axes.set_axisbelow(True)
    return made, axes


def _groups(values: SweepValues, over: str) -> dict[str, list[PointValues]]:
    """Groups the points by their values on all axes but one."""
    found: dict[str, list[PointValues]] = {}
    for point in values.points:
        found.setdefault(point.named(without=over), []).append(point)
    return found


def _ends(points: Sequence[PointValues], factor: float) -> np.ndarray:
    """Returns the reach of the interval below and above the mean; at least zero, despite rounding."""
    reach = np.array([[point.mean - point.low for point in points], [point.high - point.mean for point in points]])
    return np.asarray(np.maximum(reach, 0.0) * factor)


def _name(axes: Axes, values: SweepValues) -> float:
    """Labels the axis of values with the quantity; returns the factor to its unit."""
    ends = np.array([[point.low, point.high] for point in values.points])
    factor, unit = scaled([np.abs(ends).ravel()], values.quantity.unit)
    label = _with_unit(values.quantity.words, unit)
    if text_width(label, rcParams["font.size"]) > LABEL_SHARE * HEIGHT * rcParams["figure.figsize"][0] * 72:
        label = fill(label, len(label) // 2 + 4)
    axes.set_ylabel(label)
    return factor


def _from_zero(axes: Axes, values: SweepValues) -> None:
    """Starts the axis at zero if no value is negative."""
    if min(point.low for point in values.points) >= 0:
        axes.set_ylim(bottom=0)


def _legend(made: Figure, names: Sequence[str]) -> None:
    """Draws the legend above the axes if there is more than one curve."""
    if len(names) > 1:
        size = legend_size()
        made.legend(loc="outside upper left", ncols=columns(names, size, 0.0), **LEGEND)


def _with_unit(words: str, unit: str) -> str:
    return f"{words} ({unit})" if unit else words


def _named(axes: Axes, names: Sequence[str], axis: str) -> None:
    """Writes names below their places; slanted where they would collide."""
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(axis)
    size = rcParams["font.size"]
    room = 0.8 * rcParams["figure.figsize"][0] * 72 / max(len(names), 1)
    if max(text_width(name, size) for name in names) > 0.95 * room:
        axes.tick_params("x", rotation=40)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


def _look(number: int, every: int = 1) -> dict[str, Any]:
    """Returns colour, sign and dashes of a curve, unique among the first 24; a sign stands at each `every`th point."""
    look, scale = LOOKS[link_role(number)], rcParams["font.size"] / 14
    dash = DASHES[number // LINK_LOOKS % len(DASHES)]
    sign = {"marker": look.sign, "markersize": 6 * scale, "markevery": every}
    return {"color": look.light, "linestyle": dash, "linewidth": look.width * scale, **sign}
