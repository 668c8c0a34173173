"""Tracks from state vectors: OpenSky's tables and the frames of the `traffic` library, cleaned by fixed rules.

A row without time, position or altitude, or on the ground, is left out. A silence of ten minutes, or a point that needs
more than 500 m/s, ends a flight; the rest is another one. A flight of one point is left out. A point that even motion
between its neighbours in the result predicts within 250 m is left out as redundant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from baton.errors import InputError

from .flights import Point
from .sphere import distance_m

FOOT_M = 0.3048
SILENCE_S = 600.0
JUMP_M_S = 500.0
REDUNDANT_M = 250.0

OPENSKY = {"time": "time", "lat": "latitude", "lon": "longitude"}
TRAFFIC = {"timestamp": "time", "latitude": "latitude", "longitude": "longitude"}


@dataclass(slots=True)
class Counts:
    """Rows and flights that the rules have met."""

    rows: int = 0
    incomplete: int = 0
    on_ground: int = 0
    repeated: int = 0
    jumps: int = 0
    silences: int = 0
    single: int = 0
    flights: int = 0
    points: int = 0


@dataclass(slots=True)
class Tracks:
    """Flights of a table, by name, and the counts of its cleaning."""

    flights: dict[str, list[Point]] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)


def read(file: Path) -> Tracks:
    """Reads a file in CSV or Parquet."""
    try:
        table = pq.read_table(file) if file.suffix == ".parquet" else pyarrow.csv.read_csv(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{file}: {error}; expected a table in CSV or Parquet") from error
    return tracks(table, str(file))


def tracks(table: pa.Table, name: str = "frame") -> Tracks:
    """Returns the flights of a table; a pandas frame becomes one by `pyarrow.Table.from_pandas`."""
    columns = set(table.column_names)
    is_opensky = set(OPENSKY) <= columns
    if (not is_opensky and not set(TRAFFIC) <= columns) or "icao24" not in columns:
        raise InputError(
            f"{name}: found the columns {', '.join(table.column_names)}; expected OpenSky's (time, icao24, lat, lon, "
            "geoaltitude or baroaltitude) or those of the traffic library (timestamp, icao24, latitude, longitude, "
            "altitude)"
        )
    names = ["geoaltitude", "baroaltitude"] if is_opensky else ["altitude"]
    present = [column for column in names if column in columns]
    if not present:
        raise InputError(f"{name}: no altitude; expected a column {' or '.join(names)}")
    altitude = pc.coalesce(*(pc.cast(table[column], pa.float64()) for column in present))
    made = Tracks(counts=Counts(rows=table.num_rows))
    keys = [column for column in ("flight_id", "icao24", "callsign") if column in columns]
    ground = table["onground"].to_pylist() if "onground" in columns else [False] * table.num_rows
    which = OPENSKY if is_opensky else TRAFFIC
    times, latitudes, longitudes = (table[column] for column in which)
    if pa.types.is_timestamp(times.type):
        times = pc.divide(pc.cast(pc.cast(times, pa.timestamp("us", times.type.tz)), pa.int64()), 1e6)
    rows = zip(
        zip(*(table[key].to_pylist() for key in keys), strict=True),
        pc.cast(times, pa.float64()).to_pylist(),
        latitudes.to_pylist(),
        longitudes.to_pylist(),
        altitude.to_pylist(),
        ground,
        strict=True,
    )
    by_aircraft: dict[str, list[Point]] = {}
    for key, time, latitude, longitude, height, is_on_ground in rows:
        if any(value is None or value != value for value in (time, latitude, longitude, height)):
            made.counts.incomplete += 1
        elif is_on_ground in (True, "true", "True"):
            made.counts.on_ground += 1
        else:
            called = "-".join(str(part).strip() for part in key if part not in (None, ""))
            metres = height if is_opensky else height * FOOT_M
            by_aircraft.setdefault(called.replace(",", "_"), []).append(Point(time, latitude, longitude, metres))
    first = min((point.time_s for points in by_aircraft.values() for point in points), default=0.0)
    for called, points in by_aircraft.items():
        points.sort(key=lambda point: point.time_s)
        for number, flown in enumerate(_pieces(points, made.counts), start=1):
            from_start = [Point(p.time_s - first, p.latitude, p.longitude, p.altitude_m) for p in _thinned(flown)]
            made.flights[called if number == 1 else f"{called}_{number}"] = from_start
            made.counts.points += len(from_start)
    made.counts.flights = len(made.flights)
    return made


def _pieces(points: list[Point], counts: Counts) -> Iterator[list[Point]]:
    """Cuts an aircraft's points at silences and jumps."""
    piece: list[Point] = []
    for point in points:
        if piece:
            last = piece[-1]
            passed = point.time_s - last.time_s
            way = distance_m(last.latitude, last.longitude, point.latitude, point.longitude)
            if passed <= 0:
                counts.repeated += 1
                continue
            jumps = way > JUMP_M_S * passed
            if jumps or passed > SILENCE_S:
                counts.jumps += jumps
                counts.silences += not jumps
                counts.single += len(piece) == 1
                if len(piece) > 1:
                    yield piece
                piece = []
        piece.append(point)
    counts.single += len(piece) == 1
    if len(piece) > 1:
        yield piece


def _thinned(points: list[Point]) -> list[Point]:
    """Leaves out points that even motion between kept ones predicts."""
    kept = [points[0]]
    begin = 0
    for end in range(2, len(points)):
        if any(_error_m(points[begin], points[end], point) > REDUNDANT_M for point in points[begin + 1 : end]):
            begin = end - 1
            kept.append(points[begin])
    return [*kept, points[-1]]


def _error_m(before: Point, after: Point, point: Point) -> float:
    """Returns the distance of a point from the place where even motion has it."""
    share = (point.time_s - before.time_s) / (after.time_s - before.time_s)
    latitude = before.latitude + share * (after.latitude - before.latitude)
    longitude = before.longitude + share * (after.longitude - before.longitude)
    height = before.altitude_m + share * (after.altitude_m - before.altitude_m)
    return max(distance_m(latitude, longitude, point.latitude, point.longitude), abs(height - point.altitude_m))
