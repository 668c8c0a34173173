"""Congestion controls written in Python."""

import json
import re
import traceback
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import baton
import baton.tcp
from conftest import SCENARIO

PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "write-a-congestion-control.md"
RENO = re.search(r"```python\n(class Reno.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
FLAKY = (
    RENO
    + """

class Flaky(Reno):
    def on_loss(self, loss):
        raise RuntimeError(f"no idea what to do at {loss.now:.1f} s")


class Shrinking(Reno):
    def on_loss(self, loss):
        self.window = 0


class Wordy(Reno):
    def on_loss(self, loss):
        self.window = "large"


class Lost(Reno):
    def on_acknowledged(self, sample):
        self.window = float("nan")


class Leaving(Reno):
    def on_loss(self, loss):
        raise SystemExit(0)


class Unheard(Reno):
    def on_loss(self, loss):
        import os

        reading, writing = os.pipe()
        os.close(reading)
        os.write(writing, b"lost")


class Endless(Reno):
    def on_loss(self, loss):
        def deeper(_):
            return sorted([1], key=deeper)

        deeper(0)


class Unready(Reno):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        del self.window


class Partial:
    def on_loss(self, loss):
        pass
"""
)
USE = "flows.download.transport.congestion=python:mine."


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(FLAKY)
    return tmp_path


def scenario(folder, name, *overrides):
    return baton.Scenario.parse(SCENARIO, folder, [USE + name, *overrides])


@pytest.mark.parametrize("loss", ["0", "0.01"])
@pytest.mark.parametrize("profile", ["rfc", "ns2"])
def test_reno_in_python_is_the_built_in_reno(folder, profile, loss):
    more = [f"flows.download.transport.profile={profile}", f"links.lan.packet_error_rate={loss}", "duration=30 s"]
    mine = scenario(folder, "Reno", *more).run()
    built_in = baton.Scenario.parse(SCENARIO, folder, ["flows.download.transport.congestion=reno", *more]).run()
    assert mine.summary["flows"][0]["retransmitted"] > 0
    assert pa.table(mine.series).equals(pa.table(built_in.series))
    assert pa.table(mine.packets).equals(pa.table(built_in.packets))


def test_an_exception_ends_the_run_with_its_traceback(folder):
    made = scenario(folder, "Flaky")
    with pytest.raises(RuntimeError, match=r"no idea what to do at \d\.\d s") as raised:
        made.run(folder / "run")
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (Path(last.filename).name, last.name) == ("mine.py", "on_loss")
    assert not (folder / "run").exists()
    # Its leftovers do not reach the next run.
    assert scenario(folder, "Reno").run().complete


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("Shrinking", ValueError, "Shrinking.window is 0; expected at least 1 byte"),
        ("Unready", AttributeError, "window"),
        ("Wordy", TypeError, "Wordy.window is of type str; expected a number of bytes"),
        ("Lost", ValueError, "Lost.window is NaN; expected at least 1 byte"),
        ("Leaving", SystemExit, "0"),
        ("Endless", RecursionError, "maximum recursion depth exceeded"),
    ],
)
def test_a_window_that_is_none_ends_the_run(folder, name, error, message):
    with pytest.raises(error, match=message):
        scenario(folder, name).run()


def test_the_command_line_runs_it_from_beside_the_scenario(baton, folder):
    (folder / "short.toml").write_text(SCENARIO)
    assert baton("run", "short.toml", "--set", USE + "Reno").returncode == 0
    failed = baton("run", "short.toml", "--set", USE + "Flaky", "--force")
    assert failed.returncode == 1
    assert 'mine.py", line' in failed.stderr
    assert "RuntimeError: no idea what to do" in failed.stderr


def test_a_control_does_not_end_the_command_line_as_if_all_were_well(baton, folder):
    (folder / "short.toml").write_text(SCENARIO)
    process = baton("run", "short.toml", "--set", USE + "Leaving", "--json")
    assert process.returncode == 1
    assert json.loads(process.stdout)["error"]["message"] == "the run was ended by SystemExit: 0"
    assert 'mine.py", line' in process.stderr


def test_a_pipe_of_a_control_that_breaks_is_not_taken_for_standard_output(baton, folder):
    (folder / "short.toml").write_text(SCENARIO)
    process = baton("run", "short.toml", "--set", USE + "Unheard")
    assert process.returncode == 1
    assert 'mine.py", line' in process.stderr
    assert "BrokenPipeError" in process.stderr


def test_a_control_without_an_end_does_not_take_a_sweep_along(baton, folder):
    """Python stops it when it is some hundred calls deep in C, which takes several MB of stack."""
    (folder / "short.toml").write_text(SCENARIO)
    values = "flows.download.transport.congestion=python:mine.Endless,python:mine.Leaving,reno"
    process = baton("sweep", "short.toml", "--set", values, "--seeds", 2, "--out", "out", "--json")
    assert process.returncode == 1, process.stderr
    reasons = [failure["reason"] for failure in json.loads(process.stdout)["failures"]]
    for reason, words in zip(reasons, ["RecursionError"] * 2 + ["SystemExit: 0"] * 2, strict=True):
        assert words in reason


def test_a_sweep_runs_it_and_lists_what_it_raises(baton, folder):
    # `Reno` is that of the RFCs, without what Linux adds.
    (folder / "short.toml").write_text(SCENARIO.replace('to = "laptop"', 'to = "laptop"\ntransport.profile = "rfc"', 1))
    values = "flows.download.transport.congestion=python:mine.Flaky,python:mine.Reno,reno"
    process = baton("sweep", "short.toml", "--set", values, "--seeds", 3, "--jobs", 2, "--out", "out", "--json")
    assert process.returncode == 1, process.stderr
    found = json.loads(process.stdout)
    assert [(failure["point"], failure["seed"]) for failure in found["failures"]] == [(0, 1), (0, 2), (0, 3)]
    traceback, *_, last = (reason := found["failures"][0]["reason"]).splitlines()
    assert traceback == "Traceback (most recent call last):"
    assert re.search(r'mine\.py", line \d+, in on_loss\n +raise RuntimeError', reason)
    assert re.fullmatch(r"RuntimeError: no idea what to do at \d+\.\d s", last)
    # In the terminal the way there, which all share, stands once.
    told = baton("sweep", "short.toml", "--set", values, "--seeds", 3, "--out", "again").stdout
    assert told.count("Traceback") == told.count("in on_loss") == 1
    assert told.count("FAILED") == told.count("RuntimeError: no idea") == 3
    # The others ran on the same threads, and what was raised there before did not reach them.
    runs = pq.read_table(folder / "out" / "runs.parquet").to_pylist()
    figures = {(run["point"], run["seed"]): run["flows.download.delivered_bytes"] for run in runs}
    assert [figures[1, seed] for seed in (1, 2, 3)] == [figures[2, seed] for seed in (1, 2, 3)]


def test_what_is_no_congestion_control_is_said(folder):
    (folder / "broken.py").write_text("import nowhere_to_be_found\n")
    cases = [
        ("python:mine.Ren", '"python:mine.Ren" cannot be found: mine has no class `Ren`; did you mean `Reno`?'),
        ("python:mine.Partial", "is not a congestion control: it lacks on_acknowledged, on_timeout, on_idle_restart"),
        ("python:absent_module.Reno", "cannot be imported: ModuleNotFoundError: No module named 'absent_module'"),
        ("python:broken.Reno", "cannot be imported: ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        (
            "python:mine",
            '"python:mine" does not name a class in a module; expected "reno", "newreno", "cubic", "bbr", "westwood", '
            '"scalable", "bic", "vegas", "hybla", or "python:',
        ),
        ("cubik", 'unknown congestion "cubik"; did you mean "cubic"? (valid: reno, newreno, cubic, bbr, westwood, '),
    ]
    for name, message in cases:
        with pytest.raises(baton.ScenarioError) as raised:
            baton.Scenario.parse(SCENARIO, folder, [f"flows.download.transport.congestion={name}"])
        assert "flows.download.transport.congestion: " in str(raised.value)
        assert message in str(raised.value)
    with pytest.raises(baton.ScenarioError, match="runs only in a scenario that Python runs"):
        baton.tcp.Connection.connect("10.0.0.1:1", "10.0.0.2:2", now=0, congestion="python:mine.Reno")


def test_an_edited_module_is_read_anew(folder):
    first = scenario(folder, "Reno").run().summary["flows"][0]["delivered_bytes"]
    (folder / "mine.py").write_text(RENO.replace("self.window += ", "self.window += 0 * "))
    second = scenario(folder, "Reno").run().summary["flows"][0]["delivered_bytes"]
    assert second < first
