"""Quantities and axes of a sweep in words."""

import pytest

from baton.summary import skeleton
from baton.sweep.flatten import flatten
from baton.sweep.quantities import axis_words, in_order, quantity


@pytest.mark.parametrize(
    ("name", "words", "unit"),
    [
        ("handovers.0.flows.download.stall_s", "Stall of download, handover 1", "s"),
        ("handovers.11.lost_packets", "Lost packets, handover 12", ""),
        ("flows.download.goodput_bps", "Goodput of download", "bit/s"),
        ("flows.download.delivered_bytes", "Data delivered of download", "B"),
        ("flows.voice.delay.p99_9_s", "Delay, 99.9 % of voice", "s"),
        ("flows.voice.packet_delay.to_source.p50_s", "Packet delay, to source, 50 % of voice", "s"),
        ("flows.ping.ping.mean_rtt_s", "Ping, mean round-trip time of ping", "s"),
        ("discarded.no_route", "Packets discarded: no route", ""),
        ("agents.0.held", "Packets held, agent 1", ""),
        ("packets", "Packets", ""),
    ],
)
def test_a_quantity_in_words(name: str, words: str, unit: str) -> None:
    found = quantity(name)
    assert (found.words, found.unit) == (words, unit)


def test_no_number_of_a_summary_is_shown_by_its_path() -> None:
    for name in flatten(skeleton(["download"])):
        words = quantity(name).words
        assert "_" not in words
        assert "." not in words.replace("99.9", "")
        assert words[0].isupper()


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ("links.lan.rate", "rate of lan"),
        ("flows.download.transport.congestion", "congestion of download"),
        ("mobiles.laptop.timetable.1.outage", "outage of laptop's move 1"),
        ("variant", "variant"),
        ("live.address", "live, address"),
    ],
)
def test_an_axis_in_words(axis: str, words: str) -> None:
    assert axis_words(axis) == words


def test_what_handovers_did_comes_first() -> None:
    names = ["flows.a.goodput_bps", "handovers.0.at_s", "handovers.0.lost_packets", "handovers.0.flows.a.stall_s"]
    assert in_order(names) == [names[3], names[2], names[0], names[1]]
    assert in_order(names[:1]) == names[:1]
