"""The words of a run's page: the sentence on top, names of cells, verdicts, files; and whose handovers a flow shows."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

from baton import report
from baton.cells import CellNames
from baton.report import describe
from baton.report.figures import Trace
from baton.report.happened import what_happened
from baton.report.series_panels import bin_length, goodput, queues, rate_of
from baton.report.shares import Series, grouped
from baton.report.tables import Run, read_run
from baton.report.text_tables import ABSENT, class_table, flow_table
from report_folder import handover_folder

SECOND = 1_000_000_000
MOVE = {"at_s": 20.0, "mobile": "laptop", "from": "wifi", "to": "cellular", "kind": "hard", "completed_s": 20.3}
STALLED = {"name": "download", "stall_s": 0.4231, "lost_packets": 12}
FLOW = {"name": "download", "delivered_bytes": 12_000_000, "goodput_bps": 3.2e6, "failure": None}


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u202f", " ")


def test_a_sentence_says_what_happened() -> None:
    told = what_happened({"handovers": [MOVE | {"flows": [STALLED]}], "flows": [FLOW]})
    assert plain(told) == (
        "The laptop moved from wifi to cellular at 20 s; download stalled for 0.423 s and lost 12 packets."
        " The flow download delivered 12 MB at 3.2 Mbit/s."
    )


def test_what_a_buffer_dropped_is_lost_too() -> None:
    """As on a page of results: with the link that went nothing was lost, and yet three packets did not come."""
    lost = {"to_sink": {"link_down": 0, "buffer": 2, "host": 0}, "to_source": {"link_down": 0, "buffer": 0, "host": 1}}
    flow = STALLED | {"lost_packets": 0, "lost_by": lost}
    told = plain(what_happened({"handovers": [MOVE | {"flows": [flow]}], "flows": [FLOW]}))
    assert "stalled for 0.423 s and lost 3 packets." in told


def test_of_many_handovers_the_worst_is_told() -> None:
    moves = [MOVE | {"at_s": 10.0 * n, "flows": [STALLED | {"stall_s": n / 10}]} for n in (1, 3, 2)]
    told = plain(what_happened({"handovers": moves, "flows": []}))
    assert told.startswith("The laptop moved 3 times, first from wifi to cellular at 10 s; download stalled longest")
    assert "after the one at 30 s, for 0.3 s" in told
    fleet = [MOVE | {"mobile": f"a{n}"} for n in range(60)]
    assert plain(what_happened({"handovers": fleet})) == "60 mobiles moved 60 times."


def test_it_says_where_nothing_moved_and_where_a_flow_failed() -> None:
    failed = FLOW | {"failure": "the connection was reset"}
    told = plain(what_happened({"flows": [failed], "handovers": []}))
    assert told.startswith("There was no handover.")
    assert told.endswith("The flow download failed: the connection was reset.")
    assert "did not complete" in what_happened({"handovers": [MOVE | {"completed_s": None}]})
    assert what_happened({}) == ""


RADIOS = {
    "radios": [
        {"link": "radio", "cells": [{"cell": "c01"}, {"cell": "c010"}, {"cell": "shared"}]},
        {"link": "other", "cells": [{"cell": "shared"}]},
    ]
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("radio.c01.aircraft → radio.c010.aircraft-2", "c01 → c010"),
        ("radio.c01.aircraft, down", "c01, down"),
        ("radio.shared.a → other.shared.a", "radio.shared → other.shared"),
        ("my-radio.c01.a", "my-radio.c01.a"),
        ("lan → radio", "lan → radio"),
    ],
)
def test_links_are_called_by_their_cells(text: str, shown: str) -> None:
    assert CellNames.of(RADIOS).shown(text) == shown
    assert CellNames.of({}).shown(text) == text


def test_a_flow_shows_the_handovers_of_its_own_mobile(tmp_path: Path) -> None:
    folder = handover_folder(tmp_path, flows=2, seconds=30)
    summary = json.loads((folder / "summary.json").read_text())
    other = MOVE | {"at_s": 25.0, "mobile": "other", "flows": [STALLED | {"name": "download 2"}]}
    unknown = MOVE | {"at_s": 26.0, "mobile": "third", "flows": []}
    summary["handovers"] += [other, unknown]
    (folder / "summary.json").write_text(json.dumps(summary))
    marks = {flow.name: flow.marks for flow in describe(read_run(folder)).flows}
    assert marks == {"download": [0, 2], "download 2": [1, 2], "ping": [2]}


def test_verdicts_and_files_stand_on_the_page(tmp_path: Path) -> None:
    folder = handover_folder(tmp_path, seconds=10)
    summary = json.loads((folder / "summary.json").read_text())
    summary["expectations"] = [
        {"expression": "flows.download.goodput_bps > 1e9", "measured": 1500000.0, "holds": False},
        {"expression": "handovers.0.completed_s > 0", "measured": None, "holds": False},
        {"expression": "packets > 0", "measured": 17, "holds": True},
    ]
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "two words #1.pcap").write_bytes(b"")
    text = report.write(folder).read_text()
    table = text.partition("<h2>Expectations</h2>")[2].partition("</table>")[0]
    rows = re.findall(r'<tr><th scope="row">(.*?)</th><td>(.*?)</td><td class=n>(.*?)</td></tr>', table)
    assert [(html.unescape(name), verdict, plain(value)) for name, verdict, value in rows] == [
        ("flows.download.goodput_bps > 1e9", "FAILED", "1 500 000"),
        ("handovers.0.completed_s > 0", "FAILED", "no value"),
        ("packets > 0", "holds", "17"),
    ]
    links = re.findall(r'<li><a href="(.*?)">', text)
    assert links == ["manifest.json", "packets.parquet", "series.parquet", "summary.json", "two%20words%20%231.pcap"]


def test_delays_of_flows_and_classes_stand_in_the_tables() -> None:
    delay = {"packets": 9, "mean_s": 0.0615, "p5_s": 0.05, "p50_s": 0.06, "p95_s": 0.1, "p99_s": 0.25, "p99_9_s": 1.5}
    counts = {"flows": 60, "sent_packets": 10_000, "delivered_packets": 9_990, "lost_packets": 10}
    flows = [FLOW | {"delay": delay}, FLOW | {"name": "silent", "delay": None}]
    text = plain(html.unescape(flow_table({"flows": flows})))
    assert "<td class=n>61.50 ms</td><td class=n>60 ms</td><td class=n>100 ms</td><td class=n>250 ms</td>" in text
    assert text.count("<td class=n>1.500 s</td>") == 1
    assert text.endswith(f"<td class=n>{ABSENT}</td>" * 5 + "</tr></tbody></table></div></section>")
    text = plain(class_table({"classes": [{"name": "voice", **counts, "delay": delay}]}))
    row = re.sub("<.*?>", " ", text.partition("<tbody>")[2]).split()
    assert row == "voice 60 10 000 9 990 10 61.50 ms 60 ms 100 ms 250 ms 1.500 s".split()
    assert class_table({"classes": []}) == class_table({}) == ""
    assert "Delay" not in flow_table({"flows": [FLOW]})


def run_of_series(duration_s: float, **series: Series) -> Run:
    summary = {"simulated_s": duration_s}
    return Run(Path(), {}, summary, None, {(f"flow {name}", "delivered bytes"): each for name, each in series.items()})


def test_goodput_of_a_steady_flow_is_steady_however_it_was_written() -> None:
    """1 MB/s, written once in 100 ms or at the delivery after, in a run for which bins of 50 ms are small enough."""
    for late in (0.0, 0.0004):
        time = np.round(np.cumsum(np.full(119, 0.1 + late)) * SECOND).astype(np.int64)
        series = Series(time, time / SECOND * 1e6)
        run = run_of_series(12.0, steady=series)
        interval = bin_length(run, series)
        assert interval >= 0.1
        edges, rate = rate_of(run, series, interval)
        inner = rate[edges < (time[-1] - interval * SECOND)]
        np.testing.assert_allclose(inner, 8e6, rtol=1e-3)


def test_a_flow_that_has_ended_has_no_spike_at_the_end_of_the_run() -> None:
    """The last bytes are written when the run ends, 6 s after they came; the run is not a whole number of bins."""
    time = np.append(np.arange(1, 61) * SECOND // 10, int(12.0003 * SECOND))
    value = np.append(np.arange(1, 61) * 1e5, 60 * 1e5 + 9e4)
    series = Series(time, value)
    run = run_of_series(12.0003, ended=series)
    edges, rate = rate_of(run, series, bin_length(run, series))
    assert rate.max() < 8.1e6
    assert rate[edges > 6.3 * SECOND].max() == 0
    np.testing.assert_allclose(np.sum(rate[:-1] * np.diff(edges) / SECOND), 8 * value[-1])


def test_goodput_shows_when_data_came_after_a_pause() -> None:
    """A burst at 5 s of a flow that stood still since 2 s is at 5 s."""
    time = np.array([*np.arange(1, 21) / 10, 5.0, 5.1, 5.2]) * SECOND
    series = Series(time.astype(np.int64), np.cumsum(np.full(23, 1e5)))
    run = run_of_series(10.0, burst=series)
    edges, rate = rate_of(run, series, bin_length(run, series))
    assert rate[(edges > 2.1 * SECOND) & (edges < 4.8 * SECOND)].max() == 0
    assert rate[(edges >= 4.9 * SECOND) & (edges < 5.2 * SECOND)].min() > 7e6


def test_of_many_links_some_are_shown_in_colours_of_their_own() -> None:
    time, size = np.array([SECOND]), np.array([1000])
    links = {f"link-{n}": (time, size * (n + 1)) for n in range(13)}
    roles = {name: "link 1" for name in links}
    run = run_of_series(2.0)
    traces = goodput(run, "download", "udp", links, roles, {}).traces
    assert [trace.name for trace in traces] == [*(f"over link-{n}" for n in range(8, 13)), "over 8 others"]
    assert len({trace.role for trace in traces}) == 6
    waiting = [Trace(f"link-{n}, down", "link 1", "steps", time, size * 0 + n) for n in range(1, 14)]
    panel = queues(run_of_series(2.0, any=Series(time, size)), waiting)
    assert {trace.name for trace in panel.traces} == {f"link-{n}, down" for n in range(8, 14)}
    assert len({trace.role for trace in panel.traces}) == 6
    assert panel.note == "The 6 longest queues; in 7 others at most 7 packets waited."


def test_a_panel_without_queues_says_why() -> None:
    """Nobody waited, which a queue of zero tells, or queues were not recorded."""
    zero = Series(np.zeros(1, dtype=np.int64), np.zeros(1))
    run = run_of_series(2.0, any=zero)
    assert queues(run, []).note == "Queues were not recorded (series in the scenario's [record])."
    assert run.series is not None
    run.series["link gsm down", "queue packets"] = zero
    assert queues(run, []).note == "No packet had to wait."


def test_delays_of_tcp_segments_are_those_of_the_table(tmp_path: Path) -> None:
    """The percentiles in the note, against pandas on the packet table."""
    import pandas as pd

    folder = handover_folder(tmp_path, seconds=15)
    table = pd.read_parquet(folder / "packets.parquet")
    data = table[(table.flow == "download") & (table.payload_bytes > 0)]
    first, last = data.groupby("packet").sent_ns.min(), data.groupby("packet").tail(1).set_index("packet")
    arrived = last[(last.fate == "delivered") & (last.link != "wired")]
    taken = (arrived.decided_ns - first.loc[arrived.index]) / 1e6
    (panel,) = [p for p in describe(read_run(folder)).flows[0].panels if p.across]
    (trace,) = panel.traces
    for percent in (50, 95, 99):
        told = re.search(rf"(?<![\d.]){percent} %: ([\d.]+) (m?s)", panel.note)
        assert told
        value = float(told[1]) * (1 if told[2] == "ms" else 1000)
        assert value == pytest.approx(taken.quantile(percent / 100, interpolation="higher"), rel=1e-3, abs=0.01)
    assert trace.time_ns[-1] == pytest.approx(taken.max() * 1e6)
    assert (trace.value[0], trace.value[-1]) == (0, 1)


def test_what_happened_is_of_all_flows_of_which_a_page_shows_some(tmp_path: Path) -> None:
    """The flow that stood still for longest delivers least, and so is none of those that are shown."""
    flows = [FLOW | {"name": f"f{n}", "delivered_bytes": 1000 + n} for n in range(150)]
    stalled = [STALLED | {"name": f"f{n}", "stall_s": 9.0 - n / 100} for n in range(150)]
    summary = {"format": 1, "flows": flows, "handovers": [MOVE | {"flows": stalled}]}
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    run = read_run(tmp_path)
    assert len(run.summary["flows"]) == 100
    assert "150 flows delivered" in plain(run.happened)
    assert "f0 stalled longest, for 9 s" in plain(run.happened)


def test_a_table_without_rows_has_no_groups() -> None:
    assert list(grouped(np.array([], np.int64))) == []
    assert [(key, rows.tolist()) for key, rows in grouped(np.array([3, 1, 3]))] == [(1, [1]), (3, [0, 2])]
