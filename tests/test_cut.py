"""Scenarios in parts, on several threads, by the command line and from Python."""

import json
from pathlib import Path

import pytest

import baton
from baton import cli, parts

OFFICES = """
name = "offices"
duration = "2 s"
links.north = { between = ["server-1", "north"], kind = "wired", rate = "50 Mbit/s", delay = "0.2 ms" }
links.south = { between = ["south", "server-2"], kind = "wired", rate = "50 Mbit/s", delay = "0.2 ms" }
links.line = { between = ["north", "south"], kind = "wired", rate = "20 Mbit/s", delay = "15 ms" }
flows = [
  { name = "there", from = "server-1", to = "server-2", traffic = { kind = "bulk" } },
  { name = "back", from = "server-2", to = "server-1", traffic = { kind = "bulk" } },
]
record = { packets = true }
"""


@pytest.fixture
def offices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario file in the present folder."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "offices.toml"
    file.write_text(OFFICES)
    return file


def baton_command(*arguments: str) -> int:
    """Runs `baton` with these arguments and returns its exit status."""
    try:
        cli.app(list(arguments))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_check_shows_the_parts(offices: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert baton_command("check", str(offices), "--cut") == 0
    out = capsys.readouterr().out
    assert "parts of a run on threads: 2, at least 15 ms apart, cut at line\n" in out
    assert "  1: 50 % of the expected load, server-1, north\n" in out
    assert "  links with a delay of less than a millisecond: north, south\n" in out


def test_any_number_of_threads_gives_the_same_files(offices: Path) -> None:
    results = []
    for threads in (1, 2, 3):
        assert baton_command("run", str(offices), "--threads", str(threads), "--out", f"on-{threads}") == 0
        manifest = json.loads(Path(f"on-{threads}/manifest.json").read_text())
        assert manifest["parts"] == 2
        summary = json.loads(Path(f"on-{threads}/summary.json").read_text())
        assert summary.pop("wall_s") > 0
        assert 1 < summary["cut"]["most_speed_up"] <= 2
        results.append((manifest["results"], summary))
    assert results[0] == results[1] == results[2]
    assert {"series.parquet", "packets.parquet"} <= set(results[0][0])


def test_a_run_on_threads_is_repeated_on_threads(offices: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert baton_command("run", str(offices), "--threads", "2", "--out", "first") == 0
    assert baton_command("rerun", "first") == 0
    assert "packets.parquet" in capsys.readouterr().out


def test_python_has_the_parts_and_the_threads(offices: Path) -> None:
    scenario = baton.Scenario.load(offices)
    assert [part["names"] for part in scenario.cut["parts"]] == [["server-1", "north"], ["south", "server-2"]]
    whole, cut = scenario.run(), scenario.run(threads=2)
    assert whole.summary["flows"] == cut.summary["flows"]
    assert "cut" not in whole.summary
    with pytest.raises(baton.InputError, match="writes no captures"):
        scenario.run("captured", pcap=True, threads=2)


def test_a_scenario_that_is_not_cut_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert baton_command("run", "train", "--threads", "2", "--set", "duration=1 s") == 0
    told = capsys.readouterr().err
    assert "--threads: train is not cut and runs on one thread (a mobile's access links: " in told


def test_captures_and_threads_exclude_each_other(offices: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert baton_command("run", str(offices), "--threads", "2", "--pcap") == 2
    assert "--threads and --pcap" in capsys.readouterr().err
    assert not Path("results").exists()


def test_too_few_events_in_a_window_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    cut = {"parts": 2, "window_s": 0.015, "windows": 100, "most_speed_up": 1.2}
    parts.warn_after({"events": 20_000, "cut": cut})
    parts.warn_after({"events": 5})
    assert capsys.readouterr().err == ""
    parts.warn_after({"events": 19_900, "cut": cut})
    assert "a window of 15 ms had 199 events" in capsys.readouterr().err
