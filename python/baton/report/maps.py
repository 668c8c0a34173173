"""Radio networks on a map, as plain data: cells, the tracks of mobiles by serving cell, and where handovers began."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from baton.cells import CellNames
from baton.summary import Json

from .handovers import handovers_in_order
from .style import link_role

KM_PER_DEGREE = 111.195
"""Kilometres in a degree of latitude, on the sphere on which mobiles move."""
# Ways of a map; of more mobiles the first ones are drawn.
MOST_WAYS = 20
NO_CELL = "total"
"""The role of a way where no cell served: grey."""

Point = tuple[float, float]


class Circle(NamedTuple):
    """A cell: its middle and its radius in km."""

    name: str
    role: str
    middle: Point
    radius_km: float
    mobiles: list[float]
    """Mean number of mobiles in it, in equal stretches of the run."""


class Move(NamedTuple):
    """Places of a mobile while it exists, with their times in s."""

    mobile: str
    places: list[tuple[float, Point]]


class Stretch(NamedTuple):
    """A part of a track on which one cell served; `cell` is empty if none did, or another network."""

    cell: str
    role: str
    points: list[Point]


class Way(NamedTuple):
    """A mobile's track."""

    mobile: str
    stretches: list[Stretch]


class Turn(NamedTuple):
    """Place of a mobile when a handover began. The number is the one in the table of handovers."""

    number: int
    label: str
    at: Point


class Map(NamedTuple):
    """A network in plan view: km east and north of the middle of its cells."""

    title: str
    cells: list[Circle]
    ways: list[Way]
    turns: list[Turn]
    moves: list[Move]
    stretch_s: float
    """Length of a stretch of the cells' loads."""

    def bounds(self) -> tuple[Point, Point]:
        """Returns the south-western and the north-eastern corner of everything on the map."""
        points = [point for way in self.ways for stretch in way.stretches for point in stretch.points]
        for cell in self.cells:
            (east, north), radius = cell.middle, cell.radius_km
            points += [(east - radius, north - radius), (east + radius, north + radius)]
        easts, norths = zip(*points, strict=True)
        return (min(easts), min(norths)), (max(easts), max(norths))


def maps(summary: Json) -> list[Map]:
    """Returns a map of each radio network of a run."""
    return [_map(radio, summary) for radio in summary.get("radios") or []]


def _map(radio: Json, summary: Json) -> Map:
    cells = radio["cells"]
    first = cells[0]["longitude"]
    east = sum(_eastwards(cell["longitude"], first) for cell in cells) / len(cells)
    origin = (first + east, sum(cell["latitude"] for cell in cells) / len(cells))
    roles = {cell["cell"]: link_role(number) for number, cell in enumerate(cells)}
    circles = [
        Circle(
            cell["cell"],
            roles[cell["cell"]],
            _point(cell, origin),
            cell["radius_m"] / 1e3,
            cell.get("load", {}).get("aircraft", []),
        )
        for cell in cells
    ]
    moves = [
        Move(each["mobile"], [(place["at_s"], _point(place, origin)) for place in each["track"]])
        for each in radio["aircraft"]
    ]
    drawn = Map(radio["link"], circles, [], [], moves, cells[0].get("load", {}).get("stretch_s", 0.0))
    listed, names = list(enumerate(handovers_in_order(summary), start=1)), CellNames.of(summary)
    for aircraft in radio["aircraft"][:MOST_WAYS]:
        track, mobile = aircraft["track"], aircraft["mobile"]
        own = [(number, handover) for number, handover in listed if handover.get("mobile") == mobile]
        served = _served(track, [handover for _, handover in own], radio["link"])
        drawn.ways.append(Way(mobile, _stretches(served, origin, roles)))
        for number, handover in own:
            label = names.shown(f"{handover.get('from') or 'none'} → {handover.get('to') or 'none'}")
            drawn.turns.append(Turn(number, label, _point(_place(track, float(handover["at_s"])), origin)))
    return drawn


def _served(track: list[Json], handovers: list[Json], link: str) -> list[Json]:
    """Returns the track with a place for each handover, and without cells where the mobile used a link of another
    network."""

    def used(at_s: float) -> str | None:
        before = [handover for handover in handovers if float(handover["at_s"]) <= at_s]
        return before[-1].get("to") if before else handovers[0].get("from")

    if not handovers:
        return track
    places = sorted([*track, *(_place(track, float(h["at_s"])) for h in handovers)], key=lambda place: place["at_s"])
    own = f"{link}."
    return [p if (used(p["at_s"]) or "").startswith(own) else {**p, "cell": None} for p in places]


def _point(place: Json, origin: Sequence[float]) -> Point:
    """Converts a place to km east and north: exact beside the origin, and near enough to it for a picture."""
    east = _eastwards(place["longitude"], origin[0]) * math.cos(math.radians(origin[1]))
    return east * KM_PER_DEGREE, (place["latitude"] - origin[1]) * KM_PER_DEGREE


def _eastwards(longitude: float, origin: float) -> float:
    """Returns the degrees east of the origin, the short way round."""
    return (longitude - origin + 180) % 360 - 180


def _stretches(track: list[Json], origin: Sequence[float], roles: dict[str, str]) -> list[Stretch]:
    """Returns a stretch for each cell in turn; each begins where the one before ends."""
    found: list[Stretch] = []
    for here, there in pairwise(track):
        cell = here["cell"] or ""
        if not found or found[-1].cell != cell:
            found.append(Stretch(cell, roles.get(cell, NO_CELL), [_point(here, origin)]))
        found[-1].points.append(_point(there, origin))
    return found


def _place(track: list[Json], at_s: float) -> Json:
    """Returns the place of a mobile, between its known places."""
    after = next((number for number, place in enumerate(track) if place["at_s"] >= at_s), len(track) - 1)
    here, there = track[max(after - 1, 0)], track[after]
    between = there["at_s"] - here["at_s"]
    if between <= 0 or at_s >= there["at_s"]:
        return there
    share = max(at_s - here["at_s"], 0.0) / between
    latitude = here["latitude"] + (there["latitude"] - here["latitude"]) * share
    longitude = here["longitude"] + _eastwards(there["longitude"], here["longitude"]) * share
    return {**here, "at_s": at_s, "latitude": latitude, "longitude": longitude}
