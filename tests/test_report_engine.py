"""The report of a run of the engine: what it shows agrees with what the engine counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
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


def test_of_a_table_that_is_too_large_for_a_page_nothing_that_matters_is_left_out(tmp_path: Path, monkeypatch) -> None:
    lossy = ["links.wavelan.packet_error_rate=0.02", "seed=2"]
    baton.Scenario.load(SCENARIO, lossy).run(tmp_path / "run")

    def read() -> tuple[Any, dict[str, Any]]:
        run = read_run(tmp_path / "run")
        return run.packets, {trace.name: trace for trace in report.describe(run).flows[0].panels[0].traces}

    whole, all_traces = read()
    monkeypatch.setattr(tables, "MOST_PACKETS", len(whole) // 3)
    part, traces = read()
    assert (part.recorded, part.every) == (len(whole), 6)
    assert len(part) < len(whole) / 3
    assert len(all_traces["lost segment"].time_ns) > 5
    for name in ("retransmission", "lost segment"):
        assert traces[name].time_ns.tolist() == all_traces[name].time_ns.tolist()
        assert traces[name].value.tolist() == all_traces[name].value.tolist()
    shown = set(zip(traces["segment"].time_ns.tolist(), traces["segment"].value.tolist(), strict=True))
    every = list(zip(all_traces["segment"].time_ns.tolist(), all_traces["segment"].value.tolist(), strict=True))
    assert shown < set(every), "what is shown are segments that were sent, at their offsets"
    assert len(shown) > len(every) / 8
    page = report.write(tmp_path / "run").read_text(encoding="utf-8")
    assert "1 packet of 6 is shown" in page


def test_series_share_what_a_page_holds_and_short_ones_stay_whole(monkeypatch) -> None:
    def run(*lengths: int) -> tables.Run:
        series = {("flow", str(n)): tables.Series(np.arange(count), np.zeros(count)) for n, count in enumerate(lengths)}
        return tables.Run(Path(), {}, {}, None, series)

    monkeypatch.setattr(tables, "PAGE_VALUES", 100)
    assert run(10, 20, 30).series_limit == 100
    assert run(10, 300, 300).series_limit == 45
    assert run(300, 10, 80, 80).series_limit == 30
    assert run().series_limit == 100
