"""Tests of studies to sweep: values on the command line, their numbers, and the points they make."""

from __future__ import annotations

import pytest

from baton.errors import InputError
from baton.sweep import study, units
from baton.sweep.flatten import flatten


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("reno,cubic", ["reno", "cubic"]),
        ("1 Mbit/s, 2 Mbit/s", ["1 Mbit/s", "2 Mbit/s"]),
        ('"a, b",c', ['"a, b"', "c"]),
        ("[1, 2],[3]", ["[1, 2]", "[3]"]),
        ("{ at = 1, to = [2, 3] },none", ["{ at = 1, to = [2, 3] }", "none"]),
    ],
)
def test_a_comma_separates_values_and_not_what_is_inside_them(text, values):
    assert study.split_values(text) == values


@pytest.mark.parametrize("option", ["flows.download.traffic.bytes", "=1,2", "a=1,,2", "a=", "a=1,1"])
def test_what_is_no_axis_is_refused(scenario, option):
    with pytest.raises(InputError, match="--set"):
        study.read_study(str(scenario), [option], None)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["20 ms", "1 s", "0.5 min"], ([20, 1000, 30_000], "ms")),
        (["1 Mbit/s", "500 kbit/s"], ([1, 0.5], "Mbit/s")),
        (["0.01", "1e-3", "5"], ([0.01, 0.001, 5], "")),
        (["16 KiB", "1 MiB"], ([16, 1024], "KiB")),
        (["10 packets", "1 packet"], ([10, 1], "packets")),
        (["64 kB", "10 packets"], None),
        (["reno", "cubic"], None),
        (["10 ms", "ten"], None),
        (["linux-2.0.36", "rfc"], None),
        (["1 fortnight"], None),
    ],
)
def test_values_with_units_become_numbers(values, expected):
    found = units.numbers(values)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert found[0] == pytest.approx(expected[0])
        assert found[1] == expected[1]


def test_points_are_all_combinations_and_the_last_axis_changes_fastest(scenario):
    found = study.read_study(str(scenario), ["duration=2 s", "b=1,2", "c=x,y,z"], 3)
    points = found.points()
    assert [tuple(point.values.values()) for point in points] == [
        ("1", "x"), ("1", "y"), ("1", "z"), ("2", "x"), ("2", "y"), ("2", "z"),
    ]  # fmt: skip
    assert points[4].overrides == ["duration=2 s", "b=2", "c=y"]
    assert found.seeds == 3
    with pytest.raises(InputError, match="combinations"):
        study.read_study(str(scenario), [f"k{n}={','.join(map(str, range(99)))}" for n in range(4)], 1).points()


def test_a_summary_is_named_as_expectations_name_it():
    summary = {
        "scenario": "s", "seed": 1, "wall_s": 0.1, "events": 5,
        "flows": [{"name": "a", "goodput_bps": 2.5, "failure": None, "ping": {"sent": 3}}],
        "handovers": [{"at_s": 1.0, "from": None, "flows": [{"name": "a", "stall_s": 0.25}]}],
    }  # fmt: skip
    assert flatten(summary) == {
        "events": 5,
        "flows.a.goodput_bps": 2.5,
        "flows.a.failure": None,
        "flows.a.ping.sent": 3,
        "handovers.0.at_s": 1.0,
        "handovers.0.from": None,
        "handovers.0.flows.a.stall_s": 0.25,
    }
