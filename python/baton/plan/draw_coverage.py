"""Draws study S's figure 4 for a user's own line: coverage outside the tunnel over the obstacle's height."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure

from baton.report.style import LOOKS, link_role

from .coverage import Line, extension

POINTS = 101


def figure(line: Line, latitudes_deg: Sequence[float], obstacle_m: float, *, southbound: bool) -> Figure:
    """Draws for each latitude a curve before the tunnel and one after it, for heights up to twice the given one."""
    width = rcParams["figure.figsize"][0]
    made = Figure(figsize=(width, 0.62 * width), layout="constrained")
    axes = made.subplots()
    heights = np.linspace(0, 2 * obstacle_m or 100.0, POINTS)
    for number, latitude in enumerate(latitudes_deg):
        look = LOOKS[link_role(number)]
        found = [extension(line, latitude, float(height), southbound=southbound) for height in heights]
        for side, dash in (("before", "solid"), ("after", "dashed")):
            needed = [getattr(each, side).extension_m for each in found]
            axes.plot(
                heights,
                needed,
                color=look.light,
                linestyle=dash,
                linewidth=1.2,
                marker=look.sign,
                markevery=POINTS // 5,
                markersize=3,
                label=f"{side}, {latitude:g}°",
            )
    axes.set_xlabel("height of the obstacle (m)")
    axes.set_ylabel("coverage outside the tunnel (m)")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return made


def write(made: Figure, file: Path) -> None:
    """Writes the figure in the format of the file's suffix. Raises `ValueError` for an unknown one."""
    made.savefig(file)
