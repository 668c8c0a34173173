"""The capacity of links under the goodput: that of recordings against files by hand, and never below the goodput."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import baton
from baton import report
from baton.report import describe
from baton.report.capacity import Capacities
from baton.report.tables import read_run

SCENARIO = """
name = "recorded"
duration = "6 s"
[links.radio]
between = ["server", "car"]
kind = "trace"
delay = "10 ms"
ABOVE
up = { rate = "1 Mbit/s" }
[links.radio.down]
RECORDING
[[flows]]
name = "download"
from = "server"
to = "car"
"""
MAHIMAHI = 'recording.kind = "mahimahi"\nrecording.file = "drive"'
CSV = 'recording.kind = "csv"\nrecording.file = "drive"'


def made(folder: Path, recording: str, content: str, above: str = "") -> Path:
    """A run over a link that a recording drives."""
    (folder / "drive").write_text(content)
    (folder / "recorded.toml").write_text(SCENARIO.replace("RECORDING", recording).replace("ABOVE", above))
    baton.Scenario.load(folder / "recorded.toml").run(folder / "run")
    return folder / "run"


def capacity(run: Path, edges: list[float]) -> list[float] | None:
    found = Capacities(read_run(run)).recorded("radio", "down", np.array(edges))
    return None if found is None else found.tolist()


# One packet of 1500 B each millisecond of the first second, none in the second one.
SECOND_ON_SECOND_OFF = "".join(f"{ms}\n" for ms in [*range(1, 1001), 2000])


def test_a_recording_of_opportunities_stands_still_and_repeats(tmp_path: Path) -> None:
    run = made(tmp_path, MAHIMAHI, SECOND_ON_SECOND_OFF)
    assert capacity(run, [0, 1, 1.9, 2, 3, 3.9]) == pytest.approx([12e6, 0, 12e6 / 1000 / 0.1, 12e6, 0])


def test_a_recording_that_ends_lets_nothing_pass(tmp_path: Path) -> None:
    run = made(tmp_path, MAHIMAHI + '\nrecording.at_end = "hold"', SECOND_ON_SECOND_OFF)
    assert capacity(run, [0, 1, 1.9, 2.5, 6]) == pytest.approx([12e6, 0, 12e3 / 0.6, 0])


def test_a_compressed_recording_is_drawn_from_where_the_run_began(tmp_path: Path) -> None:
    (tmp_path / "drive.gz").write_bytes(gzip.compress(SECOND_ON_SECOND_OFF.encode()))
    run = made(tmp_path, MAHIMAHI.replace("drive", "drive.gz"), "", above='start = "500 ms"')
    assert capacity(run, [0, 0.5, 1.4, 1.5, 2.5]) == pytest.approx([12e6, 0, 12e6 / 1000 / 0.1, 12e6])


@pytest.mark.parametrize(("at_end", "after"), [("repeat", [2e6, 0.5e6]), ("hold", [0.5e6, 0.5e6])])
def test_rates_hold_until_the_next_line(tmp_path: Path, at_end: str, after: list[float]) -> None:
    run = made(tmp_path, f'{CSV}\nrecording.at_end = "{at_end}"', "time_s,rate_bps\n10,2000000\n12,0\n13,500000\n")
    # The last line lasts as long as the one before it: a second. So the recording is one of four seconds.
    assert capacity(run, [0, 2, 3, 4, 6, 7][:4]) == pytest.approx([2e6, 0, 0.5e6])
    assert capacity(run, [4, 5])[0] == pytest.approx(after[0])


def test_the_capacity_stands_under_the_goodput_which_stays_below_it(tmp_path: Path) -> None:
    run = made(tmp_path, CSV, "time_s,rate_bps\n0,2000000\n2,0\n3,1000000\n4,1000000\n")
    (panel,) = [panel for panel in describe(read_run(run)).flows[0].panels if panel.title == "Goodput"]
    traces = {trace.name: trace for trace in panel.traces}
    most, got = traces["capacity of radio"], traces["over radio"]
    factor = {"kbit/s": 1e-3, "Mbit/s": 1e-6}[panel.unit]
    seconds = most.time_ns / 1e9
    assert set(most.value[(seconds >= 2.1) & (seconds < 2.9)]) == {0.0}
    assert most.value[0] == pytest.approx(2e6 * factor)
    assert most.dashed
    bits = np.cumsum(got.value[:-1] * np.diff(got.time_ns))
    assert np.all(bits <= np.cumsum(most.value[:-1] * np.diff(most.time_ns)) * (1 + 1e-9))
    assert bits[-1] > 0.5 * np.sum(most.value[:-1] * np.diff(most.time_ns)), "and comes near to it"


def test_another_file_of_the_same_name_is_not_drawn(tmp_path: Path) -> None:
    run = made(tmp_path, MAHIMAHI, SECOND_ON_SECOND_OFF)
    for file in tmp_path.rglob("drive*"):
        if file.is_file():
            file.write_text("1\n2\n")
    assert capacity(run, [0, 1]) is None
    assert "capacity of" not in report.write(run).read_text()


def test_a_constant_rate_is_that_of_the_scenario(tmp_path: Path) -> None:
    known = Capacities(read_run(made(tmp_path, MAHIMAHI, SECOND_ON_SECOND_OFF)))
    assert known.constant("radio", "up") == 1e6
    assert known.constant("radio", "down") is None
    assert known.constant("none", "up") is None
