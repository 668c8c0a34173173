"""Live runs in which a class in Python chooses the link."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# The class takes a strong access point, as the how-to has it, and waits for nothing but what its links say and 100 ms.
CLASSES = """
import os, time
from baton.crosslayer import Decision


class Strong:
    def on_event(self, event, mobile):
        wifi = mobile.links["wifi"]
        strong = wifi.up and wifi.received_dbm is not None and wifi.received_dbm > -78
        wanted = "wifi" if strong else "satellite"
        with open(os.environ["SEEN"], "a") as file:
            print(event.name, event.link, mobile.now, mobile.in_use, mobile.position_m, wifi, file=file)
        if wanted != mobile.in_use and mobile.links[wanted].up:
            return Decision.Use(wanted, soft=False, outage=0.1)
        return Decision.AskAgain(after=0.1)


class Slow(Strong):
    def on_event(self, event, mobile):
        if event.name == "Asked":
            time.sleep(0.05)
        return super().on_event(event, mobile)


class Broken(Strong):
    def on_event(self, event, mobile):
        if mobile.now > 1:
            raise RuntimeError("no decision")
        return super().on_event(event, mobile)


class BrokenAtOnce:
    def on_event(self, event, mobile):
        raise RuntimeError("no first link")


class Hangs(Strong):
    def on_event(self, event, mobile):
        if mobile.now > 1:
            time.sleep(60)
        return super().on_event(event, mobile)


class Wrong(Strong):
    def on_event(self, event, mobile):
        return Decision.Use("moon") if mobile.now > 1 else super().on_event(event, mobile)


class Exits(Strong):
    def on_event(self, event, mobile):
        if mobile.now > 1:
            os._exit(7)
        return super().on_event(event, mobile)
"""
SCENARIO = """
name = "valley"
duration = "10 s"

[lines.valley]

[links.satellite]
between = ["server", "train"]
kind = "wired"
rate = "2 Mbit/s"
delay = "60 ms"

[links.wifi]
between = ["server", "train"]
kind = "wifi"
delay = "10 ms"
coverage = { from = "1.4 km", to = "1.6 km", spacing = "780 m" }

[mobiles.train]
track = { along = "valley", speed = "900 km/h" }
decision = { class = "python:mine.Strong", links = ["satellite", "wifi"] }

[[flows]]
name = "download"
from = "server"
to = "train"
"""

pytestmark = pytest.mark.live


@pytest.fixture
def baton(tmp_path: Path, monkeypatch):
    """Runs a command on the scenario with a class; the folder has what the class saw."""
    (tmp_path / "mine.py").write_text(CLASSES)
    (tmp_path / "valley.toml").write_text(SCENARIO)

    def run(name: str, command: str, *more: str) -> subprocess.CompletedProcess:
        monkeypatch.setenv("SEEN", str(tmp_path / f"{command}.seen"))
        chosen = ["--set", f"mobiles.train.decision.class=python:mine.{name}"]
        words = [sys.executable, "-m", "baton", command, "valley.toml", "--json", "--out", command, *chosen, *more]
        return subprocess.run(
            words, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
        )

    return run


def handovers(process: subprocess.CompletedProcess) -> list[tuple[str, str, str]]:
    records = json.loads(process.stdout)["handovers"]
    return [(record["from"], record["to"], record["kind"]) for record in records]


def times(process: subprocess.CompletedProcess) -> list[float]:
    return [record["at_s"] for record in json.loads(process.stdout)["handovers"]]


def test_a_class_decides_as_in_a_simulated_run(baton, tmp_path):
    simulated, live = baton("Strong", "run"), baton("Strong", "live")
    assert (simulated.returncode, live.returncode) == (0, 0), simulated.stderr + live.stderr
    assert len(handovers(simulated)) == 2
    assert handovers(live) == handovers(simulated)
    late = [ours - theirs for ours, theirs in zip(times(live), times(simulated), strict=True)]
    assert all(0 <= each < 0.05 for each in late)
    seen = [(tmp_path / f"{command}.seen").read_text().splitlines() for command in ("run", "live")]
    # What it is asked is the same to the last digit, up to the first handover, which comes with the answer.
    same = next((place for place, pair in enumerate(zip(*seen, strict=False)) if pair[0] != pair[1]), None)
    first = next(place for place, line in enumerate(seen[0]) if float(line.split()[2]) >= times(simulated)[0])
    assert same is None or same > first > 10
    (decisions,) = json.loads(live.stdout)["live"]["decisions"]
    assert (decisions["mobile"], decisions["decision"]) == ("train", "mine.Strong")
    assert decisions["questions"] > 50


def test_answers_that_come_late_are_counted_and_shown(baton, tmp_path):
    process = baton("Slow", "live")
    assert process.returncode == 0, process.stderr
    assert len(handovers(process)) == 2
    (decisions,) = json.loads(process.stdout)["live"]["decisions"]
    # Each of the answers after 100 ms, and after 50 ms more of sleep.
    assert 30 <= decisions["late"] <= decisions["questions"]
    assert 50 <= decisions["longest_ms"] < 1000
    page = (tmp_path / "live" / "report.html").read_text()
    assert f"was late {decisions['late']} times (over 10 ms)" in page


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Broken", "RuntimeError: no decision"),
        ("BrokenAtOnce", "RuntimeError: no first link"),
        ("Wrong", 'ValueError: Wrong.on_event returned the link "moon"; expected one of: satellite, wifi'),
        ("Hangs", "mobile train: mine.Hangs has not answered for 5 s; expected an answer within 10 ms"),
    ],
)
def test_a_class_that_fails_ends_the_run(baton, tmp_path, name, told):
    process = baton(name, "live")
    assert process.returncode != 0
    assert told in process.stderr
    assert not (tmp_path / "live").exists()


def test_a_class_that_ends_its_process_leaves_nothing_behind(baton, tmp_path):
    process = baton("Exits", "live")
    assert process.returncode == 7
    assert not (tmp_path / "live").exists()


def test_a_class_from_elsewhere_needs_permission(baton, tmp_path):
    process = baton("Strong", "live", "--set", "mobiles.train.decision.class=python:json.JSONDecoder")
    assert process.returncode == 2
    assert "runs only with --allow-python" in process.stderr


def test_a_check_does_not_run_the_class(baton, tmp_path):
    (tmp_path / "mine.py").write_text(CLASSES + "\nraise SystemExit('this was run')\n")
    process = subprocess.run(
        [sys.executable, "-m", "baton", "check", "--live", "valley.toml"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (0, "valley: no mistakes found\n"), process.stderr
