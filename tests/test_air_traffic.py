"""Tracks of many aircraft, and plans of cells."""

from __future__ import annotations

import csv
import re
from math import sqrt
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

from baton import Scenario
from baton.air_traffic import app, cells, flights, state_vectors
from baton.air_traffic.sphere import between, distance_m
from baton.errors import InputError
from baton.many import unlisted_sentences
from baton.report import text_tables
from baton.shipped import scenario_path

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
    assert cells.read(file) == plan


def test_a_plan_lies_under_great_circles(tmp_path: Path) -> None:
    """From Lisbon to Helsinki the middle of the great circle is 118 km from that of latitudes and longitudes."""
    ends = [flights.Point(0, 38.78, -9.14, 0), flights.Point(15_000, 60.32, 24.96, 0)]
    middle = between(38.78, -9.14, 60.32, 24.96, 0.5)
    straight = ((38.78 + 60.32) / 2, (24.96 - 9.14) / 2)
    assert distance_m(*middle, 38.78, -9.14) == pytest.approx(distance_m(*middle, 60.32, 24.96))
    whole = distance_m(38.78, -9.14, 60.32, 24.96)
    assert distance_m(*middle, 38.78, -9.14) == pytest.approx(whole / 2)
    assert distance_m(*middle, *straight) > 100e3
    plan = cells.plan([ends], spacing_m=60e3, radius_m=50e3)
    nearest = [min(distance_m(*place, cell.latitude, cell.longitude) for cell in plan) for place in (middle, straight)]
    assert nearest[0] < 45e3 < nearest[1]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,50,x,200\n", "cells.csv:2: longitude: expected -180 to 180, found x"),
        ("a,50,5,200\nb,91,5,200\n", "cells.csv:3: latitude: expected -90 to 90, found 91"),
        ("a,50,5,0\n", "cells.csv:2: radius_km: expected 0.1 to 2000, found 0"),
        ("a,50,5\n", "cells.csv:2: radius_km: expected 0.1 to 2000, found nothing"),
        ("a,50,5,200\na,51,5,200\n", "cells.csv:3: cell: expected a name of its own"),
        ("a b,50,5,200\n", "cells.csv:2: cell: expected a name of its own"),
        ("", "cells.csv: expected at least one cell, found none"),
    ],
)
def test_mistakes_in_a_plan_are_named(tmp_path: Path, rows: str, message: str) -> None:
    file = tmp_path / "cells.csv"
    file.write_text("cell,latitude,longitude,radius_km\n" + rows)
    with pytest.raises(InputError, match=re.escape(message)):
        cells.read(file)
    file.write_text("cell,latitude,longitude\na,50,5\n")
    with pytest.raises(InputError, match="cells.csv:1: no column radius_km; expected cell, latitude"):
        cells.read(file)


def test_the_shipped_scenario_is_what_the_commands_write(tmp_path: Path) -> None:
    shipped = scenario_path("air-traffic")
    plan, made = tmp_path / "cells.csv", tmp_path / "air-traffic.toml"
    (tmp_path / "traces").symlink_to(shipped.parent / "traces")
    tracks = str(tmp_path / "traces" / "air-traffic.csv")
    for words in (
        ["cells", tracks, "--spacing", "330", "--radius", "225", "--out", str(plan)],
        ["scenario", tracks, str(plan), "--hours", "2", "--out", str(made)],
    ):
        assert CliRunner().invoke(app, words).exit_code == 0
    assert made.read_text() == shipped.read_text()


def test_a_scenario_is_written_for_files_of_any_name(tmp_path: Path) -> None:
    tracks, plan, made = tmp_path / 'a "day".csv', tmp_path / "cells.csv", tmp_path / 'a "day".toml'
    tracks.write_bytes((scenario_path("air-traffic").parent / "traces" / "air-traffic.csv").read_bytes())
    for words in (
        ["cells", str(tracks), "--out", str(plan)],
        ["scenario", str(tracks), str(plan), "--out", str(made)],
    ):
        assert CliRunner().invoke(app, words).exit_code == 0
    assert Scenario.load(made).name == "a-day"


@pytest.fixture(scope="module")
def summary() -> Any:
    return Scenario.load(scenario_path("air-traffic")).run().summary


def test_flights_of_a_day_are_in_cells_for_their_time(summary: Any) -> None:
    with (scenario_path("air-traffic").parent / "traces" / "air-traffic.csv").open(newline="") as file:
        times: dict[str, list[float]] = {}
        for row in csv.DictReader(file):
            times.setdefault(row["flight"], []).append(float(row["time"]))
    assert len(times) == 50
    aircraft = summary["radios"][0]["aircraft"]
    for number, (flight, each) in enumerate(zip(times.values(), aircraft, strict=True), start=1):
        assert each["mobile"] == f"aircraft-{number}"
        assert (each["track"][0]["at_s"], each["track"][-1]["at_s"]) == (flight[0], min(flight[-1], 7200))
    # Each flight is in some cell from its entry, after a second or so, to its end, but for some 0.4 s of a handover.
    loads = [cell["load"] for cell in summary["radios"][0]["cells"]]
    in_cells = sum(sum(load["aircraft"]) * load["stretch_s"] for load in loads)
    in_flight = sum(min(flight[-1], 7200) - flight[0] for flight in times.values())
    assert in_flight - 50 * 3 - len(summary["handovers"]) < in_cells < in_flight + 50 * 0.3


def test_messages_of_a_day_come_and_those_of_handovers_are_late(summary: Any) -> None:
    classes = {each["name"]: each for each in summary["classes"]}
    assert list(classes) == ["aoc-down", "aoc-up", "ats-down", "ats-up"]
    for each in classes.values():
        assert each["sent_packets"] > 500
        assert each["lost_packets"] < 0.005 * each["sent_packets"]
    # A message up waits for at most a multiframe of 58.32 ms, once a superframe 6.72 ms longer, and for the end of the
    # slot behind it; the lines take 15 ms.
    for each in (classes["ats-up"], classes["aoc-up"]):
        assert 0.05832 + 0.015 < each["delay"]["p5_s"] < each["delay"]["p99_s"] < 2 * (0.05832 + 0.00672) + 0.015
    # A message waits in an aircraft for the new cell.
    (during,) = classes["aoc-down"]["during_handovers"]
    assert during["name"] == "hard"
    assert during["delay"]["p50_s"] > classes["aoc-down"]["delay"]["p99_s"] > 0
    text = text_tables.disturbed_table(summary) + text_tables.cell_table(summary)
    assert "hard handovers" in text
    assert "Busiest cells, of 10" in text


def test_listed_flows_are_spread_over_all() -> None:
    listed = Scenario.load(scenario_path("air-traffic"), ["record.flows=30"]).run().summary
    flows = [each["name"] for each in listed["flows"]]
    assert len(flows) <= 30
    assert {name.rsplit("-", 1)[0] for name in flows} == {each["name"] for each in listed["classes"]}
    everything = sum(each["flows"] for each in listed["classes"])
    assert listed["unlisted_flows"] == everything - len(flows) > 0
    assert f"{listed['unlisted_flows']} more flows are not listed" in unlisted_sentences(listed)[0]
