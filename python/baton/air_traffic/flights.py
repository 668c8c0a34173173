"""Flights, as the key `flights` of a track reads them, and a generator of flights between airports of Europe."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .airports import AIRPORTS
from .sphere import between, distance_m

DAY_S = 86_400
COLUMNS = ("flight", "time", "latitude", "longitude", "altitude")

CRUISE_M_S = 225.0
"""Speed over the ground (chosen: 810 km/h)."""
CRUISE_M = 11_000.0
CLIMB_M = 200_000.0
"""Way over the ground of a climb or a descent (chosen)."""
SHORTEST_M, LONGEST_M = 200_000.0, 4_000_000.0
"""Routes that are flown (chosen)."""
BUSY_FROM_S, BUSY_TO_S, NIGHT_SHARE = 5 * 3600, 21 * 3600, 0.1
"""Hours of the day, in UTC, with even traffic, and the rate of departures at night as a share of that (chosen)."""


@dataclass(frozen=True, slots=True)
class Point:
    """Position of a flight: seconds from the start of the run, degrees, and metres."""

    time_s: float
    latitude: float
    longitude: float
    altitude_m: float


def generate(number: int, seed: int, *, begin_s: float = 0.0, duration_s: float = DAY_S) -> Iterator[list[Point]]:
    """Draws flights on great circles, whose departures fall into `duration_s` from `begin_s` of the day on.

    An airport's departures and arrivals are in proportion to its daily flights. The same seed makes the same flights.
    """
    draws = np.random.Generator(np.random.PCG64(seed))
    places = list(AIRPORTS.values())
    weights = np.array([flights for *_, flights in places], dtype=float)
    here = np.array([(latitude, longitude) for latitude, longitude, _ in places])
    apart = np.array([[distance_m(*one, *other) for other in here] for one in here])
    pairs = weights[:, None] * weights * ((apart >= SHORTEST_M) & (apart <= LONGEST_M))
    routes = draws.choice(pairs.size, size=number, p=(pairs / pairs.sum()).ravel())
    moments = np.arange(begin_s, begin_s + duration_s, 60.0)
    of_day = moments % DAY_S
    rates = np.where((of_day >= BUSY_FROM_S) & (of_day < BUSY_TO_S), 1.0, NIGHT_SHARE)
    departures = np.sort(draws.choice(moments, size=number, p=rates / rates.sum()) + draws.uniform(0, 60, number))
    for route, departure in zip(routes, departures - begin_s, strict=True):
        origin, destination = divmod(int(route), len(places))
        yield _flown(here[origin], here[destination], float(departure))


def _flown(origin: np.ndarray, destination: np.ndarray, departure_s: float) -> list[Point]:
    """Returns a flight's ends, its top of climb and its top of descent."""
    ends = (float(origin[0]), float(origin[1]), float(destination[0]), float(destination[1]))
    length = distance_m(*ends)
    climb = min(CLIMB_M, length / 2)
    top = CRUISE_M * climb / CLIMB_M
    ways = [(0.0, 0.0), (climb, top), (length - climb, top), (length, 0.0)]
    if length <= 2 * CLIMB_M:
        ways.pop(1)
    made = []
    for way, altitude in ways:
        latitude, longitude = between(*ends, way / length)
        made.append(Point(round(departure_s + way / CRUISE_M_S, 1), round(latitude, 4), round(longitude, 4), altitude))
    return made


def write(flights: Iterable[tuple[str, list[Point]]], file: Path) -> int:
    """Writes flights by name; returns their number."""
    number = 0
    with file.open("w", newline="") as out:
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(COLUMNS)
        for name, points in flights:
            number += 1
            lines.writerows((name, round(p.time_s, 1), p.latitude, p.longitude, round(p.altitude_m)) for p in points)
    return number
