"""The map of a radio network: what is in it, and how it is drawn."""

import re

import pytest

import baton
from baton import Scenario
from baton.errors import InputError
from baton.report import map_svg, write
from baton.report.maps import maps
from baton.sweep.flatten import flatten

SCENARIO = """
name = "border"
duration = "80 s"
links.radio.kind = "ldacs1"
links.radio.cells.west = { node = "west-router", position = { latitude = 0, longitude = 0 }, radius = "200 km" }
links.radio.cells.east = { node = "east-router", position = { latitude = 0, longitude = 3.2 }, radius = "200 km" }
links.west-ground = { between = ["west-router", "server"], kind = "wired" }
links.east-ground = { between = ["east-router", "server"], kind = "wired" }
[mobiles.aircraft]
timetable = [{ at = "0 s", attach = "radio" }]
track = { legs = [{ latitude = 0, longitude = 1.53 }, { latitude = 0, longitude = 3 }], speed = "800 km/h" }
[[flows]]
name = "ping"
from = "server"
to = "aircraft"
traffic.kind = "ping"
"""


@pytest.fixture(scope="module")
def summary():
    return Scenario.parse(SCENARIO).run().summary


def test_a_summary_says_where_mobiles_were(summary):
    (radio,) = summary["radios"]
    assert radio["link"] == "radio"
    west, east = radio["cells"]
    load = west.pop("load")
    assert west == {"cell": "west", "latitude": 0.0, "longitude": 0.0, "radius_m": 200e3}
    assert (load["stretch_s"], load["aircraft"][0], load["aircraft"][-1]) == (pytest.approx(80 / 96), 1.0, 0.0)
    assert east["longitude"] == 3.2
    track = radio["aircraft"][0]["track"]
    times = [place["at_s"] for place in track]
    assert times[0] == 0.0
    assert times[-1] == 80.0
    assert times == sorted(set(times))
    # 800 km/h on a sphere of 6371.0088 km.
    assert track[-1]["longitude"] == pytest.approx(1.53 + 80 * 800 / 3.6 / 111_195.08, abs=1e-5)
    served = [place["cell"] for place in track]
    assert list(dict.fromkeys(served)) == ["west", None, "east"], "one handover, with a gap between the cells"
    assert not [name for name in flatten(summary) if name.startswith("radios")]


def test_a_map_has_cells_ways_and_handovers(summary):
    (drawn,) = maps(summary)
    west, east = drawn.cells
    assert (west.radius_km, west.role, east.role) == (200.0, "link 1", "link 2")
    # 3.2 degrees of the equator.
    assert east.middle[0] - west.middle[0] == pytest.approx(3.2 * 111.195)
    (way,) = drawn.ways
    assert [(stretch.cell, stretch.role) for stretch in way.stretches] == [
        ("west", "link 1"),
        ("", "total"),
        ("east", "link 2"),
    ]
    for before, after in zip(way.stretches, way.stretches[1:], strict=False):
        assert before.points[-1] == after.points[0]
    (turn,) = drawn.turns
    (handover,) = summary["handovers"]
    assert (turn.number, turn.label) == (1, "west → east")
    flown = handover["at_s"] * 800 / 3600
    assert turn.at[0] - way.stretches[0].points[0][0] == pytest.approx(flown, abs=0.01)
    (low, _), (high, _) = drawn.bounds()
    assert high - low == pytest.approx(3.2 * 111.195 + 400)


def test_a_way_over_another_network_is_of_no_cell(summary):
    (radio,) = summary["radios"]
    track = [dict(place, cell="west") for place in radio["aircraft"][0]["track"]]
    away = {"at_s": 20.1, "mobile": "aircraft", "from": "radio.west.aircraft", "to": "satellite"}
    back = {"at_s": 60.3, "mobile": "aircraft", "from": "satellite", "to": "radio.west.aircraft"}
    aircraft = [{"mobile": "aircraft", "track": track}]
    (drawn,) = maps(dict(summary, radios=[dict(radio, aircraft=aircraft)], handovers=[away, back]))
    first, second, third = drawn.ways[0].stretches
    assert [stretch.cell for stretch in (first, second, third)] == ["west", "", "west"]
    length = second.points[-1][0] - second.points[0][0]
    assert length == pytest.approx(40.2 * 800 / 3600, abs=0.01)
    assert [turn.at for turn in drawn.turns] == [second.points[0], third.points[0]]


def test_a_map_across_the_date_line_is_not_torn(summary):
    def moved(degrees):
        return (degrees + 178 + 180) % 360 - 180

    (radio,) = summary["radios"]
    cells = [dict(cell, longitude=moved(cell["longitude"])) for cell in radio["cells"]]
    track = [dict(place, longitude=moved(place["longitude"])) for place in radio["aircraft"][0]["track"]]
    aircraft = [{"mobile": "aircraft", "track": track}]
    (drawn,) = maps(dict(summary, radios=[dict(radio, cells=cells, aircraft=aircraft)]))
    (low, _), (high, _) = drawn.bounds()
    assert high - low == pytest.approx(3.2 * 111.195 + 400, rel=1e-3)


def test_the_drawing_keeps_its_proportions(summary):
    (drawn,) = maps(summary)
    text = map_svg.drawing(drawn)
    rings = re.findall(
        r'<circle class="cell" cx="([\d.]+)" cy="[\d.]+" r="([\d.]+)" style="fill:var\(--link-(\d)\);fill-op', text
    )
    assert [role for _, _, role in rings] == ["1", "2"]
    (west, radius, _), (east, _, _) = ((float(x), float(r), role) for x, r, role in rings)
    assert (east - west) / radius == pytest.approx(3.2 * 111.195 / 200, abs=0.01)
    assert text.count('class="way"') == 3
    assert text.count('class="at"') == 1
    for name in (">west<", ">east<", ">aircraft →<", "1: west → east", " km<"):
        assert name in text
    assert [map_svg.nice_length(most) for most in (0.7, 3, 99, 100)] == [0.5, 2, 50, 100]


def test_a_report_has_the_map_of_its_run_and_others_have_none(tmp_path):
    Scenario.parse(SCENARIO).run(tmp_path / "run")
    assert write(tmp_path / "run").read_text().count('<svg class="chart map"') == 1
    assert map_svg.section(maps({"radios": []})) == ""
    assert map_svg.section(maps({})) == ""


def test_the_printed_map_has_the_same_points(summary):
    result = Scenario.parse(SCENARIO).run()
    axes = baton.plot_map(result).axes[0]
    (drawn,) = maps(summary)
    lines = {line.get_gid(): line for line in axes.get_lines() if line.get_gid()}
    for stretch in drawn.ways[0].stretches:
        points = list(zip(*lines[f"aircraft: {stretch.cell}"].get_data(), strict=True))
        assert points == stretch.points
    with pytest.raises(InputError, match="there is no radio network `radar`"):
        baton.plot_map(result, "radar")
