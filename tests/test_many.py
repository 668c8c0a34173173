"""Many flows and handovers in few rows, and what is said of overload."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from baton import Scenario, tables
from baton.many import Fleet, FlowClass, Spread, fleets, flow_classes
from baton.overload import overload_sentences
from baton.report.happened import what_happened
from baton.report.text_tables import flow_and_handover_tables
from baton.summary import main_flows

CROWD = """
name = "crowd"
duration = "20 s"
record = {{ series = false, packets = false }}
[links.line]
between = ["server", "router"]
kind = "wired"
rate = "{rate}"
delay = "5 ms"
queue = "20 packets"
[links.lan]
between = ["router", "laptop"]
kind = "wired"
[[flows]]
name = "calls"
from = "server"
to = "laptop"
copies = 1000
transport = "udp"
traffic.kind = "constant"
traffic.rate = "8 kbit/s"
traffic.packet_size = "200 B"
start_jitter = "10 s"
[[flows]]
name = "download"
from = "server"
to = "laptop"
traffic.bytes = "10 kB"
"""


@pytest.fixture(scope="module")
def crowd() -> dict[str, Any]:
    return Scenario.parse(CROWD.format(rate="40 Mbit/s"), Path()).run().summary


def printed(summary: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> str:
    tables.print_summary(summary, [], "headline")
    return capsys.readouterr().out


def test_a_thousand_flows_make_a_short_table(crowd: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert len(crowd["flows"]) == 1001
    text = printed(crowd, capsys)
    assert len(text.splitlines()) < 20, text
    row = next(line for line in text.splitlines() if line.startswith(" calls"))
    delivered = sum(flow["delivered_bytes"] for flow in crowd["flows"] if flow["name"].startswith("calls-"))
    assert row.split()[1:4] == ["1,000", *tables.scaled(delivered, "B").split()]
    assert re.search(r"^ download +10 kB", text, re.M)


def test_a_page_folds_a_thousand_flows_away(crowd: dict[str, Any]) -> None:
    page = flow_and_handover_tables(main_flows(crowd, 100)[0], crowd)
    shown, _, folded = page.partition("<details>")
    assert (shown.count("<tr>"), folded.count("<tr>")) == (2, 101)
    assert "1\u202f000" in shown
    few = {**crowd, "flows": crowd["flows"][:5]}
    assert "<details>" not in flow_and_handover_tables(few, few)


def test_few_flows_are_told_one_by_one_though_they_have_a_class(crowd: dict[str, Any]) -> None:
    flows = crowd["flows"]
    assert flow_classes(flows[:20]) == ([], flows[:20])
    classes, others = flow_classes(flows)
    assert ([each.name for each in classes], [flow["name"] for flow in others]) == (["calls"], ["download"])


def test_a_class_sums_up_its_flows() -> None:
    flows = [
        {"completion_s": None, "goodput_bps": 4.0, "timeouts": 1, "longest_stall_s": float(s)} for s in range(1, 101)
    ]
    of_all = FlowClass("all", [*flows, {"completion_s": 3.0, "goodput_bps": 408.0, "timeouts": None}])
    assert (of_all.completed, of_all.goodput_bps, of_all.total("timeouts")) == (1, 8.0, None)
    # Nearest rank of 1, 2 … 100.
    assert of_all.stall_s == Spread(50.0, 95.0, 100.0)
    assert Spread.of([]) == Spread(None, None, None)


def test_a_fleet_has_one_row(capsys: pytest.CaptureFixture[str], crowd: dict[str, Any]) -> None:
    def handover(number: int, stall: float) -> dict[str, Any]:
        flows = [{"name": "f", "stall_s": stall}, {"name": "g", "stall_s": 0.1}]
        ends = {"from": "a", "to": "b", "kind": "soft", "at_s": 1.0, "completed_s": None if number == 7 else 2.0}
        return {"mobile": f"aircraft-{number}", "mobile_class": "aircraft", "lost_packets": 2, "flows": flows, **ends}

    other = {**handover(99, 1.0), "mobile": "ship", "mobile_class": None}
    listed = [handover(number % 20, number / 10) for number in range(1, 41)]
    found, others = fleets([*listed, other])
    assert (found, others) == ([Fleet("aircraft", listed)], [other])
    fleet = found[0]
    assert (fleet.mobiles, fleet.completed, fleet.lost_packets) == (20, 38, 80)
    assert fleet.stall_s == Spread(2.0, 3.8, 4.0)
    text = printed({**crowd, "flows": [], "handovers": [*listed, other]}, capsys)
    row = next(line for line in text.splitlines() if line.startswith(" aircraft"))
    assert row.split() == "aircraft 20 40 38 2 s 3.8 s 4 s 80".split()
    assert len([line for line in text.splitlines() if "ship" in line]) == 1


def test_an_overloaded_link_is_named_with_its_share_and_cause(capsys: pytest.CaptureFixture[str]) -> None:
    summary = Scenario.parse(CROWD.format(rate="2 Mbit/s"), Path()).run().summary
    place = summary["overloads"][0]
    assert (place["place"], place["way"], place["cause"]) == ("line", "down", "queue full")
    # All but the queue's twenty and what the line could carry in its time, of which the packets have 228 B.
    calls = [flow for flow in summary["flows"] if flow["transport"] == "udp"]
    sent, lost = (sum(flow[key] for flow in calls) for key in ("segments_sent", "lost_packets"))
    assert abs(place["dropped"] - lost) <= 20
    assert abs(place["offered"] - sent) < 100
    text = printed(summary, capsys)
    share = 100 * place["dropped"] / place["offered"]
    line = next(line for line in text.splitlines() if line.startswith("OVERLOAD"))
    assert f"line (down) lost {place['dropped']:,} of {place['offered']:,} ({share:.0f} %) packets, queue full" in line
    assert line.removeprefix("OVERLOAD ") in what_happened(summary)


def test_datagrams_that_wait_for_ever_are_told_of(tmp_path: Path) -> None:
    """20 kbit/s over a link of 10 kbit/s with a queue for all: half of them have not come when the run ends."""
    (tmp_path / "slow.toml").write_text(
        'name = "slow"\nduration = "100 s"\n\n[links.line]\nbetween = ["a", "b"]\nkind = "wired"\nrate = "10 kbit/s"\n'
        'queue = "100000 packets"\n\n[[flows]]\nname = "report"\nfrom = "a"\nto = "b"\ntransport = "udp"\n'
        'traffic.kind = "constant"\ntraffic.rate = "20 kbit/s"\ntraffic.packet_size = "100 B"\n'
    )
    [told] = overload_sentences(dict(Scenario.load(tmp_path / "slow.toml").run().summary))
    waiting, sent = (int(each.replace(",", "")) for each in re.findall(r"[\d,]+", told)[:2])
    # 128 B with headers go each 102 ms, and one comes each 40 ms.
    assert sent == pytest.approx(2_500, abs=2)
    assert sent - waiting == pytest.approx(100_000 / 102.4, abs=3)
    assert "datagrams of report were still under way" in told


def test_what_is_no_overload_is_not_told(crowd: dict[str, Any]) -> None:
    assert crowd["overloads"] == []
    assert overload_sentences(crowd) == []
    flow = {"name": "f", "segments_sent": 20_000, "lost_packets": 1_999, "failure": None}
    assert overload_sentences({"flows": [flow]}) == []
    told = overload_sentences({"flows": [{**flow, "lost_packets": 2_000}]})
    assert told == ["Flow f lost 2,000 of 20,000 (10 %) packets: the table of packets says where and why."]
    agent = {"node": "home", "agent": "home agent", "held": 500, "overflowed": 1_500, "expired": 10}
    assert overload_sentences({"agents": [agent]}) == [
        "The buffer of home agent home dropped 1,510 of 2,000 (76 %) packets: look at its size and age."
    ]
    host = {"place": "home", "way": "host", "cause": "tunnelled", "dropped": 5_000, "offered": 6_000}
    assert (
        "home discarded 5,000 of 6,000 (83 %) packets of the run: they came out of a tunnel"
        in overload_sentences({"overloads": [host]})[0]
    )


def test_handovers_that_are_not_listed_are_told_of(crowd: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    counted = {"mobile_class": "ship", "handovers": 4_950, "completed": 4_900, "active": 0, "lost_packets": 12}
    times = {"mean_s": 0.5, "p50_s": 0.4, "p95_s": 0.9, "p99_s": 1.25, "largest_s": 3.0}
    summary = {**crowd, "unlisted_handovers": [counted | times]}
    told = (
        "4,950 more handovers of ship are counted and not listed (record.handovers): 4,900 completed, 12 packets lost."
        " Time to completion: mean 0.5 s, median 0.4 s, 95 % 0.9 s, 99 % 1.25 s, longest 3 s."
    )
    assert told in what_happened(summary)
    assert told in " ".join(printed(summary, capsys).split())
