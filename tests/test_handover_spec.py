"""`--handover`: how it is read, and the timetable that it makes."""

import json

import pytest

from baton import Scenario
from baton.errors import InputError
from baton.handover_spec import HandoverSpec, seconds, timetable_override


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("5 s soft", ("5 s", None, None)),
        ("5 s soft tunnel", ("5 s", None, "tunnel")),
        ("5 s hard 2 s", ("5 s", "2 s", None)),
        ("5 s hard 2 s satellite", ("5 s", "2 s", "satellite")),
        (" 1.5min  hard 250ms  link-2 ", ("1.5min", "250ms", "link-2")),
        ("5 s soft 2g", ("5 s", None, "2g")),
        ("5 s hard 0 s 2g", ("5 s", "0 s", "2g")),
    ],
)
def test_a_spec_is_read(text, parts):
    spec = HandoverSpec.parse(text)
    assert (spec.at, spec.outage, spec.link) == parts


@pytest.mark.parametrize(
    "text", ["", "soft", "5 soft", "5 s", "5 s hard", "5 s hard tunnel", "5 s soft 2 s tunnel", "5 s sofft"]
)
def test_what_is_no_spec_is_refused_with_an_example(text):
    with pytest.raises(InputError, match="as in '5 s hard 2 s'"):
        HandoverSpec.parse(text)


def test_times_have_units():
    # approx: an inexact unit times a number.
    assert [seconds(text) for text in ("2 s", "250ms", "1.5 min")] == pytest.approx([2, 0.25, 90])
    with pytest.raises(InputError, match="number with ns, us, ms"):
        seconds("2")


def timetable(given, *specs, overrides=()):
    loaded = Scenario.load(given, list(overrides))
    override = timetable_override(loaded, specs)
    again = Scenario.load(given, [*overrides, override])
    entries = [
        line for line in again.resolved.splitlines() if line.startswith(("at =", "attach", "handover", "outage"))
    ]
    return [entry.partition(" = ")[2].strip('"') for entry in entries]


def test_the_mobile_goes_round_its_links_in_the_order_of_the_file(scenario):
    told = timetable(scenario, "1 s soft", "2 s hard 500 ms", "3 s hard 100 ms lan")
    assert told == [
        "0 s",
        "lan",
        *("1 s", "modem", "soft"),
        *("2 s", "lan", "hard", "500 ms"),
        *("3 s", "lan", "hard", "100 ms"),
    ]


def test_it_begins_where_the_scenario_begins(scenario):
    turned = ["mobiles.laptop.timetable.0.attach=modem", "mobiles.laptop.timetable.1.attach=lan"]
    told = timetable(scenario, "1 s soft", overrides=turned)
    assert told == ["0 s", "modem", "1 s", "lan", "soft"]


ONE_LINK = """\
name = "one"
duration = "10 s"
[links.air]
between = ["server", "laptop"]
kind = "wired"
rate = "1 Mbit/s"
delay = "5 ms"
[mobiles.laptop]
timetable = [{ at = "0 s", attach = "air" }]
"""


def test_a_single_link_can_only_break(tmp_path):
    path = tmp_path / "one.toml"
    path.write_text(ONE_LINK)
    assert timetable(path, "5 s hard 2 s") == ["0 s", "air", "5 s", "air", "hard", "2 s"]
    with pytest.raises(InputError, match="laptop is at air already; expected `hard` and an outage"):
        timetable(path, "5 s soft")


@pytest.mark.parametrize(
    ("given", "spec", "part"),
    [
        ("short.toml", "5 s soft modm", "laptop has no link `modm`; did you mean `modem`?"),
        ("short.toml", "5 s soft lan", "laptop is at lan already"),
        ("short.toml", "soon", "--handover `soon`"),
        ("laptop-failback", "5 s soft", "moves by its links' state"),
        ("starlink-like", "5 s soft", "has no mobile that could move"),
    ],
)
def test_what_cannot_be_is_refused_before_the_run(baton, scenario, tmp_path, given, spec, part):
    process = baton("run", given, "--handover", spec)
    assert process.returncode == 2
    assert part in process.stderr
    assert not (tmp_path / "results").exists()


def test_a_simulated_run_takes_it(baton, scenario):
    process = baton("run", scenario, "--handover", "1 s hard 500 ms", "--handover", "2 s soft", "--json")
    assert process.returncode == 0, process.stderr
    told = [(h["at_s"], h["to"], h["kind"]) for h in json.loads(process.stdout)["handovers"]]
    assert told == [(1.0, "modem", "hard"), (2.0, "lan", "soft")]


def test_handovers_out_of_order_are_refused(baton, scenario):
    process = baton("run", scenario, "--handover", "2 s soft", "--handover", "1 s soft")
    assert process.returncode == 2
    assert "is not after the entry before it" in process.stderr
