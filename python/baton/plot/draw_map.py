"""Draws a map of a radio network with matplotlib."""

from __future__ import annotations

from matplotlib import rcParams
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from baton.report.maps import Map
from baton.report.style import LOOKS


def figure(drawn: Map) -> Figure:
    """Draws the map, as wide as figures are, and as high as it needs."""
    width = rcParams["figure.figsize"][0]
    (west, south), (east, north) = drawn.bounds()
    made = Figure(figsize=(width, width * min(max((north - south) / (east - west), 0.3), 1.2)), layout="constrained")
    axes = made.subplots()
    for cell in drawn.cells:
        look = LOOKS[cell.role]
        axes.add_patch(Circle(cell.middle, cell.radius_km, fill=False, edgecolor=look.light, linewidth=0.8))
        axes.annotate(
            cell.name, cell.middle, xytext=(0, -4), textcoords="offset points", ha="center", va="top", fontsize="small"
        )
        axes.plot(*cell.middle, marker=look.sign, color=look.light, markersize=4)
    for way in drawn.ways:
        for stretch in way.stretches:
            easts, norths = zip(*stretch.points, strict=True)
            axes.plot(
                easts,
                norths,
                color=LOOKS[stretch.role].light,
                linewidth=2,
                linestyle="solid" if stretch.cell else "dotted",
                gid=f"{way.mobile}: {stretch.cell}",
            )
    for turn in drawn.turns:
        axes.plot(*turn.at, marker="o", markersize=4, color="white", markeredgecolor=LOOKS["handover"].light, zorder=3)
        axes.annotate(str(turn.number), turn.at, xytext=(0, 4), textcoords="offset points", ha="center")
    axes.set_aspect("equal")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("east (km)")
    axes.set_ylabel("north (km)")
    axes.set_title(drawn.title, loc="left")
    return made
