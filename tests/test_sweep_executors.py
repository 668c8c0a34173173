"""Sweeps on executors: byte for byte those of one thread, whatever becomes of the workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

import pytest

from baton import InputError, RunError, Scenario, sweep
from baton.sweep import engines

LOSS = 'kind = "wired"\nrate = "2 Mbit/s"\npacket_error_rate = 0.01'
AXES = ("--set", "flows.download.transport.congestion=reno,cubic", "--set", "links.lan.rate=1 Mbit/s,2 Mbit/s")
SAME = {"flows.download.transport.congestion": ["reno", "cubic"]}
CONTROL = """\
class Steady:
    def __init__(self, segment_size, initial_window, initial_slow_start_threshold):
        self.window, self.slow_start_threshold = 8 * segment_size, initial_slow_start_threshold

    def on_acknowledged(self, sample):
        pass

    def on_loss(self, loss):
        pass

    on_timeout = on_idle_restart = on_loss
"""


@pytest.fixture
def lossy(scenario):
    """The short scenario with a link that loses packets, so that seeds differ."""
    scenario.write_text(scenario.read_text().replace('kind = "wired"\nrate = "2 Mbit/s"', LOSS))
    return scenario


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and two worker processes of Dask on this machine."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'baton-handover[dask]'")
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=2, **options) as running:
        yield running


def address(cluster):
    return cluster.scheduler_address.replace("tcp://", "dask://")


@contextmanager
def running(*command, **options) -> Iterator[subprocess.Popen]:
    """Starts a process, and kills it in the end if it still is there."""
    with subprocess.Popen([sys.executable, "-m", *map(str, command)], **options) as process:
        try:
            yield process
        finally:
            process.kill()


def looks(process) -> Iterator[None]:
    """Yields again and again while a process runs, for two minutes at most."""
    deadline = time.monotonic() + 120
    while process.poll() is None:
        assert time.monotonic() < deadline, process.args
        yield
        time.sleep(0.01)


def contents(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_dask_cluster_makes_the_same_bytes_though_its_workers_are_killed(baton, lossy, cluster, tmp_path):
    arguments = ("sweep", lossy, *AXES, "--set", "duration=20 s", "--seeds", 20)
    assert baton(*arguments, "--jobs", 1, "--out", "one").returncode == 0
    options = {"cwd": tmp_path, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    log, killed = tmp_path / "dask" / "runs.jsonl", []
    with running("baton", *arguments, "--executor", address(cluster), "--out", "dask", **options) as process:
        for _ in looks(process):
            if len(killed) == 2:
                break
            if log.exists() and log.read_bytes().count(b"\n") >= 4 * (len(killed) + 1):
                alive = {each.process.pid for each in cluster.workers.values()} - {None, *killed}
                if alive:
                    killed.append(alive.pop())
                    os.kill(killed[-1], signal.SIGKILL)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert len(set(killed)) == 2, "both workers, or one and the one in its place"
    assert contents(tmp_path / "dask") == contents(tmp_path / "one")


def test_a_cluster_goes_on_where_threads_were_interrupted(baton, lossy, cluster, tmp_path):
    arguments = ("sweep", lossy, *AXES, "--out", "out")
    assert baton(*arguments, "--seeds", 2).returncode == 0
    assert baton(*arguments, "--seeds", 5, "--resume", "--executor", address(cluster)).returncode == 0
    assert baton("sweep", lossy, *AXES, "--seeds", 5, "--jobs", 1, "--out", "one").returncode == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "one")


def with_class_and_recording(lossy):
    """Adds a class in Python and a recorded link to the scenario."""
    (lossy.parent / "mine.py").write_text(CONTROL)
    (lossy.parent / "rate.csv").write_text("time_s,rate_bps\n0,1000000\n2,500000\n")
    link = 'kind = "trace"\nrecording = { kind = "csv", file = "rate.csv" }'
    text = lossy.read_text().replace(LOSS, link).replace('delay = "5 ms"\n', "")
    lossy.write_text(
        text.replace('name = "download"', 'name = "download"\ntransport.congestion = "python:mine.Steady"')
    )


def test_recordings_and_classes_travel_by_content(baton, lossy, cluster, tmp_path):
    with_class_and_recording(lossy)
    arguments = ("sweep", lossy, "--set", "links.modem.rate=100 kbit/s,200 kbit/s", "--seeds", 3)
    assert baton(*arguments, "--jobs", 1, "--out", "one").returncode == 0
    there = baton(*arguments, "--executor", address(cluster), "--out", "dask")
    assert there.returncode == 0, there.stderr
    assert contents(tmp_path / "dask") == contents(tmp_path / "one")


def test_a_run_that_fails_is_kept_apart_with_its_seed_and_reason(baton, lossy, cluster, tmp_path):
    with_class_and_recording(lossy)
    (tmp_path / "mine.py").write_text(CONTROL.replace("pass", 'raise ValueError("no idea")'))
    arguments = ("sweep", lossy, "--set", "flows.download.transport.congestion=python:mine.Steady,reno", "--seeds", 2)
    one = baton(*arguments, "--jobs", 1, "--out", "one", "--json")
    there = baton(*arguments, "--executor", address(cluster), "--out", "dask", "--json")
    assert (one.returncode, there.returncode) == (1, 1), there.stderr
    failures = json.loads(there.stdout)["failures"]
    assert [(each["point"], each["seed"]) for each in failures] == [(0, 1), (0, 2)]
    assert all('File "mine.py", line 6, in on_acknowledged' in each["reason"] for each in failures), (
        "by its name beside the scenario"
    )
    assert contents(tmp_path / "dask") == contents(tmp_path / "one")


def test_a_worker_of_another_version_is_named(baton, lossy, cluster, tmp_path):
    distributed = pytest.importorskip("distributed")

    def age():
        import baton._baton

        baton._baton.build_commit = lambda: "0ld"

    with distributed.Client(cluster) as client:
        client.run(age)
        try:
            process = baton("sweep", lossy, "--seeds", 2, "--executor", address(cluster))
        finally:
            client.restart()
    assert process.returncode == 2
    assert "worker tcp://127.0.0.1:" in process.stderr
    assert "of commit 0ld, and this command" in process.stderr
    assert "install the same version" in process.stderr
    assert not (tmp_path / "results").exists()


def test_a_call_on_a_worker_of_another_version_is_refused():
    with pytest.raises(InputError, match="process [0-9]+: has Baton .*, and this command 0.0.1; results could differ"):
        engines.call(("0.0.1", None), max, 1, 2)


def test_python_takes_a_client_and_any_executor(lossy, cluster):
    distributed = pytest.importorskip("distributed")
    loaded = Scenario.load(lossy)
    expected = sweep.run(loaded, SAME, seeds=3, jobs=1)
    with distributed.Client(cluster) as client:
        found = [sweep.run(loaded, SAME, seeds=3, executor=each) for each in (client, client.get_executor())]
    with ThreadPoolExecutor(2) as threads:
        found.append(sweep.run(loaded, SAME, seeds=3, executor=threads))
    for each in found:
        assert each.runs.equals(expected.runs)
        assert each.statistics == expected.statistics


def test_processes_make_the_same_and_a_broken_pool_is_told(lossy):
    with_class_and_recording(lossy)
    loaded, axes = Scenario.load(lossy), {"links.modem.rate": ["100 kbit/s", "200 kbit/s"]}
    expected = sweep.run(loaded, axes, seeds=3, jobs=1)
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        assert sweep.run(loaded, axes, seeds=3, executor=processes).runs.equals(expected.runs)
        os.kill(next(iter(processes._processes)), signal.SIGKILL)
        with pytest.raises(RunError, match="makes no more runs .BrokenProcessPool.*start its workers again"):
            sweep.run(loaded, {"duration": ["30 s", "40 s"]}, seeds=50, executor=processes)


def test_a_run_whose_worker_is_lost_is_listed_and_not_kept(lossy):
    class Forgetful(ThreadPoolExecutor):
        """An executor that loses one call for good."""

        calls = 0

        def submit(self, function, /, *arguments):
            self.calls += 1
            if self.calls != 3:
                return super().submit(function, *arguments)
            lost = Future()
            lost.set_exception(MemoryError("no memory on the worker"))
            return lost

    with Forgetful(2) as executor:
        found = sweep.run(lossy, SAME, seeds=3, executor=executor)
    assert len(found.runs) == 5
    assert found.statistics["failures"] == [{"point": 0, "seed": 2, "reason": "MemoryError: no memory on the worker"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--executor", "dsak://127.0.0.1:8786"),
            "--executor dsak://127.0.0.1:8786: no such executor; expected dask://",
        ),
        (("--executor", "dask://127.0.0.1"), "expected dask://HOST:PORT, as in"),
        (("--executor", "dask://127.0.0.1:99999"), "expected dask://HOST:PORT, as in"),
        (("--executor", "dask://127.0.0.1:8786", "--jobs", "2"), "--jobs: counts the threads on this machine"),
        (("--shard", "0/4"), "--shard 0/4: expected i/N with i from 1 to N"),
        (("--shard", "5/4"), "--shard 5/4: expected i/N with i from 1 to N"),
        (("--shard", "2"), "--shard 2: expected i/N with i from 1 to N"),
        (("--shard", "1/2", "--until-width", "5%"), "--until-width: looks at all runs of a point"),
    ],
)
def test_wrong_options_are_explained(baton, lossy, options, message):
    process = baton("sweep", lossy, "--seeds", 1, *options)
    assert process.returncode == 2
    assert message in process.stderr


def test_a_scheduler_that_does_not_answer_is_told(baton, lossy, tmp_path):
    pytest.importorskip("distributed", reason="dask is not installed: pip install 'baton-handover[dask]'")
    process = baton("sweep", lossy, "--seeds", 1, "--executor", "dask://127.0.0.1:1")
    assert process.returncode == 2
    assert "no scheduler answers there" in process.stderr
    assert "dask scheduler" in process.stderr
    assert not (tmp_path / "results").exists()


def test_a_scheduler_that_dies_ends_the_sweep_and_what_was_kept_is_resumed(baton, lossy, tmp_path):
    pytest.importorskip("distributed", reason="dask is not installed: pip install 'baton-handover[dask]'")
    file = tmp_path / "scheduler.json"
    quiet = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    begin = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    with running(*begin, "--scheduler-file", file, **quiet) as scheduler:
        for _ in looks(scheduler):
            if file.exists():
                break
        where = json.loads(file.read_text())["address"]
        help_ = ("distributed.cli.dask_worker", where, "--nthreads", "1", "--no-dashboard", "--no-nanny")
        arguments = ["sweep", str(lossy), "--set", "duration=30 s", "--seeds", "40", "--out", "out"]
        command = ("baton", *arguments, "--executor", where.replace("tcp://", "dask://"))
        options = {"cwd": tmp_path, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with running(*help_, **quiet), running(*command, **options) as process:
            log = tmp_path / "out" / "runs.jsonl"
            for _ in looks(process):
                if log.exists() and log.read_bytes().count(b"\n") >= 2:
                    break
            scheduler.kill()
            _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "the executor makes no more runs" in errors
    assert "--resume" in errors
    assert "Traceback" not in errors
    assert 2 <= log.read_bytes().count(b"\n") < 40
    assert baton(*arguments, "--resume").returncode == 0
    assert log.read_bytes().count(b"\n") == 40


def test_an_executor_that_is_none_is_refused(lossy):
    with pytest.raises(InputError, match="executor: is a int; expected dask://HOST:PORT"):
        sweep.run(lossy, SAME, seeds=1, executor=3)


def test_a_study_is_reproduced_alike_on_a_cluster(baton, cluster):
    here = baton("reproduce", "T1", "--json")
    there = baton("reproduce", "T1", "--json", "--executor", address(cluster))
    assert there.returncode == 0, there.stderr
    assert json.loads(there.stdout)["checks"] == json.loads(here.stdout)["checks"]
