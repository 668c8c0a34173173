"""Scenarios in parts, on several threads, by the command line and from Python."""

import json

import pytest

from baton import InputError, Scenario, parts

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
def offices(tmp_path):
    """The scenario file."""
    file = tmp_path / "offices.toml"
    file.write_text(OFFICES)
    return file


def test_check_shows_the_parts(baton, offices):
    process = baton("check", offices, "--cut")
    assert process.returncode == 0, process.stderr
    out = process.stdout
    assert "parts of a run on threads: 2, at least 15 ms apart, cut at line\n" in out
    assert "  1: 50 % of the expected load, server-1, north\n" in out
    assert "  links with a delay of less than a millisecond: north, south\n" in out


def test_any_number_of_threads_gives_the_same_files(baton, offices, tmp_path):
    results = []
    for threads in (1, 2, 3):
        process = baton("run", offices, "--threads", threads, "--out", f"on-{threads}")
        assert process.returncode == 0, process.stderr
        manifest = json.loads((tmp_path / f"on-{threads}" / "manifest.json").read_text())
        assert manifest["parts"] == 2
        summary = json.loads((tmp_path / f"on-{threads}" / "summary.json").read_text())
        assert summary.pop("wall_s") > 0
        assert 1 < summary["cut"]["most_speed_up"] <= 2
        results.append((manifest["results"], summary))
    assert results[0] == results[1] == results[2]
    assert {"series.parquet", "packets.parquet"} <= set(results[0][0])


def test_a_run_on_threads_is_repeated_on_threads(baton, offices):
    assert baton("run", offices, "--threads", 2, "--out", "first").returncode == 0
    again = baton("rerun", "first")
    assert again.returncode == 0, again.stderr
    assert "packets.parquet" in again.stdout


def test_python_has_the_parts_and_the_threads(offices, tmp_path):
    scenario = Scenario.load(offices)
    assert [part["names"] for part in scenario.cut["parts"]] == [["server-1", "north"], ["south", "server-2"]]
    whole, cut = scenario.run(), scenario.run(threads=2)
    assert whole.summary["flows"] == cut.summary["flows"]
    assert "cut" not in whole.summary
    with pytest.raises(InputError, match="writes no captures"):
        scenario.run(tmp_path / "captured", pcap=True, threads=2)


def test_a_scenario_that_is_not_cut_says_so(baton):
    process = baton("run", "train", "--threads", 2, "--set", "duration=1 s")
    assert process.returncode == 0
    assert "--threads: train is not cut and runs on one thread (a mobile's access links: " in process.stderr


def test_captures_and_threads_exclude_each_other(baton, offices, tmp_path):
    process = baton("run", offices, "--threads", 2, "--pcap")
    assert process.returncode == 2
    assert "--threads and --pcap" in process.stderr
    assert not (tmp_path / "results").exists()


def test_too_few_events_in_a_window_are_told(capsys):
    cut = {"parts": 2, "window_s": 0.015, "windows": 100, "most_speed_up": 1.2}
    parts.warn_after({"events": 2_000, "cut": cut})
    parts.warn_after({"events": 5})
    assert capsys.readouterr().err == ""
    parts.warn_after({"events": 1_900, "cut": cut})
    assert "a window of 15 ms had 19 events" in capsys.readouterr().err
