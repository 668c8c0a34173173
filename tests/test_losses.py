"""Losses by cause, in the words of tables."""

from __future__ import annotations

from baton import losses
from baton.cells import CellNames
from baton.report.text_tables import ABSENT, handover_table
from baton.tables import handover_table as printed_table

NONE = {"queue": 0, "channel": 0, "link_down": 0, "buffer": 0, "host": 0}


def ways(there: dict[str, int], back: dict[str, int]) -> dict[str, dict[str, int]]:
    """Losses of both ways."""
    return {"to_sink": NONE | there, "to_source": NONE | back}


VOICE = {"name": "voice", "stall_s": 0.5, "lost_packets": 0,
         "lost_by": ways({"host": 131, "buffer": 2}, {}),
         "packet_interruption_s": {"to_sink": 0.578, "to_source": -0.83}}  # fmt: skip
FILE = {"name": "file", "stall_s": 0.5, "lost_packets": 35,
        "lost_by": ways({"link_down": 1_035, "queue": 3}, {"link_down": 4, "channel": 1}),
        "packet_interruption_s": {"to_sink": 0.5, "to_source": None}}  # fmt: skip
HANDOVER = {"at_s": 1.0, "announced_s": None, "mobile": "m", "from": "a", "to": "b", "kind": "hard", "completed_s": 1.2,
            "lost_packets": 35, "flows": [VOICE, FILE]}  # fmt: skip


def test_causes_are_summed_over_ways_and_flows_and_zero_is_left_out():
    assert losses.of_handover_flow(VOICE) == "2 buffer, 131 host"
    assert losses.of_handover_flow(FILE) == "1,039 link, 3 queue, 1 channel"
    assert losses.of_handover(HANDOVER) == "1,039 link, 3 queue, 1 channel, 2 buffer, 131 host"
    assert losses.of_handover_flow({"lost_by": ways({}, {})}) == "0"


def test_the_losses_of_a_flow_are_those_of_its_packets():
    packets = {way: {"lost_by": lost} for way, lost in ways({"queue": 7}, {"host": 1}).items()}
    assert losses.of_flow({"packets": packets}) == "7 queue, 1 host"


def test_a_summary_of_an_older_version_tells_what_it_has():
    older = {**HANDOVER, "flows": [{"name": "voice", "stall_s": 0.5, "lost_packets": 35}]}
    assert losses.of_flow({"lost_packets": 3}) is None
    assert losses.of_handover(older) is None
    assert ">35<" in handover_table({"handovers": [older]})
    (lost,) = printed_table([older], CellNames.of({"handovers": []})).columns[-1].cells
    assert lost == "35"


def test_the_page_shows_both_ways_and_each_cause():
    page = handover_table({"handovers": [HANDOVER]})
    for cell in ("0.578 / -0.830", f"0.500 / {ABSENT}", "2 buffer, 131 host", "1,039 link, 3 queue, 1 channel"):
        assert f">{cell}<" in page
