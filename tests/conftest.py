"""Shared by all tests."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from baton import classes, cli
from baton.live import emulator
from fake_emulator import Fake
from live_tests import until_quiet, why_not_here

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
traffic.kind = "constant"
traffic.rate = "16 kbit/s"
traffic.packet_size = "100 B"
"""


def pytest_configure(config):
    config.addinivalue_line("markers", "live: makes live runs; tests/live_tests.py has the rule")
    config.addinivalue_line("markers", "quiet: wants the machine for itself, as all that is live does")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("live"):
            item.add_marker("quiet")


def pytest_runtest_setup(item):
    if item.get_closest_marker("live") and (why := why_not_here()):
        pytest.skip(why)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Calls a live test as its rule says; others are called as ever."""
    if pyfuncitem.get_closest_marker("live") is None or "tmp_path" not in pyfuncitem.funcargs:
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: value for name, value in pyfuncitem.funcargs.items() if name in wanted}

    def call():
        try:
            pyfuncitem.obj(**arguments)
        except Exception as error:
            return error
        return None

    error, why = until_quiet(call, lambda error: error is not None, pyfuncitem.funcargs["tmp_path"])
    if why:
        pytest.skip(why)
    if error is not None:
        raise error
    return True


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
    """An emulator for live runs that only tells."""
    return Fake(tmp_path)


@pytest.fixture
def command(fake, monkeypatch, capfd):
    """Runs the command line to its end, in this process since that is faster; the emulator is the `fake`."""
    monkeypatch.chdir(fake.folder)
    monkeypatch.setattr(emulator, "places", lambda: [fake.script])

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["baton", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, ended.value.code, captured.out, captured.err)

    return run
