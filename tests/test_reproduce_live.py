"""Study T with the kernel's TCP: live runs by an emulator that hands out a simulated run as its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import baton
from baton.live.trials import MOST_TOGETHER, Trial
from baton.report.tables import read_run
from baton.reproduce import STUDIES, study_d_live
from baton.reproduce.study_d import SCENARIOS
from baton.reproduce.study_run import figures
from baton.reproduce.study_t_live import checks
from baton.toml import loads
from fake_emulator import BATON, LIVE, Fake

MACHINE = {"ok": True, "problems": [], "kernel": "6.18.44"}
LINUX_6 = ["flows.download.transport.profile=linux-6"]
DOUBT = "99 % of events were up to 5 ms late"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a download of the study, here simulated, with what a live run's summary has beside."""
    folder = tmp_path_factory.mktemp("recorded") / "download"
    baton.Scenario.load(STUDIES / "T" / "download.toml", LINUX_6).run(folder, seed=1)
    file = folder / "summary.json"
    summary = json.loads(file.read_text()) | {"live": LIVE, "program": None, "server": None}
    file.write_text(json.dumps(summary))
    return folder


@pytest.fixture
def reproduce(tmp_path, recorded):
    """Runs `baton reproduce --live` against the fake emulator; `live` is what its summary says of trust."""
    fake = Fake(tmp_path)

    def run(*arguments, machine=MACHINE, **live):
        summary = json.loads((recorded / "summary.json").read_text())
        summary["live"] |= live
        summary["flows"][0]["fast_retransmits"] = None  # as of every kernel
        fake.plan(summary=summary, answer=machine, tables=str(recorded))
        environment = {**os.environ, "FAKE_EMULATOR": str(fake.script)}
        command = [sys.executable, "-c", BATON, "reproduce", *arguments, "--live"]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def rows_of(process):
    assert process.stdout, process.stderr
    return {row["id"]: row for row in json.loads(process.stdout)["rows"]}


def test_a_recorded_run_is_measured_from_its_folder(recorded):
    summary = json.loads((recorded / "summary.json").read_text())
    found = figures(read_run(recorded))
    assert found["T2.h"] == summary["handovers"][0]["flows"][0]["stall_s"]
    assert found["T2.d"] == summary["flows"][0]["lost_packets"] == 0
    # The first segment is one of the window, and may be sent again more than once.
    assert found["T2.b"] > 0
    assert 0 < found["T2.c"] <= found["T2.b"] + found["T2.c"] - 1 <= summary["flows"][0]["retransmitted"]


def test_the_kernels_figures_stand_beside_those_of_both_stacks(reproduce, recorded, tmp_path):
    process = reproduce("T2", "T9.f", "--json")
    assert process.returncode == 0, process.stderr
    told = json.loads(process.stdout)
    assert (told["format"], told["kernels"], told["repetitions"]) == (1, ["6.18.44"], 5)
    assert told["sysctls"] == LIVE["sysctls"]
    rows = rows_of(process)
    measured = figures(read_run(recorded))
    for name, row in rows.items():
        assert name.startswith("T2.")
        if name != "T2.g":
            assert row["kernel"] == row["kernel_low"] == row["kernel_high"] == measured[name]
    # The study's stack waits for 26 s, a present one for a fraction of that.
    stall = rows["T2.h"]
    assert stall["simulated"]["linux-2.0.36"] == pytest.approx(26.35, abs=0.2)
    assert stall["simulated"]["linux-6"] == pytest.approx(measured["T2.h"], rel=0.1)
    assert list(told["not_run"]) == ["T9"]
    results = tmp_path / "results" / "reproduce-T-live"
    assert json.loads((results / "reproduce.json").read_text())["rows"] == told["rows"]
    assert "| T2.h | time without new data | 26 |" in (results / "reproduce.md").read_text()
    page = (results / "report.html").read_text()
    assert all(f'id="{name}"' in page for name in rows)
    assert 'href="download/run-1/report.html"' in page
    assert (results / "download" / "run-1" / "report.html").is_file()
    assert not (results / "download" / "run-2").exists()


def test_what_a_kernel_does_not_tell_is_named(reproduce):
    process = reproduce("T2.g", "T2.d")
    assert process.returncode == 0, process.stderr
    assert "T2.g not measured: the kernel counts fast retransmits of all its connections together" in process.stdout
    assert "T2.d not measured" not in process.stdout


def test_runs_that_were_late_are_named_and_not_compared(reproduce):
    process = reproduce("T2.h", trusted=False, doubts=[DOUBT])
    assert process.returncode == 1
    assert f"Not compared: download, repetition 5: {DOUBT}" in process.stdout
    assert "T2.h not measured: no live run has this figure." in process.stdout
    assert reproduce("T2.h").returncode == 0, "what was disturbed is tried again the next time"


def test_without_the_rights_it_says_what_to_do_and_leaves_nothing(reproduce, tmp_path):
    before = sorted(tmp_path.iterdir())
    problem = "no rights to make network namespaces: run it with sudo"
    process = reproduce("T", machine={"ok": False, "problems": [problem]})
    assert process.returncode == 2
    assert problem in process.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("T9", "T9: not run live (T9: an upload"),
        ("D16", "D16: not run live (D16: beyond the study"),
        ("C", "`C`: not run live; expected one of `T`, `D`"),
        ("T2.z", "no such check"),
        ("Q", "no such study"),
    ],
)
def test_what_cannot_be_run_live_is_refused_before_anything_runs(reproduce, name, message):
    process = reproduce(name)
    assert process.returncode == 2
    assert message in process.stderr


@pytest.mark.parametrize("name", ["download", "download-back"])
def test_the_studys_paths_are_slow_enough_to_run_together(name):
    assert Trial(name, STUDIES / "T" / f"{name}.toml", tuple(LINUX_6)).share * 10 == MOST_TOGETHER


def test_windows_are_compared_within_a_repetition():
    def of(throughput, again=0):
        return {"T3.c": throughput, "T2.c": again}

    trials = {
        "download": of(640.0),
        "window-2k": of(720.0),
        "window-4k": of(800.0, 4),
        "window-8k": of(760.0),
        "window-16k": {},  # was late
        "window-small": of(600.0),
    }
    found = checks(trials)
    assert (found["T4.a"], found["T4.b"], found["T4.g"]) == (4, 800.0, 600.0)
    assert found["T4.c"] == pytest.approx(25)
    assert (found["T4.d"], found["T4.e"], found["T4.f"]) == (0.9, 0.95, None)


@pytest.mark.parametrize("name", SCENARIOS)
def test_study_d_is_slow_enough_to_run_together_and_asks_nothing_that_a_kernel_has_not(name):
    trial = study_d_live.STUDY.trial(STUDIES / "D", name, study_d_live.STUDY.present)
    assert trial.share * 10 <= MOST_TOGETHER
    flow = loads(trial.scenario.resolved)["flows"][0]
    assert flow["transport"]["profile"] == "linux-6"
    assert set(flow["transport"]) == {"profile", "maximum_segment_size", "receive_buffer", "delayed_ack"}


def test_the_scenarios_of_study_d_are_compared_within_a_repetition():
    def of(completion, handover, begin, timeouts=0):
        return {"completion": completion, "handover": handover, "begin": begin, "timeouts": timeouts}

    of_trials = {
        "baseline": of(44.0, 2.5, 60.0, 1),
        "proposal-1": of(40.0, 0.75, 60.0, 1),
        "proposal-2": of(36.0, 0.5, 62.0),
    }
    found = study_d_live.checks(of_trials)
    assert (found["D7.a"], found["D7.b"], found["D7.c"]) == (0.75, 0.5, 1.75)
    assert (found["D8.a"], found["D8.d"], found["D8.e"]) == (1.1, 4.0, 10.0)
    assert (found["D9.a"], found["D9.b"]) == (2.0, 0)
    late = study_d_live.checks({**of_trials, "proposal-1": {}})
    assert (late["D8.d"], late["D9.a"], late["D8.h"]) == (None, None, 36.0)
