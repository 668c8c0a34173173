"""`baton compare` against arithmetic on small results written by hand, and on runs of the engine."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from baton.compare.figures import describe
from baton.compare.measure import Quantity, compare, quantile
from baton.compare.runs import open_run
from baton.errors import InputError
from baton.report.shares import Series
from fake_emulator import LIVE
from report_folder import MANIFEST, SECOND, Rows

SCENARIO = """\
name = "hand"
duration = "10 s"
[links.air]
between = ["server", "laptop"]
rate = "{rate}"
"""


def folder(path: Path, flows: dict[str, dict], *, rate: str = "1 Mbit/s", live: dict | None = None, **more) -> Path:
    """A run with these flows: keys of their summaries, `series` by quantity, `stall_s` at the handover at 4 s."""
    rows = Rows()
    listed, effects = [], []
    for name, flow in flows.items():
        flow = dict(flow)
        for quantity, points in flow.pop("series", {}).items():
            rows.series += [(int(at * SECOND), f"flow {name}", quantity, value) for at, value in points]
        effects.append({"name": name, "stall_s": flow.pop("stall_s", None)})
        listed.append({"name": name, "transport": "tcp", **flow})
    handover = {"at_s": 4.0, "mobile": "laptop", "from": "air", "to": "air", "kind": "hard", "completed_s": 5.0}
    summary = {"scenario": "hand", "seed": 1, "simulated_s": 10.0, "flows": listed}
    summary |= {"handovers": [handover | {"flows": effects}], "live": live} | more
    return rows.write(path, summary, MANIFEST | {"scenario": "hand", "resolved": SCENARIO.format(rate=rate)})


NONE = dict.fromkeys(("queue", "channel", "link_down", "buffer", "host"), 0)


def by_key(pair) -> dict[str, Quantity]:
    return {each.key: each for each in pair.quantities}


@pytest.fixture
def two(tmp_path):
    window_a = [(0, 1000), (3.9, 5000), (4.0, 6000), (4.1, 100)]
    a = {"goodput_bps": 4e6, "completion_s": None, "timeouts": 0, "longest_stall_s": 2.0, "stall_s": 1.5}
    b = {"goodput_bps": 3e6, "completion_s": 8.0, "timeouts": 3, "longest_stall_s": 2.0, "stall_s": 2.25}
    a["series"] = {"congestion window": window_a, "delivered bytes": [(1, 1000), (2, 3000)]}
    b["series"] = {"congestion window": [(0, 2000)], "delivered bytes": [(1, 2000)]}
    return folder(tmp_path / "a", {"download": a}), folder(tmp_path / "b", {"download": b})


def test_differences_are_absolute_and_relative(two):
    (pair,) = compare(*map(open_run, two)).pairs
    quantities = by_key(pair)
    goodput, timeouts = quantities["goodput_bps"], quantities["timeouts"]
    assert (goodput.difference, goodput.relative) == (-1e6, -0.25)
    assert (timeouts.difference, timeouts.relative) == (3, None), "nothing is a share of zero"
    assert (quantities["completion_s"].b, quantities["completion_s"].difference) == (8.0, None)
    assert "retransmitted" not in quantities, "what neither run measured is not listed"


def test_the_window_and_the_stall_at_a_handover(two):
    (pair,) = compare(*map(open_run, two)).pairs
    window, stall = by_key(pair)["handover_1_window_bytes"], by_key(pair)["handover_1_stall_s"]
    assert (window.a, window.b) == (6000, 2000), "what holds at 4 s"
    assert (stall.a, stall.b) == (1.5, 2.25)


def test_quantiles_of_samples_and_of_a_state():
    at = np.array([0, 1, 2, 3, 4]) * SECOND
    samples = Series(at, np.array([5.0, 1.0, 3.0, 2.0, 4.0]))
    assert [quantile(samples, share, weighted=False) for share in (0, 0.5, 1)] == [1, 3, 5]
    # 10 ms for 9 s, 500 ms for 1 s: the median is 10 ms, the 95th percentile 500 ms, however often it was recorded.
    rare = Series(np.array([0, 9, 10]) * SECOND, np.array([0.010, 0.5, 0.5]))
    often = Series(np.linspace(0, 10, 101) * SECOND, np.repeat([0.010, 0.5], [90, 11]))
    for series in (rare, often):
        assert [quantile(series, share, weighted=True) for share in (0.05, 0.5, 0.95)] == [0.010, 0.010, 0.5]
    assert quantile(Series(at[:1], np.array([7.0])), 0.5, weighted=True) == 7


def test_the_round_trip_time_is_the_one_that_both_recorded(tmp_path):
    both = {"round-trip time": [(1, 0.1), (2, 0.1)], "smoothed round-trip time": [(1, 0.2), (2, 0.2)]}
    smoothed = {"smoothed round-trip time": [(1, 0.3), (2, 0.3)]}
    a = open_run(folder(tmp_path / "a", {"f": {"series": both}}))
    b = open_run(folder(tmp_path / "b", {"f": {"series": smoothed}}))
    median = by_key(compare(a, b).pairs[0])["smoothed_rtt_50_percent_s"]
    assert (median.a, median.b) == (0.2, 0.3)
    only_samples = {"round-trip time": [(1, 0.4), (2, 0.6)]}
    c = open_run(folder(tmp_path / "c", {"f": {"series": only_samples}}))
    median = by_key(compare(a, c).pairs[0])["rtt_50_percent_s"]
    assert (median.a, median.b) == (0.1, 0.5)


def test_flows_are_matched_by_name_or_else_by_order(tmp_path):
    a = open_run(folder(tmp_path / "a", {"x": {"timeouts": 1}, "y": {"timeouts": 2}}))
    b = open_run(folder(tmp_path / "b", {"z": {"timeouts": 3}, "y": {"timeouts": 4}}))
    c = open_run(folder(tmp_path / "c", {"tcp-8000-1": {"timeouts": 5}}))
    named = compare(a, b)
    assert [(pair.a, pair.b) for pair in named.pairs] == [("y", "y")]
    assert {"flows only in a: x", "flows only in b: z"} <= set(named.remarks)
    ordered = compare(a, c)
    assert [(pair.a, pair.b, pair.name) for pair in ordered.pairs] == [("x", "tcp-8000-1", "x / tcp-8000-1")]
    assert "flows only in a: y" in ordered.remarks
    assert any("in their order" in remark for remark in ordered.remarks)


def test_what_is_not_in_common_is_said(tmp_path):
    untrusted = LIVE | {"trusted": False, "doubts": ["it was late"]}
    a = open_run(folder(tmp_path / "a", {"f": {"series": {"round-trip time": [(1, 0.1)]}}}))
    b = open_run(folder(tmp_path / "b", {"f": {}}, rate="2 Mbit/s", live=untrusted, seed=2, handovers=[]))
    remarks = compare(a, b).remarks
    for remark in (
        "b is not to be trusted: it was late",
        "links.air.rate: 1 Mbit/s / 2 Mbit/s",
        "seed: 1 / 2",
        "a has 1 handovers, b has 0: the first ones of both are compared",
        "no series recorded in b: quantities from them are not compared",
        "no packets recorded in a and b: quantities from them are not compared",
    ):
        assert remark in remarks
    assert compare(a, a).remarks == ["no packets recorded in A and B: quantities from them are not compared"]


def test_panels_hold_both_runs(two):
    (flow,) = describe(compare(*map(open_run, two))).flows
    panels = {panel.title: panel for panel in flow.panels}
    window = panels["Congestion window"]
    assert [(trace.name, trace.dashed) for trace in window.traces] == [
        ("a: congestion window", False),
        ("b: congestion window", True),
    ]
    factor = {"B": 1, "kB": 1e-3}[window.unit]
    assert window.traces[0].value.tolist() == [value * factor for value in (1000, 5000, 6000, 100, 100)]
    rates = [trace.value for trace in panels["Goodput"].traces]
    # Steps of 50 ms; 1000 B in the one that begins at 1 s, in kbit/s.
    assert rates[0][20] * {"kbit/s": 1e3, "Mbit/s": 1e6}[panels["Goodput"].unit] == pytest.approx(1000 * 8 / 0.05)
    assert rates[1][20] == pytest.approx(2 * rates[0][20])
    assert panels["Time\u2013sequence"].note == "Neither run recorded the data of this diagram."


def test_a_handover_of_both_is_marked_once(tmp_path, two):
    description = describe(compare(*map(open_run, two)))
    assert [mark.at_s for mark in description.marks] == [4.0]
    later = json.loads((two[1] / "summary.json").read_text())
    later["handovers"][0]["at_s"] = 4.5
    (two[1] / "summary.json").write_text(json.dumps(later))
    description = describe(compare(*map(open_run, two)))
    assert [(mark.at_s, mark.label[:2]) for mark in description.marks] == [(4.0, "ai"), (4.5, "b:")]


def test_the_command_prints_a_table_and_writes_a_page(baton, two, tmp_path):
    process = baton("compare", "a", "b/manifest.json")
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[-1] == "results/compare-a-b/report.html"
    assert "-25.0 %" in process.stdout
    page = (tmp_path / "results" / "compare-a-b" / "report.html").read_text()
    assert "<title>a and b \u2013 Baton report</title>" in page


def test_json_is_one_object(baton, two):
    process = baton("compare", "a", "b", "--json")
    told = json.loads(process.stdout)
    assert told.keys() == {"format", "a", "b", "flows", "handovers", "remarks", "report"}
    goodput = told["flows"][0]["quantities"][0]
    assert goodput == {
        "quantity": "goodput_bps",
        "unit": "bit/s",
        "a": 4e6,
        "b": 3e6,
        "difference": -1e6,
        "relative": -0.25,
    }


def test_what_is_no_run_is_refused(baton, two, tmp_path):
    process = baton("compare", "a", "nowhere", "--json")
    assert process.returncode == 2
    assert "nowhere: is neither a results folder" in json.loads(process.stdout)["error"]["message"]
    (tmp_path / "b" / "summary.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        open_run(tmp_path / "b")


def test_a_run_of_the_engine_does_not_differ_from_itself(baton, scenario):
    assert baton("run", scenario, "--out", "one").returncode == 0
    assert baton("run", scenario, "--out", "two").returncode == 0
    told = json.loads(baton("compare", "one", "two", "--json").stdout)
    assert told["remarks"] == []
    assert [(flow["a"], flow["b"]) for flow in told["flows"]] == [("download", "download"), ("voice", "voice")]
    differences = [each["difference"] for flow in told["flows"] for each in flow["quantities"]]
    assert set(differences) <= {0, None}
    assert "smoothed_rtt_50_percent_s" in {each["quantity"] for each in told["flows"][0]["quantities"]}


def test_two_runs_of_the_engine_differ_where_they_should(baton, scenario):
    assert baton("run", scenario, "--out", "one").returncode == 0
    assert baton("run", scenario, "--out", "two", "--set", "links.lan.rate=1 Mbit/s").returncode == 0
    told = json.loads(baton("compare", "one", "two", "--json").stdout)
    assert told["remarks"] == ["links.lan.rate: 2 Mbit/s / 1 Mbit/s"]
    assert told["flows"][0]["quantities"][0]["relative"] < -0.3


def with_signals(path: Path, handover_s: float, rows: list[tuple[float, str, str, str]]) -> Path:
    """A run with a handover at a time, and signals: time in ms after it, kind, sender and name."""
    flow = {"goodput_bps": 1e6, "stall_s": 0.5}
    run = folder(path, {"download": flow})
    summary = json.loads((run / "summary.json").read_text())
    summary["handovers"][0] |= {"at_s": handover_s}
    (run / "summary.json").write_text(json.dumps(summary))
    texts = {"kind": 1, "sender": 2, "name": 3}
    columns: dict[str, pa.Array] = {key: pa.array([row[place] for row in rows]) for key, place in texts.items()}
    columns["sent_ns"] = pa.array([round(handover_s * SECOND + row[0] * 1e6) for row in rows], pa.int64())
    nothing = pa.array([None] * len(rows), pa.string())
    columns |= {key: nothing for key in ("receiver", "link", "details", "fate")}
    columns |= {"decided_ns": nothing.cast(pa.int64()), "tunnelled": pa.array([False] * len(rows))}
    pq.write_table(pa.table(columns), run / "signals.parquet")
    return run


def test_signalling_is_timed_from_the_begin_of_each_run_s_own_handover(tmp_path):
    a = with_signals(
        tmp_path / "a",
        4.0,
        [
            (-100, "agent", "train", "Registered"),
            (0, "link", "laptop", "Link_Up"),
            (1, "link", "provider", "Link_Up"),
            (5, "message", "provider", "Router Advertisement"),
            (25, "message", "train", "Binding Update"),
            (85, "agent", "train", "Registered"),
            (95, "agent", "train", "Registered"),
        ],
    )
    b = with_signals(tmp_path / "b", 6.0, [(60, "agent", "train", "Attached"), (120, "agent", "train", "Registered")])
    (handover,) = compare(open_run(a), open_run(b)).handovers
    found = {step.name: (step.a, step.b, step.difference) for step in handover.steps}
    assert found == {
        "Link_Up at laptop": (0.0, None, None),
        "Binding Update leaves train": (0.025, None, None),
        "Registered at train": (0.085, 0.12, pytest.approx(0.035)),
        "Attached at train": (None, 0.06, None),
    }


def test_what_a_host_without_a_link_did_not_send_is_lost_at_the_handover_too(tmp_path):
    runs = [folder(tmp_path / name, {"stream": {}}) for name in ("a", "b")]
    for run, effect in zip(
        runs,
        ({"lost_packets": 5, "lost_by": {"to_sink": NONE | {"host": 586}, "to_source": NONE}}, {"lost_packets": 627}),
        strict=True,
    ):
        summary = json.loads((run / "summary.json").read_text())
        summary["handovers"][0]["flows"][0] |= effect
        (run / "summary.json").write_text(json.dumps(summary))
    (pair,) = compare(*map(open_run, runs)).pairs
    lost = by_key(pair)["handover_1_lost_packets"]
    assert (lost.a, lost.b) == (591, 627)
