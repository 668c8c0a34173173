"""The GitHub action, run step by step as a runner does: its inputs in the environment, its outputs from files."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ACTION = Path(__file__).resolve().parent.parent / "action"
DESCRIBED = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
INSTALL, TEST = DESCRIBED["runs"]["steps"]
SCENARIO = """\
name = "walk"
duration = "12 s"
[links.wifi]
between = ["server", "laptop"]
kind = "wired"
rate = "8 Mbit/s"
delay = "10 ms"
[links.cellular]
between = ["server", "laptop"]
kind = "wired"
rate = "4 Mbit/s"
delay = "30 ms"
[mobiles.laptop]
timetable = [{ at = "0 s", attach = "wifi" }]
"""


@pytest.fixture
def run(tmp_path):
    """Runs the step of the test with inputs of a workflow; its status, its outputs, and its page."""
    (tmp_path / "walk.toml").write_text(SCENARIO)
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "page").write_bytes(bytes(2_000_000))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "temporary" / "baton").symlink_to(sys.prefix)

    def run(**inputs: str) -> tuple[int, dict[str, str], str, str]:
        files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        process = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", TEST["run"]],
            env={
                **os.environ,
                **{name: str(path) for name, path in files.items()},
                "RUNNER_TEMP": str(tmp_path / "temporary"),
                "GITHUB_ACTION_PATH": str(ACTION),
                **environment(TEST, inputs),
            },
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        return process.returncode, outputs, files["GITHUB_STEP_SUMMARY"].read_text(), process.stdout + process.stderr

    return run


def environment(step, inputs):
    """A step's environment with the inputs put in, as a runner does; those without a default must be given."""
    given = {name: described.get("default") for name, described in DESCRIBED["inputs"].items()} | inputs
    return {name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], text)
            for name, text in step["env"].items()}  # fmt: skip


WEB = f"{shlex.quote(sys.executable)} -m http.server 8000 --directory served"


@pytest.mark.live
def test_a_download_that_outlives_its_handover_passes(run, tmp_path):
    status, outputs, page, said = run(
        scenario="walk.toml",
        handover="1 s hard 500 ms\n",
        server=WEB,
        program="curl --silent --fail --output got http://server:8000/page\ncmp got served/page",
        expect="program.longest_stall_s < 5\n\nflows.0.longest_stall_s > 0.4",
    )
    assert (status, outputs["status"]) == (0, "0"), said
    assert (tmp_path / outputs["report"]).read_text().startswith("<!doctype html>")
    assert (tmp_path / outputs["junit"]).exists()
    assert "### Handover test: passed" in page
    # The client's own clock is not asked here: the outage alone takes half a second.
    assert re.search(r"\| 1\.0 s \| laptop \| wifi \| cellular \| hard \| 1\.\d s \|", page)
    assert "| `program.longest_stall_s < 5` | holds |  |" in page
    assert "| `flows.0.longest_stall_s > 0.4` | holds |  |" in page


@pytest.mark.live
def test_an_expectation_that_does_not_hold_fails_the_step_and_says_why(run):
    status, outputs, page, said = run(
        scenario="walk.toml",
        handover="1 s hard 500 ms",
        server=WEB,
        program="curl --silent --fail --output got http://server:8000/page",
        expect="program.longest_stall_s < 0.1",
    )
    assert (status, outputs["status"]) == (3, "3"), said
    assert "### Handover test: an expectation did not hold" in page
    assert re.search(r"\| `program\.longest_stall_s < 0\.1` \| failure \| .*0\.\d", page)
    assert "::error title=Handover test::an expectation did not hold" in said


@pytest.mark.live
def test_a_program_that_fails_and_a_scenario_that_is_wrong_fail_the_step(run):
    status, _, page, _ = run(scenario="walk.toml", handover="1 s soft", program="sleep 1.5; false")
    assert status == 4
    assert "### Handover test: the program failed" in page
    status, outputs, _, said = run(scenario="wlak.toml", program="true", results="other")
    assert (status, outputs["report"]) == (2, "")
    assert "wlak.toml" in said


def test_every_input_reaches_a_step():
    used = set(re.findall(r"inputs\.(\w+)", str(DESCRIBED["runs"]["steps"])))
    assert used == set(DESCRIBED["inputs"])
    assert INSTALL["run"].endswith('install --quiet "$PACKAGE"')
