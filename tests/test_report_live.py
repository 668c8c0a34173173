"""The report of a live run: what it says above the numbers, and conversations that begin late."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from baton import report
from baton.report.tables import MOST_FLOWS, read_run
from fake_emulator import FLOW, LIVE, PROGRAM, SUMMARY
from report_folder import LAPTOP, MANIFEST, SECOND, SERVER, Rows


def folder(path: Path, **summary) -> Path:
    """A conversation that begins at 3 s of 4: its SYN, two segments and their ACKs, and the kernel's own figures."""
    rows = Rows()
    common = {"flow": "tcp-8000-1", "protocol": "tcp", "fate": "delivered", "link": "lan", "wire_bytes": 52}
    common |= {"window": 500, "sack": None, "retransmission": False}
    to_server = {"source": LAPTOP, "destination": SERVER, "direction": "up"}
    to_laptop = {"source": SERVER, "destination": LAPTOP, "direction": "down"}
    sequence = [
        (3.00, to_server, "SYN", 100, 0, 0),
        (3.01, to_laptop, "SYN ACK", 900, 101, 0),
        (3.02, to_server, "ACK", 101, 901, 0),
        (3.03, to_laptop, "ACK", 901, 101, 1448),
        (3.04, to_laptop, "PSH ACK", 2349, 101, 1448),
        (3.05, to_server, "ACK", 101, 3797, 0),
    ]
    for number, (at, ends, flags, seq, ack, size) in enumerate(sequence, start=1):
        times = {"sent_ns": round(at * SECOND), "decided_ns": round((at + 0.005) * SECOND)}
        fields = {"sequence": seq, "acknowledgment": ack, "payload_bytes": size, "flags": flags}
        rows.packets.append({"packet": number, **common, **ends, **times, **fields})
    for at, delivered in ((3.035, 1448), (3.045, 2896)):
        rows.series.append((round(at * SECOND), "flow tcp-8000-1", "delivered bytes", delivered))
    for at in (3.05, 3.10):
        for quantity, value in (("congestion window", 14480), ("smoothed round-trip time", 0.02)):
            rows.series.append((round(at * SECOND), "flow tcp-8000-1", quantity, value))
    return rows.write(path, SUMMARY | summary, MANIFEST | {"mode": "live"})


def page(path: Path) -> str:
    return html.unescape(report.write(path).read_text(encoding="utf-8"))


def test_a_conversation_that_begins_late_is_drawn(tmp_path):
    (flow,) = report.describe(read_run(folder(tmp_path))).flows
    panels = {panel.title: panel for panel in flow.panels}
    segments = next(trace for trace in panels["Time\u2013sequence"].traces if trace.name == "segment")
    assert segments.value.tolist() == [0, 1448]
    assert segments.time_ns.tolist() == [3_030_000_000, 3_040_000_000]
    window = panels["Congestion window"].traces[0]
    assert (window.time_ns[0], window.time_ns[-1]) == (3_050_000_000, 4_000_000_000)
    assert panels["Goodput"].traces[0].value[0] == 0, "nothing was delivered at the beginning"


def test_it_says_what_kind_of_run_it_is(tmp_path):
    text = page(folder(tmp_path, program=PROGRAM))
    assert "Live: in real time between hosts of Linux 6.18.44; to be trusted" in text
    assert "exit status 0 after 3.5 s; longest stall 1,250 ms" in text
    assert FLOW["five_tuple"] in text
    assert "<dt>Lasted</dt>" in text
    assert 'class="banner" role="status"' not in text, "nothing to warn of"


@pytest.mark.parametrize(
    ("summary", "part"),
    [
        ({"live": LIVE | {"trusted": False, "doubts": ["late <by> 4 ms"]}}, "not to be trusted: late <by> 4 ms"),
        ({"live": LIVE | {"ignored": ["flows.f.tick: none"]}}, "since the kernel cannot do it: flows.f.tick: none"),
        ({"live": LIVE | {"dropped_outside_model": 3}}, "3 packets were dropped that the model did not drop"),
        ({"program": PROGRAM | {"status": 7}}, "exit status 7"),
        ({"server": {"command": "serve", "status": 1, "signal": None}}, "serve: exit status 1; see server.log"),
    ],
)
def test_it_warns(tmp_path, summary, part):
    text = page(folder(tmp_path, **summary))
    warnings = [piece.partition("</p>")[0] for piece in text.split('<p class="banner" role="status">')[1:]]
    assert any(part in warning for warning in warnings)


def test_gaps_in_the_record_are_not_called_an_interruption(tmp_path):
    path = folder(tmp_path, live=LIVE | {"lost_rows": 1200})
    (path / "manifest.json").write_text(json.dumps(MANIFEST | {"complete": False}))
    text = page(path)
    assert "1,200 rows could not be written" in text
    assert "interrupted" not in text.partition("<main>")[0]


def test_of_thousands_of_conversations_the_largest_are_shown(tmp_path):
    flows = [FLOW | {"name": f"tcp-443-{n}", "delivered_bytes": n} for n in range(1, MOST_FLOWS + 51)]
    run = read_run(folder(tmp_path, flows=flows))
    names = [flow.name for flow in report.describe(run).flows]
    assert names == [f"tcp-443-{n}" for n in range(51, MOST_FLOWS + 51)]
    assert "50 more flows delivered less" in page(tmp_path)
