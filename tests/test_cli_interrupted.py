"""Tests of the remains of a run that did not come to its end."""

import json
import resource
import signal
import subprocess
import sys
import time

import pytest

LONG = ("--set", "duration=100 h")


@pytest.fixture
def long_run(scenario, tmp_path):
    """A run that would take far too long, already writing."""
    command = [sys.executable, "-m", "baton", "run", str(scenario), "--out", "out", *LONG]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".partial-*/*")) and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    yield process
    process.kill()
    process.communicate()


def test_ctrl_c_keeps_what_there_is_and_says_so(long_run, tmp_path):
    long_run.send_signal(signal.SIGINT)
    stdout, stderr = long_run.communicate(timeout=60)
    assert long_run.returncode == 130, stderr
    assert "Interrupted" in stdout
    assert "Traceback" not in stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["complete"] is False
    assert 0 < manifest["simulated_s"] < 360_000
    assert (tmp_path / "out" / "report.html").is_file()
    assert not list(tmp_path.glob(".partial-*"))


def test_kill_leaves_nothing_that_looks_whole(long_run, tmp_path):
    long_run.kill()
    long_run.communicate()
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_reported_and_leaves_nothing(baton, scenario, tmp_path):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    process = baton("run", scenario, "--out", "out", "--json", preexec_fn=small_files)
    assert process.returncode == 1
    assert json.loads(process.stdout)["error"]["exit_status"] == 1
    assert "Traceback" not in process.stderr
    assert not (tmp_path / "out").exists()


def test_a_disk_that_is_full_when_the_report_comes_keeps_the_data(baton, scenario, tmp_path):
    def room_for_the_data():
        # The tables of so short a run, without packets, are small; the page holds the code that draws it.
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    process = baton("run", scenario, "--out", "out", "--set", "record.packets=false", preexec_fn=room_for_the_data)
    assert process.returncode == 1
    assert "report.html: cannot be written: " in process.stderr
    assert "Traceback" not in process.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"manifest.json", "summary.json", "series.parquet"}


def test_two_runs_into_one_folder_do_not_mix(baton, scenario, long_run):
    process = baton("run", scenario, "--out", "out")
    assert process.returncode == 2
    assert "out: another run is writing there" in process.stderr
    assert long_run.poll() is None


def test_a_place_that_cannot_be_a_folder_is_reported(baton, scenario):
    process = baton("run", scenario, "--out", "short.toml/out")
    assert process.returncode == 1
    assert "short.toml/out: Not a directory" in process.stderr
    assert "Traceback" not in process.stderr
