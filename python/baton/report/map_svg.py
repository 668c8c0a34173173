"""Maps of radio networks as SVG."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from itertools import pairwise

from .maps import Circle, Map, Point, Turn, Way
from .style import LOOKS
from .svg_labels import Labels

# Pixels: at most so wide and so high, and a margin around for names.
WIDTH, HEIGHT, MARGIN = 1176, 860, 24
EXPLANATION = (
    "North is up. Circles are the cells as far as mobiles may register; a track has the colour of the cell that served,"
    " and is dotted where none did."
    " Numbers are those of the handovers, where they began."
)
PLAYING = (
    "When it plays, a dot is a mobile (of more than a hundred, some are drawn), and a cell is the darker the more"
    " mobiles are in it."
)


def section(maps: Sequence[Map]) -> str:
    """Returns all maps under a heading; nothing without maps."""
    if not maps:
        return ""
    drawings = "".join(f'<div class="wide">{drawing(each)}</div>{player(each)}' for each in maps)
    return f'<section id="maps"><h2>Map</h2><p class="note">{EXPLANATION}</p>{drawings}</section>'


def drawing(drawn: Map) -> str:
    """Draws one map."""
    return _Drawing(drawn).svg()


def player(drawn: Map) -> str:
    """Returns the controls that play a map, and what they need: the cells' loads and the mobiles' places in pixels.
    Nothing for a map without loads."""
    if not drawn.stretch_s:
        return ""
    place = _Drawing(drawn).place
    moves = [
        [[round(number, 1) for number in (at, *place(point))] for at, point in move.places] for move in drawn.moves
    ]
    data = {"stretch": drawn.stretch_s, "cells": [cell.mobiles for cell in drawn.cells], "moves": moves}
    return (
        '<p class="player"><button type="button">Play</button>'
        '<input type="range" min="0" max="1" step="any" value="0" aria-label="Time"><output></output>'
        f'<span class="note">{PLAYING}</span>'
        f'<script type="application/json">{json.dumps(data, separators=(",", ":"))}</script></p>'
    )


def nice_length(most_km: float) -> float:
    """Returns the largest of 1, 2 and 5 times a power of ten that is not longer."""
    power = 1.0
    while power * 10 <= most_km:
        power *= 10
    while power > most_km:
        power /= 10
    return max(power * step for step in (1, 2, 5) if power * step <= most_km)


class _Drawing:
    """A map and its scale."""

    def __init__(self, drawn: Map) -> None:
        self.map = drawn
        (self.west, south), (east, self.north) = drawn.bounds()
        across, down = max(east - self.west, 1e-3), max(self.north - south, 1e-3)
        self.scale = min((WIDTH - 2 * MARGIN) / across, (HEIGHT - 2 * MARGIN) / down)
        self.size = across * self.scale + 2 * MARGIN, down * self.scale + 2 * MARGIN

    def svg(self) -> str:
        width, height = self.size
        name = html.escape(f"Map of {self.map.title}")
        parts = [f'<svg class="chart map" width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{name}">']
        parts += [self.cell(cell) for cell in self.map.cells]
        parts += [self.way(way) for way in self.map.ways]
        parts += [self.turn(turn) for turn in self.map.turns]
        return "".join([*parts, self.bar(), *self.labels(), "</svg>"])

    def labels(self) -> list[str]:
        """Writes names of cells, numbers of handovers, and names of mobiles, in the order in which they get room."""
        found = Labels(*self.size)
        for x, y in [self.place(cell.middle) for cell in self.map.cells]:
            found.keep_free(x, y, 3)
        for x, y in [self.place(turn.at) for turn in self.map.turns]:
            found.keep_free(x, y, 5)
        for stretch in (stretch for way in self.map.ways for stretch in way.stretches):
            for start, end in pairwise(map(self.place, stretch.points)):
                found.avoid(start, end)
        length = nice_length(self.size[0] / 5 / self.scale)
        found.taken.append((0, self.size[1] - 28, MARGIN / 2 + max(length * self.scale, 60), self.size[1]))
        cells = [found.put(cell.name, *self.place(cell.middle), away=6, kind="node") for cell in self.map.cells]
        turns = [found.put(str(turn.number), *self.place(turn.at), away=6) for turn in self.map.turns]
        starts = [(way.mobile, way.stretches[0].points[0]) for way in self.map.ways if way.stretches]
        ways = [found.put(f"{mobile} \u2192", *self.place(start), away=6) for mobile, start in starts]
        return [*cells, *turns, *ways]

    def place(self, point: Point) -> tuple[float, float]:
        return MARGIN + (point[0] - self.west) * self.scale, MARGIN + (self.north - point[1]) * self.scale

    def cell(self, cell: Circle) -> str:
        x, y = self.place(cell.middle)
        colour, radius = _colour(cell.role), cell.radius_km * self.scale
        look = f"fill:{colour};fill-opacity:.06;stroke:{colour}"
        return (
            f"<g><title>{html.escape(cell.name)}: {cell.radius_km:g} km</title>"
            f'<circle class="cell" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" style="{look}"/>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" style="fill:{colour}"/></g>'
        )

    def way(self, way: Way) -> str:
        parts = []
        for stretch in way.stretches:
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(self.place, stretch.points))
            dash = "" if stretch.cell else ";stroke-dasharray:3 4"
            look = f"stroke:{_colour(stretch.role)};stroke-width:{2 * LOOKS[stretch.role].width:g}{dash}"
            tip = html.escape(f"{way.mobile}: {stretch.cell or 'no cell'}")
            parts.append(f'<polyline class="way" points="{points}" style="{look}"><title>{tip}</title></polyline>')
        return "".join(parts)

    def turn(self, turn: Turn) -> str:
        x, y = self.place(turn.at)
        return (
            f"<g><title>{turn.number}: {html.escape(turn.label)}</title>"
            f'<circle class="at" cx="{x:.1f}" cy="{y:.1f}" r="5"/></g>'
        )

    def bar(self) -> str:
        length = nice_length(self.size[0] / 5 / self.scale)
        right, y = MARGIN / 2 + length * self.scale, self.size[1] - 8
        return (
            f'<line class="bar" x1="{MARGIN / 2}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}"/>'
            f'<text x="{MARGIN / 2}" y="{y - 5:.1f}">{length:g} km</text>'
        )


def _colour(role: str) -> str:
    return f"var(--{role.replace(' ', '-')})"
