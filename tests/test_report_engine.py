"""The report of a run of the engine: what it shows agrees with what the engine counted."""

from __future__ import annotations

from pathlib import Path

import pytest

baton = pytest.importorskip("baton._baton", reason="the extension is not built")

from baton import report  # noqa: E402
from baton.report import tables  # noqa: E402
from baton.report.tables import read_run  # noqa: E402

SCENARIO = Path(__file__).parents[1] / "scenarios" / "wavelan-to-gsm.toml"


def test_the_diagram_of_a_handover_agrees_with_the_summary(tmp_path: Path) -> None:
    baton.Scenario.load(SCENARIO).run(tmp_path / "run")
    run = read_run(tmp_path / "run")
    told = run.summary["flows"][0]
    described = report.describe(run)
    assert [mark.label for mark in described.marks] == ["wavelan \u2192 gsm"]
    panels = {panel.title: panel for panel in described.flows[0].panels}
    traces = {trace.name: trace for trace in panels["Time\u2013sequence"].traces}
    assert len(traces["retransmission"].time_ns) == told["retransmitted"]
    assert len(traces["segment"].time_ns) + told["retransmitted"] in (
        told["segments_sent"] - 2,  # the SYN and, if the connection closed, the FIN carry no data
        told["segments_sent"] - 1,
    )
    assert traces["segment"].value[0] == 0
    assert traces["ACK"].value.max() <= told["delivered_bytes"] + 1  # the FIN counts as a byte
    assert {trace.name for trace in panels["Goodput"].traces} >= {"over wavelan", "over gsm"}
    assert {trace.name for trace in panels["Queues"].traces} >= {"wavelan, down", "gsm, down"}
    page = report.write(tmp_path / "run").read_text(encoding="utf-8")
    assert "A download meets a handover from WaveLAN to GSM" in page


def test_a_table_that_is_too_large_for_a_page_is_left_out_and_the_page_says_so(tmp_path: Path, monkeypatch) -> None:
    baton.Scenario.load(SCENARIO).run(tmp_path / "run")
    rows = len(read_run(tmp_path / "run").packets)
    monkeypatch.setattr(tables, "MOST_PACKETS", rows - 1)
    assert read_run(tmp_path / "run").packets is None
    page = report.write(tmp_path / "run").read_text(encoding="utf-8")
    assert "more than a page can show" in page
    monkeypatch.setattr(tables, "MOST_PACKETS", rows)
    assert len(read_run(tmp_path / "run").packets) == rows
