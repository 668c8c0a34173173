"""A plan of cells for a continent: hexagons over the places that flights cross, in a CSV file to replace or edit."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import cos, degrees, nan, radians, sqrt
from pathlib import Path

from baton.errors import InputError

from .flights import Point
from .sphere import EARTH_RADIUS_M, between, distance_m

COLUMNS = ("cell", "latitude", "longitude", "radius_km")
RANGES = {"latitude": (-90.0, 90.0), "longitude": (-180.0, 180.0), "radius_km": (0.1, 2000.0)}
NAME = re.compile(r"[A-Za-z0-9_-]+")
STEP_M = 25_000.0
"""Distance between the places of a flight that are looked at (chosen)."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its base station in degrees, and its radius."""

    name: str
    latitude: float
    longitude: float
    radius_km: float


def plan(flights: Iterable[list[Point]], *, spacing_m: float, radius_m: float) -> list[Cell]:
    """Returns the cells of a hexagonal grid that are nearest to some place of a flight.

    Rows lie on parallels, and each row is spaced by distance, so that the grid has no seams of its own up to the poles.
    """
    row_deg = degrees(spacing_m * sqrt(3) / 2 / EARTH_RADIUS_M)
    used = {
        _nearest(latitude, longitude, spacing_m, row_deg)
        for points in flights
        for latitude, longitude in _places(points)
    }
    made: list[Cell] = []
    for row, column in sorted(used):
        latitude, longitude = _centre(row, column, spacing_m, row_deg)
        made.append(Cell(f"c{len(made) + 1:03}", round(latitude, 4), round(longitude, 4), radius_m / 1000))
    return made


def _places(points: list[Point]) -> Iterable[tuple[float, float]]:
    for one, other in itertools.pairwise(points):
        ends = (one.latitude, one.longitude, other.latitude, other.longitude)
        steps = max(1, round(distance_m(*ends) / STEP_M))
        for step in range(steps + 1):
            yield between(*ends, step / steps)


def _column_deg(row: int, spacing_m: float, row_deg: float) -> float:
    return degrees(spacing_m / EARTH_RADIUS_M / max(0.01, cos(radians(row * row_deg))))


def _centre(row: int, column: int, spacing_m: float, row_deg: float) -> tuple[float, float]:
    return row * row_deg, (column + 0.5 * (row % 2)) * _column_deg(row, spacing_m, row_deg)


def _nearest(latitude: float, longitude: float, spacing_m: float, row_deg: float) -> tuple[int, int]:
    """Returns the row and the column of the nearest centre."""
    around = round(latitude / row_deg)
    near = []
    for row in range(around - 1, around + 2):
        column = round(longitude / _column_deg(row, spacing_m, row_deg) - 0.5 * (row % 2))
        near.append((distance_m(latitude, longitude, *_centre(row, column, spacing_m, row_deg)), row, column))
    return min(near)[1:]


def write(cells: list[Cell], file: Path) -> None:
    """Writes a plan."""
    with file.open("w", newline="") as out:
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(COLUMNS)
        lines.writerows((cell.name, cell.latitude, cell.longitude, cell.radius_km) for cell in cells)


def read(file: Path) -> list[Cell]:
    """Reads a plan. Raises `InputError` with file, line and column."""
    made: dict[str, Cell] = {}
    with file.open(newline="") as rows:
        table = csv.DictReader(rows)
        if missing := [column for column in COLUMNS if column not in (table.fieldnames or ())]:
            raise InputError(f"{file}:1: no column {missing[0]}; expected {', '.join(COLUMNS)}")
        for row in table:
            values = []
            for column, (least, most) in RANGES.items():
                try:
                    values.append(float(row[column]))
                except (TypeError, ValueError):
                    values.append(nan)
                if not least <= values[-1] <= most:
                    expected = f"expected {least:g} to {most:g}, found {row[column] or 'nothing'}"
                    raise InputError(f"{file}:{table.line_num}: {column}: {expected}")
            name = row["cell"]
            if name in made or not NAME.fullmatch(name):
                expected = "expected a name of its own, of letters, digits, - and _"
                raise InputError(f"{file}:{table.line_num}: cell: {expected}, found {name or 'nothing'}")
            made[name] = Cell(name, *values)
    if not made:
        raise InputError(f"{file}: expected at least one cell, found none")
    return list(made.values())
