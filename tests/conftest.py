"""Shared by all tests."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from baton import classes, cli
from baton.live import batond
from fake_batond import Fake

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

# The same examples every time, and none fails because a machine was busy.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")

# A short run with two links, a handover and two flows.
SCENARIO = """\
name = "short"
description = "A download meets a handover"
duration = "4 s"

[links.lan]
between = ["server", "laptop"]
kind = "wired"
rate = "2 Mbit/s"
delay = "5 ms"
queue = "20 packets"

[links.modem]
between = ["server", "laptop"]
kind = "wired"
rate = "100 kbit/s"
delay = "100 ms"
queue = "10 packets"

[mobiles.laptop]
timetable = [
  { at = "0 s", attach = "lan" },
  { at = "2 s", attach = "modem", handover = "soft" },
]

[[flows]]
name = "download"
from = "server"
to = "laptop"

[[flows]]
name = "voice"
from = "laptop"
to = "server"
transport = "udp"
traffic = "constant"
rate = "16 kbit/s"
packet_size = "100 B"
"""


@pytest.fixture(autouse=True)
def classes_from_anywhere():
    """A test that runs a command in this process leaves its permission behind: the next begins as any program does."""
    classes.permit("anywhere")


@pytest.fixture
def scenario(tmp_path):
    """The path of a scenario that runs in a moment."""
    path = tmp_path / "short.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def baton(tmp_path):
    """Runs the command line in a folder of its own; returns the finished process."""

    def run(*arguments, **options):
        command = [sys.executable, "-m", "baton", *map(str, arguments)]
        options = {"cwd": tmp_path, "timeout": 120, **options}
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    return run


@pytest.fixture
def fake(tmp_path):
    """A daemon for live runs that only tells."""
    return Fake(tmp_path)


@pytest.fixture
def command(fake, monkeypatch, capfd):
    """Runs the command line to its end, in this process since that is faster; the daemon is one of its own, `fake`."""
    monkeypatch.chdir(fake.folder)
    monkeypatch.setattr(batond, "places", lambda: [fake.script])

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["baton", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, ended.value.code, captured.out, captured.err)

    return run
