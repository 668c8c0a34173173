"""Expectations: how they are read, what they measure, and what a mistake is answered with."""

import json
import operator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.expect import Expectation, ExpectationError, check_names, parse_all

SUMMARY = {
    "scenario": "train",
    "seed": 1,
    "simulated_s": 160.0,
    "flows": [
        {"name": "download", "transport": "tcp", "goodput_bps": 9600.5, "completion_s": None, "longest_stall_s": 1.5},
        {"name": "up link", "transport": "udp", "goodput_bps": 10, "completion_s": 4.25, "longest_stall_s": 0},
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
        ('flows."up link".completion_s == 4.25', True),
        ("handovers[0].lost_packets == 3", True),
        ("handovers.0.lost_packets != 3", False),
        ("  handovers [0] . lost_packets  <  4  ", True),
        ('handovers[0].kind == "soft"', True),
        ('handovers[0].kind != "soft"', False),
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
        assert "did not come to an end" in outcome.measured_text
        assert outcome.to_json()["measured"] is None


def test_a_handover_that_did_not_take_place_fails():
    outcome = Expectation.parse("handovers[2].lost_packets == 0").check(SUMMARY)
    assert not outcome.holds
    assert outcome.measured_text == "there are only 1 handovers"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("flow.download.longest_stall_s < 2", ["no `flow`", "`flows`"]),
        ("flows.donwload.longest_stall_s < 2", ["no `donwload` in flows", "`download`"]),
        ("flows.download.longest_stal < 2", ["no `longest_stal`", "`longest_stall_s`"]),
        ("flows.download.name.x < 2", ["flows.download.name is a text"]),
        ("flows.download < 2", ["flows.download is a group of values"]),
        ("flows < 2", ["flows is a list"]),
        ("handovers[0].kind == 2", ["is a text", "a number"]),
        ('seed == "1"', ["is a number", "a text"]),
    ],
)
def test_a_path_that_leads_nowhere_is_answered_with_the_nearest_name(text, parts):
    with pytest.raises(ExpectationError) as caught:
        Expectation.parse(text).check(SUMMARY)
    for part in parts:
        assert part in str(caught.value)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "expected a path"),
        ("< 2", "expected a path"),
        ("flows.download.longest_stall_s", "expected one of"),
        ("flows.download.longest_stall_s ~ 2", "column 32: expected one of"),
        ("flows..a < 2", "expected one of"),
        ("flows.a b < 2", "expected one of"),
        ("seed <", "expected a plain number"),
        ("seed < 2 s", "found `2 s`"),
        ("seed < NaN", "found `NaN`"),
        ("seed == null", "found `null`"),
        ("seed == [1]", "found `[1]`"),
        ('seed < "a"', "compares numbers"),
        ("seed < true", "compares numbers"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_column(text, part):
    with pytest.raises(ExpectationError) as caught:
        Expectation.parse(text)
    assert part in str(caught.value)


def test_names_are_checked_before_the_run():
    good = ["flows.download.timeouts < 2", 'handovers[3].from == "gsm"', "wall_s < 10", "events > 0"]
    check_names(parse_all(good), ["download"])
    for bad in ("flows.upload.timeouts < 2", "handovers[0].lost < 1", "wall < 10"):
        with pytest.raises(ExpectationError):
            check_names(parse_all([bad]), ["download"])


def test_an_expectation_given_twice_counts_once():
    assert len(parse_all(["seed == 1", "seed == 2", "seed == 1"])) == 2


OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
NUMBERS = st.one_of(st.integers(-(10**18), 10**18), st.floats(allow_nan=False, allow_infinity=False))


@given(name=st.text(max_size=20), measured=NUMBERS, symbol=st.sampled_from(sorted(OPERATORS)), value=NUMBERS)
def test_any_name_and_any_number_can_be_written(name, measured, symbol, value):
    text = f"flows.{json.dumps(name)}.x {symbol} {json.dumps(value)}"
    outcome = Expectation.parse(text).check({"flows": [{"name": name, "x": measured}]})
    assert outcome.holds is OPERATORS[symbol](measured, value)


@given(st.text(alphabet=st.sampled_from('flows.donad[]0123"\\<>=! _-é\n')) | st.text())
def test_any_text_is_read_or_refused(text):
    with suppress(ExpectationError):
        assert Expectation.parse(text).check(SUMMARY).to_json()["expression"] == text
