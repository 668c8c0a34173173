"""Sweeps: against single runs, resumed, interrupted, in parallel, and with points that fail."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from baton import InputError, Scenario, sweep
from baton.sweep.code import InMemory
from baton.sweep.engines import opened
from baton.sweep.execute import PointRuns, execute
from baton.sweep.flatten import flatten
from baton.sweep.runs import Runs
from snippets import ROOT, read

LOSS = 'kind = "wired"\nrate = "2 Mbit/s"\npacket_error_rate = 0.01'


@pytest.fixture
def lossy(scenario):
    """The short scenario with a link that loses packets, so that seeds differ."""
    scenario.write_text(scenario.read_text().replace('kind = "wired"\nrate = "2 Mbit/s"', LOSS))
    return scenario


AXES = ("--set", "flows.download.transport.congestion=reno,cubic", "--set", "links.lan.rate=1 Mbit/s,2 Mbit/s")


def rows(folder):
    return pq.read_table(folder / "runs.parquet").to_pylist()


def statistics(folder):
    return json.loads((folder / "statistics.json").read_text())


def test_each_run_of_a_sweep_has_the_numbers_of_the_single_run(baton, lossy, tmp_path):
    process = baton("sweep", lossy, *AXES, "--seeds", 3, "--out", "out")
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[-1] == "out/report.html"
    found = rows(tmp_path / "out")
    assert [(row["point"], row["seed"]) for row in found] == [(p, s) for p in range(4) for s in (1, 2, 3)]
    assert len({row["flows.download.delivered_bytes"] for row in found}) > 4, "seeds and points differ"
    for row in found:
        sets = {key.removeprefix("set."): value for key, value in row.items() if key.startswith("set.")}
        assert sets.keys() == {"flows.download.transport.congestion", "links.lan.rate"}
        single = Scenario.load(lossy, [f"{key}={value}" for key, value in sets.items()]).run(seed=row["seed"])
        expected = flatten(single.summary)
        assert {name: row[name] for name in expected} == expected


def test_a_sweep_from_python_is_that_of_the_command_line(baton, lossy, tmp_path):
    axes = {"flows.download.transport.congestion": ["reno", "cubic"], "links.lan.rate": ["1 Mbit/s", "2 Mbit/s"]}
    assert baton("sweep", lossy, *AXES, "--seeds", 5, "--out", "out").returncode == 0
    built = Scenario.parse(lossy.read_text(), tmp_path)
    for scenario in (lossy, built):
        found = sweep.run(scenario, axes, seeds=5, jobs=2)
        assert found.runs.equals(pq.read_table(tmp_path / "out" / "runs.parquet"))
        assert found.statistics == {**statistics(tmp_path / "out"), "name": "short"}
    failing = sweep.run(built, {"links.lan.rate": ["1 Mbit/s", "fast"]}, seeds=2)
    assert [failure["point"] for failure in failing.statistics["failures"]] == [1]
    assert len(failing.runs) == 2
    for wrong, message in (
        ({"links.lam.rate": ["1 Mbit/s", "2 Mbit/s"]}, 'did you mean "lan"'),
        ({"seed": [1, 2]}, "seed: is the same series for all points"),
        ({"links.lan.rate": []}, "axes.links.lan.rate: is empty"),
    ):
        with pytest.raises(InputError, match=message):
            sweep.run(built, wrong)


def test_variants_meet_the_same_channel(lossy):
    """A packet of the voice flow is lost at one congestion control if and only if it is at the other."""

    def lost(congestion, seed):
        errors = ["links.lan.queue=1000 packets", "links.lan.packet_error_rate=0.05", "links.modem.queue=1000 packets"]
        scenario = Scenario.load(lossy, [f"flows.download.transport.congestion={congestion}", *errors])
        packets = scenario.run(seed=seed).packets.to_pandas()
        up = packets[(packets["link"] == "lan") & (packets["direction"] == "up")].reset_index()
        return {number for number, fate in enumerate(up["fate"]) if fate not in ("delivered", "under way")}, len(up)

    (reno, sent), (cubic, sent_cubic) = lost("reno", 1), lost("cubic", 1)
    both = min(sent, sent_cubic)
    assert sent != sent_cubic, "the two send differently, and yet"
    assert {number for number in reno if number < both} == {number for number in cubic if number < both}
    assert len(reno) > 5
    assert lost("reno", 2)[0] != reno


def test_statistics_and_paired_differences_are_those_of_the_table(baton, lossy, tmp_path):
    scipy_stats = pytest.importorskip("scipy.stats")
    assert baton("sweep", lossy, *AXES, "--seeds", 6, "--out", "out").returncode == 0
    found, name = statistics(tmp_path / "out"), "flows.download.goodput_bps"
    values = {point: [] for point in range(4)}
    for row in rows(tmp_path / "out"):
        values[row["point"]].append(row[name])
    for place, point in enumerate(found["points"]):
        told = point["quantities"][name]
        expected = scipy_stats.ttest_1samp(values[place], 0).confidence_interval(0.95)
        assert told["mean"] == pytest.approx(np.mean(values[place]))
        assert [told["low"], told["high"]] == pytest.approx(list(expected))
    compared = {(each["axis"], each["base"], each["point"]): each["quantities"][name] for each in found["differences"]}
    congestion, rate = "flows.download.transport.congestion", "links.lan.rate"
    assert compared.keys() == {(rate, 0, 1), (congestion, 0, 2), (congestion, 1, 3), (rate, 2, 3)}
    for (_, base, point), told in compared.items():
        expected = scipy_stats.ttest_rel(values[point], values[base]).confidence_interval(0.95)
        assert [told["low"], told["high"]] == pytest.approx(list(expected))


def test_in_parallel_as_one_after_the_other(baton, lossy, tmp_path):
    for jobs in (1, 4):
        assert baton("sweep", lossy, *AXES, "--seeds", 5, "--jobs", jobs, "--out", f"out-{jobs}").returncode == 0
    one, four = ({file.name: file.read_bytes() for file in (tmp_path / f"out-{jobs}").iterdir()} for jobs in (1, 4))
    assert one == four


def test_a_point_that_fails_does_not_stop_the_others(baton, lossy, tmp_path):
    process = baton("sweep", lossy, "--set", "links.lan.rate=1 Mbit/s,fast", "--seeds", 2, "--out", "out", "--json")
    assert process.returncode == 1
    (line,) = process.stdout.splitlines()
    found = json.loads(line)
    (failure,) = found["failures"]
    assert (failure["point"], failure["seed"]) == (1, None)
    assert "fast" in failure["reason"]
    assert [point["runs"] for point in found["points"]] == [2, 0]
    assert len(rows(tmp_path / "out")) == 2
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Failed" in page
    assert "fast" in page


def test_a_run_that_failed_is_listed_with_its_seed_and_not_made_again(baton, lossy, tmp_path):
    assert baton("sweep", lossy, "--seeds", 2, "--out", "out").returncode == 0
    with (tmp_path / "out" / "runs.jsonl").open("a") as log:
        log.write('{"point": 0, "seed": 3, "reason": "5000001 packets are under way", "summary": null}\n')
    process = baton("sweep", lossy, "--seeds", 4, "--out", "out", "--resume", "--json")
    assert process.returncode == 1
    found = json.loads(process.stdout)
    assert found["failures"] == [{"point": 0, "seed": 3, "reason": "5000001 packets are under way"}]
    assert found["points"][0]["runs"] == 3
    assert [row["seed"] for row in rows(tmp_path / "out")] == [1, 2, 4]


def test_nothing_that_can_be_run_is_wrong_input(baton, lossy, tmp_path):
    process = baton("sweep", lossy, "--set", "links.lam.rate=1 Mbit/s,2 Mbit/s", "--out", "out")
    assert process.returncode == 2
    assert 'did you mean "lan"?' in process.stderr
    assert not (tmp_path / "out").exists()


@pytest.fixture
def long_sweep(lossy, tmp_path):
    """Starts a sweep in a process of its own and returns when it has kept some runs."""
    started = []

    def start(seeds):
        arguments = ("sweep", lossy, *AXES, "--set", "duration=60 s", "--seeds", seeds, "--out", "out", "--jobs", "2")
        started.append(start_sweep(arguments, tmp_path))
        return started[0], arguments

    yield start
    for process in started:
        process.kill()
        process.communicate()


def start_sweep(arguments, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "baton", *map(str, arguments)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = tmp_path / "out" / "runs.jsonl"
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if log.exists() and log.read_bytes().count(b"\n") >= 10:
            break
        time.sleep(0.01)
    assert process.poll() is None, process.stderr.read()
    return process


def test_a_killed_sweep_is_resumed_where_it_was(baton, long_sweep, tmp_path):
    process, arguments = long_sweep(100)
    process.send_signal(signal.SIGKILL)
    process.wait()
    log = tmp_path / "out" / "runs.jsonl"
    kept = log.read_bytes()
    with log.open("ab") as file:
        file.write(b'{"point": 0, "seed": 99, "rea')  # killed within a line
    assert not (tmp_path / "out" / "runs.parquet").exists()
    resumed = baton(*arguments, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert set(kept.splitlines()) <= set(log.read_bytes().splitlines())
    entries = [json.loads(line) for line in log.read_bytes().splitlines()]
    done = sorted((entry["point"], entry["seed"]) for entry in entries)
    assert done == [(point, seed) for point in range(4) for seed in range(1, 101)], "each once, none missing"
    again = baton(*arguments[:-4], "--out", "whole")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == (tmp_path / "whole" / "runs.parquet").read_bytes()


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(long_sweep, tmp_path):
    process, _ = long_sweep(5000)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume" in errors
    assert "Traceback" not in errors
    found = statistics(tmp_path / "out")
    assert not found["complete"]
    assert 10 <= len(rows(tmp_path / "out")) < 20_000
    assert "interrupted" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_what_is_kept_counts_whenever_ctrl_c_comes(scenario):
    class Keeper(InMemory):
        def keep(self, point, seed, summary, reason):
            self.kept.append((point, seed))
            raise KeyboardInterrupt

    folder, points = Keeper(), [PointRuns(Scenario.load(scenario), None)]
    with opened(None, 1) as engine:
        runner = Runs(engine, [points[0].scenario])
        assert not execute(folder, points, range(1, 9), None, runner=runner, progress=lambda *_: None)
    assert folder.kept == [(0, seed) for seed in points[0].rows]


def test_two_sweeps_into_one_folder_do_not_mix(baton, long_sweep):
    process, arguments = long_sweep(5000)
    for option in ("--resume", "--force"):
        other = baton(*arguments, option)
        assert other.returncode == 2
        assert "another sweep is writing there" in other.stderr
    assert process.poll() is None


def test_a_sweep_that_has_changed_is_not_resumed(baton, lossy, tmp_path):
    assert baton("sweep", lossy, *AXES, "--seeds", 2, "--out", "out").returncode == 0
    more = baton("sweep", lossy, *AXES, "--seeds", 4, "--out", "out", "--resume", "--json")
    assert [point["runs"] for point in json.loads(more.stdout)["points"]] == [4] * 4, "more seeds are no change"

    other = baton("sweep", lossy, *AXES[:2], "--seeds", 2, "--out", "out", "--resume")
    assert other.returncode == 2
    assert "points: " in other.stderr

    text = lossy.read_text()
    lossy.write_text(text.replace('delay = "5 ms"', 'delay = "6 ms"'))
    changed = baton("sweep", lossy, *AXES, "--seeds", 4, "--out", "out", "--resume")
    assert changed.returncode == 2
    assert 'then delay = "5 ms"' in changed.stderr
    assert 'now delay = "6 ms"' in changed.stderr
    lossy.write_text(text)

    file = tmp_path / "out" / "sweep.json"
    kept = json.loads(file.read_text())
    file.write_text(json.dumps(kept | {"version": "0.0.9"}))
    older = baton("sweep", lossy, *AXES, "--seeds", 4, "--out", "out", "--resume")
    assert older.returncode == 2
    assert "version: 0.0.9" in older.stderr
    assert len(rows(tmp_path / "out")) == 16, "refused, and nothing is lost"


def test_a_trace_that_has_changed_is_noticed(baton, lossy, tmp_path):
    trace = tmp_path / "rate.csv"
    trace.write_text("time_s,rate_bps\n0,1000000\n2,500000\n")
    link = 'kind = "trace"\nrecording = { kind = "csv", file = "rate.csv" }'
    lossy.write_text(lossy.read_text().replace(LOSS, link).replace('delay = "5 ms"\n', ""))
    begun = baton("sweep", lossy, "--seeds", 2, "--out", "out")
    assert begun.returncode == 0, begun.stderr
    trace.write_text("time_s,rate_bps\n0,1000000\n2,600000\n")
    process = baton("sweep", lossy, "--seeds", 4, "--out", "out", "--resume")
    assert process.returncode == 2
    assert "trace rate.csv: its content has changed" in process.stderr


def test_what_is_in_the_way_is_kept(baton, lossy, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for options in ([], ["--force"], ["--resume"]):
        assert baton("sweep", lossy, "--seeds", 1, "--out", "mine", *options).returncode == 2
    assert baton("sweep", lossy, "--seeds", 1, "--out", "out").returncode == 0
    again = baton("sweep", lossy, "--seeds", 1, "--out", "out")
    assert again.returncode == 2
    assert "--resume" in again.stderr
    assert "--force" in again.stderr
    assert baton("sweep", lossy, "--seeds", 1, "--out", "out", "--force").returncode == 0


def test_a_disk_that_is_full_is_told_and_what_was_kept_is_resumed(baton, lossy, tmp_path):
    import resource

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    process = baton("sweep", lossy, "--seeds", 30, "--out", "out", preexec_fn=small_files)
    assert process.returncode == 1
    assert "cannot be written" in process.stderr
    assert "--resume" in process.stderr
    resumed = baton("sweep", lossy, "--seeds", 30, "--out", "out", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert len(rows(tmp_path / "out")) == 30


def test_a_point_stops_when_its_interval_is_narrow(baton, lossy, tmp_path):
    sweep = ("sweep", lossy, "--set", "links.lan.packet_error_rate=0.0,0.05", "--seeds", 40, "--until-width", "4%")
    for jobs in (1, 3):
        assert baton(*sweep, "--jobs", jobs, "--out", f"out-{jobs}").returncode == 0
    calm, noisy = statistics(tmp_path / "out-1")["points"]
    assert (calm["runs"], calm["stopped_early"]) == (10, True), "no seed matters without losses"
    assert noisy["runs"] > 10
    told = noisy["quantities"]["flows.download.goodput_bps"]
    if noisy["stopped_early"]:
        assert (told["high"] - told["low"]) / told["mean"] <= 0.04
    for name in ("runs.parquet", "statistics.json"):
        assert (tmp_path / "out-1" / name).read_bytes() == (tmp_path / "out-3" / name).read_bytes()


@pytest.mark.parametrize("width", ["wide", "0", "-5%", "flows.upload.goodput_bps=5%"])
def test_a_width_that_is_none_is_refused(baton, lossy, width):
    process = baton("sweep", lossy, "--until-width", width, "--seeds", 1)
    assert process.returncode == 2
    assert process.stderr.startswith("baton: ")


def test_a_study_file(baton, lossy, tmp_path):
    (tmp_path / "study.toml").write_text(
        """\
scenario = "short.toml"
seeds = 2
[set]
flows.download.transport.congestion = ["reno", "cubic"]
links.lan.queue = "15 packets"
[[variants]]
name = "near"
set = { links.lan.delay = "1 ms", links.modem.delay = "20 ms" }
[[variants]]
name = "far"
set = { links.lan.delay = "50 ms", links.modem.delay = "300 ms" }
"""
    )
    process = baton("sweep", "study.toml", "--json")
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout)
    assert found["name"] == "study"
    assert [tuple(point["set"].values()) for point in found["points"]] == [
        ("near", "reno"), ("near", "cubic"), ("far", "reno"), ("far", "cubic"),
    ]  # fmt: skip
    told = json.loads((tmp_path / "results" / "study-sweep" / "sweep.json").read_text())["points"]
    assert 'delay = "300 ms"' in told[2]["resolved"]
    assert 'queue = "15 packets"' in told[2]["resolved"]
    narrower = baton(
        "sweep", "study.toml", "--seeds", 1, "--set", "flows.download.transport.congestion=reno", "--out", "o", "--json"
    )
    assert [point["set"] for point in json.loads(narrower.stdout)["points"]] == [
        {"variant": "near"},
        {"variant": "far"},
    ]


def test_the_scenario_of_the_readme_takes_cubic_and_bbr(baton, tmp_path):
    [walk] = [each for each in read(ROOT / "README.md") if each.save_as == "walk.toml"]
    (tmp_path / "walk.toml").write_text(walk.text)
    process = baton(
        "sweep",
        "walk.toml",
        "--set",
        "flows.download.transport.congestion=cubic,bbr",
        "--set",
        "duration=5 s",
        "--seeds",
        1,
    )
    assert process.returncode == 0, process.stderr + process.stdout


def test_a_variant_makes_a_hard_handover_soft(baton, lossy, tmp_path):
    soft = '"mobiles.laptop.timetable.1" = { at = "2 s", attach = "modem", handover = "soft" }'
    scenario = tmp_path / "short.toml"
    text = scenario.read_text()
    scenario.write_text(text.replace('handover = "soft"', 'handover = "hard", outage = "300 ms"'))
    (tmp_path / "study.toml").write_text(
        f'scenario = "short.toml"\nseeds = 1\n[[variants]]\nname = "hard"\nset = {{ duration = "9 s" }}\n'
        f'[[variants]]\nname = "soft"\nset = {{ {soft} }}\n'
    )
    process = baton("sweep", "study.toml", "--json")
    assert process.returncode == 0, process.stderr
    runs = (tmp_path / "results" / "study-sweep" / "runs.jsonl").read_text().splitlines()
    kinds = {run["point"]: run["summary"]["handovers"][0]["kind"] for run in map(json.loads, runs)}
    assert kinds == {0: "hard", 1: "soft"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('scenario = "short.toml"\nsedes = 3', "did you mean `seeds`?"),
        ('scenario = "short.toml"\nseeds = 0', "a whole number from 1"),
        ('scenario = "nowhere"', "nowhere: no such file"),
        ('scenario = "short.toml"\nset.links.lan.rate = []', "is empty"),
        ('scenario = "short.toml"\nset.links.lan.rate = ["1 Mbit/s", "1 Mbit/s"]', "given twice"),
        ('scenario = "short.toml"\nset.seed = [1, 2]', "--seeds"),
        ('scenario = "short.toml"\nvariants = [{ name = "a" }]', "expected a name and a table `set`"),
    ],
)
def test_what_is_wrong_with_a_study_is_said(baton, lossy, tmp_path, text, message):
    (tmp_path / "study.toml").write_text(text)
    process = baton("sweep", "study.toml")
    assert process.returncode == 2
    assert message in process.stderr
    assert "Traceback" not in process.stderr
