"""Sweeps of live runs, against an emulator that only tells: what is kept, tried again, marked, refused and resumed."""

from __future__ import annotations

import json
import os
import signal

import pyarrow.parquet as pq
import pytest

from baton import InputError, Scenario, sweep
from baton.live import attempts, emulator
from baton.plot import sweeps as drawn_sweeps
from fake_emulator import FLOW, LIVE, PROGRAM, SUMMARY

POSSIBLE = {"ok": True, "problems": [], "refused": []}
AXIS = ("--set", "links.lan.rate=1 Mbit/s,2 Mbit/s")


def told(stall_s: float, **live: object) -> dict:
    """The summary of a run whose program stood still for so long."""
    program = PROGRAM | {"longest_stall_s": stall_s}
    return SUMMARY | {"program": program, "live": LIVE | live}


LATE = {"trusted": False, "doubts": ["too late"]}


@pytest.fixture
def client(tmp_path):
    """A program that is there to be run and hashed."""
    file = tmp_path / "client"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def swept(command, fake, scenario, client):
    """Sweeps two rates live with seeds 1 and 2; returns the process and the folder's JSON."""

    def run(*options, plan=None):
        fake.plan(**{"answer": POSSIBLE, "summary": told(0.5)} | (plan or {}))
        arguments = ("sweep", scenario, "--live", *AXIS, "--seeds", 2, "--out", "out", *options)
        process = command(*arguments, "--", "./client", "server")
        file = fake.folder / "out" / "statistics.json"
        return process, json.loads(file.read_text()) if file.exists() else {}

    return run


def rows(folder):
    return pq.read_table(folder / "runs.parquet").to_pylist()


def values_of(call: list[str]) -> tuple[str, str]:
    """The rate and the seed that a run was called with."""
    rate = next(word for word in call if word.startswith("links.lan.rate="))
    return rate.partition("=")[2], call[call.index("--seed") + 1]


def test_each_point_is_run_live_with_each_seed_and_has_its_row(swept, fake, tmp_path):
    process, found = swept(plan={"reported": "first_frame_s=0.25\n"})
    assert process.returncode == 0, process.stderr
    rates = ("1 Mbit/s", "2 Mbit/s")
    assert [values_of(call) for call in fake.runs] == [(rate, seed) for seed in "12" for rate in rates]
    assert all(call[-3:] == ["--", "./client", "server"] for call in fake.runs)
    assert not (tmp_path / "results").exists(), "of a run nothing but its row stays"
    table = rows(tmp_path / "out")
    assert [(row["point"], row["seed"]) for row in table] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    for row in table:
        assert (row["program.longest_stall_s"], row["program.reported.first_frame_s"]) == (0.5, 0.25)
        assert (row["live.trusted"], row["live.lateness.p99_us"], row["live.kernel"]) == (True, 80.5, "6.18.44")
        assert row["program.status"] == 0
    assert found["points"][0]["quantities"]["program.longest_stall_s"]["mean"] == 0.5
    assert process.stdout.splitlines()[-1] == "out/report.html"
    page = (tmp_path / "out" / "report.html").read_text()
    stored = (tmp_path / "out" / "sweep.json").read_text()
    assert os.uname().nodename not in stored, "results can be handed on"
    machine = json.loads(stored)["live"]["machine"]
    for text in ("in real time, one at a time", "./client server", machine["kernel"]):
        assert text in page


def test_differences_are_paired_by_seed(command, fake, scenario, client, tmp_path):
    stalls = {1: (0.5, 0.75), 2: (0.25, 0.75), 3: (1.0, 1.25)}
    # The points of a seed follow each other: the first call with it is the first point's.
    by_seed = {seed: [{"summary": told(stall)} for stall in pair] for seed, pair in stalls.items()}
    fake.plan(answer=POSSIBLE, by_seed=by_seed)
    process = command("sweep", scenario, "--live", *AXIS, "--seeds", 3, "--out", "out", "--json", "--", "./client")
    assert process.returncode == 0, process.stderr
    (compared,) = json.loads(process.stdout)["differences"]
    difference = compared["quantities"]["program.longest_stall_s"]
    # By hand: differences 0.25, 0.5, 0.25; Student's t with two degrees of freedom, 4.302653 * 0.144338 / sqrt(3).
    assert (difference["values"], difference["mean"]) == (3, pytest.approx(1 / 3))
    assert difference["high"] - difference["mean"] == pytest.approx(0.358554, abs=1e-6)


def test_a_run_that_was_disturbed_is_tried_again(swept, fake, tmp_path):
    tries = [{"summary": told(9.0, **LATE)}] * 2 + [{"summary": told(0.5)}]
    process, found = swept(plan={"by_seed": {2: tries}})
    assert process.returncode == 0, process.stderr
    assert [values_of(call)[1] for call in fake.runs] == ["1", "1", "2", "2", "2", "2"]
    assert found["untrusted"] == []
    assert {row["program.longest_stall_s"] for row in rows(tmp_path / "out")} == {0.5}


def test_a_run_that_is_never_trusted_is_marked_and_counts_nowhere(swept, fake, tmp_path):
    process, found = swept(plan={"by_seed": {2: [{"summary": told(9.0, **LATE)}]}})
    assert process.returncode == 1
    assert len(fake.runs) == 2 + 2 * attempts.MOST_TRIES
    assert [(each["point"], each["seed"], each["doubts"]) for each in found["untrusted"]] == [
        (0, 2, ["too late"]),
        (1, 2, ["too late"]),
    ]
    table = rows(tmp_path / "out")
    assert [(row["seed"], row["live.trusted"]) for row in table] == [(1, True), (2, False)] * 2
    for point in found["points"]:
        assert point["quantities"]["program.longest_stall_s"]["mean"] == 0.5
    assert "NOT TRUSTED links.lan.rate = 1 Mbit/s, seed 2: too late" in process.stdout
    assert "Not to be trusted" in (tmp_path / "out" / "report.html").read_text()
    drawn = drawn_sweeps.read(tmp_path / "out", "program.longest_stall_s")
    assert [point.runs.tolist() for point in drawn.points] == [[0.5], [0.5]]


def test_a_program_that_fails_is_a_row_and_is_listed(swept, tmp_path):
    failed = {"summary": told(0.5) | {"program": PROGRAM | {"status": 7}}, "status": 4}
    process, found = swept(plan={"by_seed": {2: [failed]}})
    assert process.returncode == 4
    assert [(each["point"], each["seed"], each["reason"]) for each in found["failures"]] == [
        (0, 2, "the program: exit status 7"),
        (1, 2, "the program: exit status 7"),
    ]
    assert [row["program.status"] for row in rows(tmp_path / "out")] == [0, 7, 0, 7]


def test_a_run_that_fails_is_recorded_and_the_others_go_on(swept, tmp_path):
    error = {"event": "error", "message": "no more memory", "exit_status": 1}
    process, found = swept(plan={"by_seed": {1: [{"before": [error], "summary": None, "status": 1}]}})
    assert process.returncode == 1
    assert [(each["seed"], each["reason"]) for each in found["failures"]] == [(1, "no more memory")] * 2
    assert [row["seed"] for row in rows(tmp_path / "out")] == [2, 2]


def test_a_machine_that_cannot_is_refused_before_the_first_run(swept, fake, tmp_path):
    problem = "/dev/net/tun cannot be opened: modprobe tun"
    process, _ = swept(plan={"answer": {"ok": False, "problems": [problem]}})
    assert process.returncode == 2
    assert problem in process.stderr
    assert fake.runs == []
    assert not (tmp_path / "out").exists()


def test_a_point_that_the_kernel_cannot_do_has_its_reason(swept, fake):
    refused = [{"key": "flows.download.tick", "message": "the kernel has no such setting", "nearest": None}]
    process, _ = swept(plan={"answer": POSSIBLE | {"refused": refused}})
    assert process.returncode == 2
    assert "flows.download.tick: the kernel has no such setting" in process.stderr
    assert fake.runs == []


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--", "./client"], "add --live"),
        (["--server", "./server"], "add --live"),
        (["--live", "--jobs", 2], "--jobs: belongs to simulated runs"),
        (["--live", "--", "./missing"], "./missing: is not an executable program"),
        (["--live", "--until-width", "program.longest_stall=5%", "--", "./client"], "`longest_stall_s`"),
    ],
)
def test_what_cannot_be_meant_is_refused(command, fake, scenario, client, arguments, part):
    fake.plan(answer=POSSIBLE)
    process = command("sweep", scenario, "--seeds", 1, *arguments)
    assert process.returncode == 2
    assert part in process.stderr
    assert fake.runs == []


def test_resume_makes_what_is_missing_failed_or_disturbed(swept, fake, tmp_path):
    error = {"event": "error", "message": "no more memory", "exit_status": 1}
    failed = {"before": [error], "summary": None, "status": 1}
    process, _ = swept(plan={"by_seed": {1: [{"summary": told(0.25)}, failed], 2: [{"summary": told(9.0, **LATE)}]}})
    assert process.returncode == 1
    process, found = swept("--resume")
    assert process.returncode == 0, process.stderr
    assert [values_of(call) for call in fake.runs] == [("2 Mbit/s", "1"), ("1 Mbit/s", "2"), ("2 Mbit/s", "2")]
    assert [row["program.longest_stall_s"] for row in rows(tmp_path / "out")] == [0.25, 0.5, 0.5, 0.5]
    assert (found["failures"], found["untrusted"]) == ([], [])


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda client: client.write_text("#!/bin/sh\nexit 0\n"), "client: its content has changed"),
        (lambda _: ["--server", "./server"], "server: None → ./server"),
    ],
)
def test_another_program_is_another_sweep(swept, fake, client, change, part):
    assert swept()[0].returncode == 0
    options = change(client)
    process, _ = swept("--resume", *(options if isinstance(options, list) else []))
    assert process.returncode == 2
    assert "what is swept has changed" in process.stderr
    assert part in process.stderr
    assert fake.runs == []


def test_live_runs_are_not_resumed_as_simulated_ones(swept, command, scenario):
    assert swept()[0].returncode == 0
    process = command("sweep", scenario, *AXIS, "--seeds", 2, "--out", "out", "--resume")
    assert process.returncode == 2
    assert "runs: live → simulated" in process.stderr


def test_data_that_a_program_writes_is_no_part_of_it(swept, fake, tmp_path):
    server = "./client && python3 serve.py --log out.log"
    (tmp_path / "serve.py").write_text("pass\n")
    (tmp_path / "out.log").write_text("1\n")
    assert swept("--server", server)[0].returncode == 0
    named = json.loads((tmp_path / "out" / "sweep.json").read_text())["live"]["files"]
    assert {"client", "serve.py"} <= named.keys()
    assert "out.log" not in named


def test_a_study_file_names_the_programs(command, fake, scenario, client, tmp_path):
    study = tmp_path / "study.toml"
    text = 'scenario = "short.toml"\nseeds = 1\n[live]\nprogram = ["./client", "-x"]\nserver = "./client"\n'
    study.write_text(text)
    fake.plan(answer=POSSIBLE, summary=told(0.5))
    assert command("sweep", study, "--out", "out").returncode == 0
    (call,) = fake.runs
    assert call[-3:] == ["--", "./client", "-x"]
    assert call[call.index("--server") + 1] == "./client"
    fake.plan(answer=POSSIBLE, summary=told(0.5))
    assert command("sweep", study, "--out", "other", "--", "./client", "-y").returncode == 0
    assert fake.runs[0][-1] == "-y"
    for wrong, part in (
        ('program = "./client"', "live.program: expected the program and its arguments"),
        ("server = 1", "live.server: expected a command"),
        ('programme = ["x"]', "live.programme: no such key; did you mean `program`?"),
    ):
        study.write_text(f'scenario = "short.toml"\n[live]\n{wrong}\n')
        assert part in command("sweep", study, "--out", "wrong").stderr


def test_ctrl_c_keeps_what_is_done(fake, scenario, client, tmp_path):
    fake.plan(
        answer=POSSIBLE,
        summary=told(0.5),
        by_seed={2: [{"until_interrupted": True, "status": 130, "complete": False}]},
    )
    arguments = ("sweep", scenario, "--live", "--seeds", 3, "--out", "out", "--", "./client")
    process = fake.start(*arguments)
    for line in process.stderr:
        if "1 of 3 runs" in line:
            break
    for line in process.stderr:
        if "has begun" in line:
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "--resume" in errors
    assert "Traceback" not in errors
    assert [row["seed"] for row in rows(tmp_path / "out")] == [1]
    assert "interrupted" in (tmp_path / "out" / "report.html").read_text()


def test_rerun_says_what_cannot_be_repeated(swept, command):
    assert swept()[0].returncode == 0
    process = command("rerun", "out")
    assert process.returncode == 2
    for words in ("a sweep of live runs", "do not repeat byte for byte", "`baton compare`", "without `--live`"):
        assert words in process.stderr


def test_a_live_sweep_is_compared_with_a_simulated_one(swept, command, fake, scenario, tmp_path):
    late = {2: [{"summary": SUMMARY | {"live": LIVE | LATE}}]}
    flows = SUMMARY | {"flows": [FLOW | {"name": "download"}]}
    assert swept(plan={"summary": flows, "by_seed": late})[0].returncode == 1
    assert command("sweep", scenario, *AXIS, "--seeds", 2, "--out", "simulated").returncode == 0
    process = command("compare", "out", "simulated", "--json")
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout)
    for point in found["points"]:
        compared = point["quantities"]["flows.download.goodput_bps"]
        assert (compared["a"]["mean"], compared["a"]["runs"]) == (FLOW["goodput_bps"], 1)
    assert any(said.startswith("runs: live on ") and said.endswith(" / simulated") for said in found["remarks"])


def test_a_live_sweep_is_one_call(fake, scenario, client, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(emulator, "places", lambda: [fake.script])
    fake.plan(answer=POSSIBLE, summary=told(0.5))
    live = sweep.Live(["./client", "x"], server="./client")
    found = sweep.run(scenario, {"links.lan.rate": ["1 Mbit/s", "2 Mbit/s"]}, seeds=2, live=live)
    assert found.runs["program.longest_stall_s"].to_pylist() == [0.5] * 4
    assert [values_of(call)[1] for call in fake.runs] == ["1", "1", "2", "2"]
    assert fake.runs[0][-3:] == ["--", "./client", "x"]
    for wrong, message in (
        ({"scenario": Scenario.load(scenario)}, "scenario: is an object"),
        ({"scenario": scenario, "jobs": 2}, "jobs: belongs to simulated runs"),
    ):
        with pytest.raises(InputError, match=message):
            sweep.run(axes={"links.lan.rate": ["1 Mbit/s", "2 Mbit/s"]}, live=live, **wrong)
