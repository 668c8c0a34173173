"""Tracks of many aircraft, and plans of cells."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from baton.air_traffic import cells, flights, state_vectors
from baton.air_traffic.sphere import distance_m
from baton.errors import InputError

OPENSKY = (
    "time,icao24,lat,lon,velocity,heading,vertrate,callsign,onground,alert,spi,squawk,baroaltitude,geoaltitude,"
    "lastposupdate,lastcontact,hour\n"
)


def row(time: float, aircraft: str, lat: str, lon: str, ground: str = "false", altitude: str = "10000") -> str:
    return f"{time},{aircraft},{lat},{lon},230,90,0,SWR1  ,{ground},false,false,1000,{altitude},10200,{time},{time},0\n"


def test_state_vectors_of_opensky_in_csv_and_parquet(tmp_path: Path) -> None:
    text = OPENSKY + "".join(
        [
            row(1000, "aaa", "50", "5"),
            row(1000, "bbb", "40", "0"),
            row(1010, "aaa", "", ""),  # no position
            row(1020, "bbb", "40", "0.01", ground="true"),
            row(1100, "aaa", "50", "5.3"),
            row(1100, "bbb", "40", "0.25"),
            row(1110, "aaa", "60", "5.3"),  # 1,112 km in ten seconds
            row(1200, "aaa", "60", "5.6"),
            row(2000, "aaa", "60", "5.6"),  # alone after a silence
        ]
    )
    file = tmp_path / "states.csv"
    file.write_text(text)
    made = state_vectors.read(file)
    assert list(made.flights) == ["aaa-SWR1", "aaa-SWR1_2", "bbb-SWR1"]
    counts = made.counts
    found = (counts.rows, counts.incomplete, counts.on_ground, counts.jumps, counts.silences, counts.single)
    assert found == (9, 1, 1, 1, 1, 1)
    assert made.flights["aaa-SWR1"][0] == flights.Point(0, 50, 5, 10_200)
    assert [point.time_s for point in made.flights["aaa-SWR1_2"]] == [110, 200]
    parquet = tmp_path / "states.parquet"
    pd.read_csv(file).to_parquet(parquet)
    assert state_vectors.read(parquet).flights == made.flights


def test_a_frame_of_the_traffic_library_is_in_feet() -> None:
    frame = pd.DataFrame(
        {
            "timestamp": pd.to_datetime([100, 160, 220], unit="s", utc=True),
            "icao24": "aaa",
            "callsign": "AFR1",
            "flight_id": "AFR1_000",
            "latitude": [45.0, 45.1, 45.2],
            "longitude": 3.0,
            "altitude": 35_000.0,
            "groundspeed": 400.0,
            "track": 0.0,
        }
    )
    made = state_vectors.tracks(pa.Table.from_pandas(frame))
    (points,) = made.flights.values()
    # Even motion predicts the point between the ends.
    assert [point.time_s for point in points] == [0, 120]
    assert points[0].altitude_m == pytest.approx(10_668)
    with pytest.raises(InputError, match="expected OpenSky's"):
        state_vectors.tracks(pa.table({"a": [1]}))


def test_generated_flights_depend_on_the_seed_alone() -> None:
    made = list(flights.generate(200, 7))
    assert made == list(flights.generate(200, 7))
    assert made != list(flights.generate(200, 8))
    for points in made:
        ends = distance_m(points[0].latitude, points[0].longitude, points[-1].latitude, points[-1].longitude)
        passed = points[-1].time_s - points[0].time_s
        assert ends / passed == pytest.approx(flights.CRUISE_M_S, rel=0.01)
        assert 0 <= points[0].time_s < flights.DAY_S
        assert ends >= flights.SHORTEST_M - 100


def test_a_plan_covers_every_flight(tmp_path: Path) -> None:
    made = list(flights.generate(100, 1))
    plan = cells.plan(made, spacing_m=250e3, radius_m=200e3)
    # A place in a hexagon is at most spacing / sqrt(3) from its centre; rows are shifted by less than half a spacing.
    for points in made:
        for point in points:
            nearest = min(distance_m(point.latitude, point.longitude, cell.latitude, cell.longitude) for cell in plan)
            assert nearest <= 250e3 / sqrt(3) * 1.2
    file = tmp_path / "cells.csv"
    cells.write(plan, file)
    header, *lines = file.read_text().splitlines()
    assert header == "cell,latitude,longitude,radius_km"
    assert lines == [f"{cell.name},{cell.latitude},{cell.longitude},{cell.radius_km}" for cell in plan]
