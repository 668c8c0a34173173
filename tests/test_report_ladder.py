"""The chart of a handover's signalling: what is in it, and how it is drawn."""

import cmath
import math
import re

from baton import Scenario
from baton.report import write
from baton.report.ladder_svg import drawing, section
from baton.report.ladders import Event, Message, ladders
from baton.report.signals import Signal

MS = 1_000_000
HANDOVER = {"at_s": 20.0, "completed_s": 21.5, "mobile": "aircraft", "from": "home-cell", "to": "foreign-cell"}


AIRCRAFT = """
name = "aircraft"
duration = "6 s"
links.home-cell = { between = ["home-agent", "aircraft"], kind = "wired", rate = "1 Mbit/s", delay = "20 ms" }
links.foreign-cell = { between = ["router", "aircraft"], kind = "wired", rate = "1 Mbit/s", delay = "20 ms" }
links.backbone = { between = ["home-agent", "router"], kind = "wired", rate = "10 Mbit/s", delay = "10 ms" }
home_agents.home-agent.prefix = "2001:db8:1::/64"
[mobiles.aircraft]
mobility = { protocol = "mobile-ipv6", home_agent = "home-agent", home_link = "home-cell" }
timetable = [{ at = "0 s", attach = "home-cell" }, { at = "2 s", attach = "foreign-cell" }]
"""


def message(sent_ms, took_ms, sender, receiver, name, details="", fate="delivered", tunnelled=False):
    sent = sent_ms * MS
    decided = None if took_ms is None else sent + took_ms * MS
    return Signal("message", sent, decided, sender, receiver, "cell", name, details, tunnelled, fate)


def said(at_ms, node, name, kind="link", link="foreign-cell"):
    return Signal(kind, at_ms * MS, None, node, None, link, name, "", False, None)


LADDER = [
    message(1_000, 120, "router", "aircraft", "Router Advertisement"),
    said(20_000, "aircraft", "Link_Down"),
    said(20_300, "aircraft", "Link_Up"),
    message(20_300, 130, "router", "aircraft", "Router Advertisement", "prefix fd00::/64"),
    message(20_350, 130, "router", "aircraft", "Router Advertisement", "prefix fd00::/64"),
    message(20_360, 130, "other router", "other", "Router Advertisement"),
    message(20_480, 140, "aircraft", "router", "Neighbor Solicitation", "target fd00::1, duplicate address detection"),
    message(21_000, 20, "aircraft", "agent", "Binding Update", "sequence 1", "burst loss"),
    message(21_200, 200, "aircraft", "agent", "Binding Update", "sequence 2"),
    message(21_400, 100, "agent", "aircraft", "Binding Acknowledgement", "sequence 2", tunnelled=True),
    said(21_500, "aircraft", "Registered", "agent", None),
    message(21_900, None, "aircraft", None, "Home Test Init", fate="under way"),
    message(25_000, 120, "router", "aircraft", "Router Advertisement"),
]


def charts(*further):
    return ladders(LADDER, {"handovers": [HANDOVER, *further]})


def test_a_chart_has_what_belongs_to_its_handover():
    (ladder,) = charts()
    assert ladder.title == "1: aircraft, home-cell → foreign-cell"
    assert ladder.nodes == ["aircraft", "router", "other router", "other", "agent"]
    assert [(m.name, m.lost) for m in ladder.messages] == [
        ("Router Advertisement", ""),
        ("Router Advertisement", ""),
        ("Neighbor Solicitation", ""),
        ("Binding Update", "burst loss"),
        ("Binding Update", ""),
        ("Binding Acknowledgement", ""),
    ]
    details = "target fd00::1, duplicate address detection"
    expected = Message(0, 1, 20_480 * MS, 20_620 * MS, "Neighbor Solicitation", details, False)
    assert ladder.messages[2] == expected
    assert ladder.repeated == 1
    assert ladder.events == [
        Event(0, 20_000 * MS, "Link_Down", "foreign-cell", "link"),
        Event(0, 20_300 * MS, "Link_Up", "foreign-cell", "link"),
        Event(0, 21_500 * MS, "Registered", "", "agent"),
        Event(0, 21_900 * MS, "Home Test Init", "cell", "under way"),
    ]


def test_other_mobiles_and_later_handovers_are_left_out():
    other = {"at_s": 30.0, "completed_s": 30.1, "mobile": "other", "from": "a", "to": "b"}
    (ladder,) = charts(other)
    assert ladder.nodes == ["aircraft", "router", "agent"]
    first, second = charts(dict(HANDOVER, at_s=21.2, completed_s=21.5))
    assert max(m.sent_ns for m in first.messages) == 21_000 * MS
    assert min(m.sent_ns for m in second.messages) == 21_200 * MS


def test_a_warning_before_the_handover_opens_its_chart():
    warning, update = (
        said(18_000, "aircraft", "Link_Going_Down"),
        message(18_000, 130, "aircraft", "agent", "Binding Update"),
    )
    (ladder,) = ladders([warning, update, *LADDER[1:]], {"handovers": [HANDOVER]})
    assert [event.name for event in ladder.events][:2] == ["Link_Going_Down", "Link_Down"]
    assert ladder.messages[0].sent_ns == 18_000 * MS


def test_a_run_without_signals_has_no_charts():
    assert ladders([], {"handovers": [HANDOVER]}) == []
    assert section([]) == ""


def test_the_drawing_goes_down_with_time_and_crosses_what_is_lost():
    (ladder,) = charts()
    ladder.messages[0] = ladder.messages[0]._replace(details="<prefix>")
    text = drawing(ladder)
    ends = r'<line x1="(\d+)" y1="([\d.]+)" x2="(\d+)" y2="([\d.]+)"( stroke-dash)?'
    lines = re.findall(rf'<g class="(\w+)"><title>[^<]*</title>{ends}', text)
    assert [line[0] for line in lines] == ["message"] * 3 + ["lost"] + ["message"] * 2
    assert [bool(line[5]) for line in lines] == [False] * 5 + [True]
    begins = [float(line[2]) for line in lines]
    assert begins == sorted(begins)
    assert all(float(line[4]) > float(line[2]) for line in lines), "arrows slant downwards"
    assert text.count("<text") == text.count("</text>")
    assert "&lt;prefix&gt;" in text
    assert "<prefix>" not in text
    for name in ladder.nodes:
        assert f">{name}</text>" in text
    # The Registered of 21.5 s stands at the height of the acknowledgement's arrival, or below.
    assert "+1.500 s" in text
    assert "sequence 1, lost: burst loss, 20.000 ms" in text


def test_a_report_has_the_charts_of_its_run(tmp_path):
    Scenario.parse(AIRCRAFT).run(tmp_path / "run")
    page = write(tmp_path / "run").read_text()
    (chart,) = re.findall(r'<svg class="chart" width="[1-9].*?</svg>', page)
    for name in ("Router Advertisement", "Binding Update", "Binding Acknowledgement", "Registered", "Link_Up"):
        assert f">{name}" in chart
    (tmp_path / "run" / "signals.parquet").unlink()
    assert 'id="signalling"' not in write(tmp_path / "run").read_text()


def test_labels_keep_away_from_arrows_that_cross():
    """Of messages on the way at once, no letter lies on the arrow of another one."""
    crossing = [
        message(20_000, 40, "aircraft", "router", "Router Solicitation"),
        message(20_010, 40, "router", "aircraft", "Router Advertisement"),
        message(20_020, 15, "aircraft", "router", "Neighbor Solicitation"),
        said(20_045, "aircraft", "Link_Up"),
    ]
    (ladder,) = ladders(crossing, {"handovers": [HANDOVER]})
    text = drawing(ladder)
    arrows = [
        tuple(map(float, ends)) for ends in re.findall(r'x1="(\S+)" y1="(\S+)" x2="(\S+)" y2="(\S+)" marker', text)
    ]
    label = r'<text transform="translate\((\S+) (\S+)\) rotate\((\S+)\)" y="(\S+)" text-anchor="middle">([^<]*)<'
    labels = re.findall(label, text)
    assert len(arrows) == len(labels) == 3
    for own, (x, y, degrees, baseline, name) in enumerate(labels):
        turn = cmath.rect(1, -math.radians(float(degrees)))
        for other, (x1, y1, x2, y2) in enumerate(arrows):
            for share in (step / 400 for step in range(401)):
                point = complex(x1 + share * (x2 - x1) - float(x), y1 + share * (y2 - y1) - float(y)) * turn
                on_letters = abs(point.real) < 2.7 * len(name) and -7 < point.imag - float(baseline) < 0
                assert own == other or not on_letters, f"{name} is crossed by arrow {other}"
