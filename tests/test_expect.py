"""Expectations: how they are read, what they measure, and what a mistake is answered with."""

import operator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.expect import Expectation, ExpectationError, parse_all
from baton.summary import skeleton

SUMMARY = {
    "scenario": "train",
    "seed": 1,
    "simulated_s": 160.0,
    "flows": [
        {"name": "download", "transport": "tcp", "goodput_bps": 9600.5, "completion_s": None, "longest_stall_s": 1.5},
        {"name": "up-link_2", "transport": "udp", "goodput_bps": 10, "completion_s": 4.25, "longest_stall_s": 0},
    ],
    "handovers": [{"at_s": 12.0, "kind": "soft", "lost_packets": 3}],
}


def holds(text: str) -> bool:
    return Expectation.parse(text).check(SUMMARY).holds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flows.download.longest_stall_s < 2", True),
        ("flows.download.longest_stall_s<1.5", False),
        ("flows.download.longest_stall_s <= 1.5", True),
        ("flows.download.goodput_bps > 1e4", False),
        ("flows.0.goodput_bps >= 9600.5", True),
        ("flows[1].goodput_bps >= 10", True),
        ("flows.up-link_2.completion_s == 4.25", True),
        ("handovers[0].lost_packets == 3", True),
        ("  handovers.0.lost_packets  !=  3  ", False),
        ("seed == 1", True),
        ("simulated_s > -1", True),
    ],
)
def test_an_expectation_is_compared_with_the_summary(text, expected):
    assert holds(text) is expected


def test_a_flow_that_did_not_end_holds_no_expectation_on_its_end():
    for condition in ("< 5", "> 5", "!= 5"):
        outcome = Expectation.parse(f"flows.download.completion_s {condition}").check(SUMMARY)
        assert not outcome.holds
        assert "did not finish" in outcome.measured_text
        assert outcome.to_json()["measured"] is None


def test_a_handover_that_did_not_take_place_fails():
    outcome = Expectation.parse("handovers[2].lost_packets == 0").check(SUMMARY)
    assert not outcome.holds
    assert outcome.measured_text == "there is no handovers.2: the run had 1"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("flow.download.longest_stall_s < 2", ["no `flow`", "`flows`"]),
        ("flows.donwload.longest_stall_s < 2", ["no `donwload` in flows", "`download`"]),
        ("flows.download.longest_stal < 2", ["no `longest_stal`", "`longest_stall_s`"]),
        ("flows.download.name.x < 2", ["no `x` in flows.download.name"]),
        ("flows.download.name < 2", ["flows.download.name is not a number"]),
        ("flows.download < 2", ["flows.download is not a number", "`goodput_bps`"]),
        ("flows < 2", ["flows is not a number", "`download`"]),
        ("handovers.first.at_s < 2", ["no `first` in handovers"]),
        (
            "stall < 1",
            ["no `stall`", "did you mean `flows.download.longest_stall_s` or `flows.up-link_2.longest_stall_s`"],
        ),
        ("flows.download.goodput < 1", ["did you mean `goodput_bps`"]),
    ],
)
def test_a_path_that_leads_nowhere_is_answered_with_the_nearest_name(text, parts):
    with pytest.raises(ExpectationError) as caught:
        Expectation.parse(text).check(SUMMARY)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "expected a path"),
        ("< 2", "expected a path"),
        ("flows.download.longest_stall_s", "expected a path"),
        ("flows.download.longest_stall_s ~ 2", "expected a path"),
        ("flows..a < 2", "expected a path"),
        ("flows.a b < 2", "expected a path"),
        ("[0] < 2", "expected a path"),
        ("seed[] < 2", "expected a path"),
        ("seed[x] < 2", "expected a path"),
        ("seed <", "expected a path"),
        ("seed < 2 s", "expected a path"),
        ("seed < 2s", "`2s` is not a number"),
        ("seed < nan", "`nan` is not a number"),
        ("seed < 1e999", "`1e999` is not a number"),
        ("seed === 1", "`=1` is not a number"),
    ],
)
def test_what_cannot_be_read_is_refused(text, part):
    with pytest.raises(ExpectationError) as caught:
        Expectation.parse(text.replace("=== 1", "===1"))
    assert part in str(caught.value)


def test_names_are_known_before_the_run():
    names = skeleton(["download"], ["voice"])
    good = ("flows.download.timeouts < 2", "handovers[3].at_s == 1", "wall_s < 10", "discarded.no_route == 0")
    nested = ("handovers[0].flows.download.stall_s < 1", "flows.download.ping.mean_rtt_s < 1")
    delays = ("flows.download.delay.p99_s < 1", "classes.voice.delay.p99_9_s < 1", "classes.voice.lost_packets < 1")
    ways = ("flows.download.packet_delay.to_sink.p99_s < 1", "flows.download.packet_delay.to_source.p99_s < 1")
    for expectation in parse_all(good + nested + delays + ways):
        assert not expectation.check(names).holds
    for bad in ("flows.upload.timeouts < 2", "handovers[0].lost < 1", "wall < 10", "handovers[0].flows.up.stall_s < 1",
                "flows.download.delay.p98_s < 1", "classes.download.lost_packets < 1",
                "flows.download.packet_delay.p99_s < 1", "flows.download.delay.to_source.p99_s < 1"):  # fmt: skip
        with pytest.raises(ExpectationError):
            Expectation.parse(bad).check(names)


@pytest.mark.parametrize("path", ["delay", "packet_delay.to_source"])
def test_a_delay_of_nothing_fulfils_nothing(path):
    flow = {"name": "f", "delay": None, "packet_delay": {"to_sink": None, "to_source": None}}
    outcome = Expectation.parse(f"flows.f.{path}.p99_s < 1").check({"flows": [flow]})
    assert (outcome.holds, outcome.measured) == (False, None)


def test_an_expectation_given_twice_counts_once():
    assert len(parse_all(["seed == 1", "seed == 2", " seed == 1"])) == 2


OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
# Names of flows as a scenario allows them; numbers as JSON has them.
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}", fullmatch=True)
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)


@given(name=NAMES, measured=NUMBERS, symbol=st.sampled_from(sorted(OPERATORS)), value=NUMBERS, space=st.booleans())
def test_any_flow_and_any_number_can_be_written(name, measured, symbol, value, space):
    gap = " " if space else ""
    outcome = Expectation.parse(f"flows.{name}.x{gap}{symbol}{gap}{value!r}").check(
        {"flows": [{"name": name, "x": measured}]}
    )
    assert outcome.holds is OPERATORS[symbol](measured, value)


@given(st.text(alphabet=st.sampled_from('flows.donad[]0123"<>=! _-e\n')) | st.text())
def test_any_text_is_read_or_refused(text):
    with suppress(ExpectationError):
        assert Expectation.parse(text).check(SUMMARY).to_json()["expression"] == text.strip()
