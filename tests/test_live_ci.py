"""The page on CI: its workflow, run step by step as it stands there, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "ci.md").read_text()
COMMAND = f"{sys.executable} -m baton"


pytestmark = pytest.mark.live


def steps() -> list[str]:
    """The workflow's commands, without the installation, with the `baton` that is tested."""
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (job,) = yaml.safe_load(block)["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "pip install" not in step.get("run", "pip install")]
    return [command.replace("sudo .venv/bin/baton", COMMAND) for command in commands]


def run(folder: Path, commands: list[str]) -> int:
    """Runs steps as a runner does: up to the first that fails. Returns its status."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SUDO_")}
    for command in commands:
        status = subprocess.run(["bash", "-e", "-c", command], cwd=folder, env=environment, timeout=120).returncode
        if status:
            return status
    return 0


def failed(folder: Path) -> set[str]:
    """Names of the JUnit file's failed cases, but for the trust: other tests may keep this machine busy."""
    suite = ElementTree.parse(folder / "junit.xml").getroot()[0]
    return {case.get("name") for case in suite if case.find("failure") is not None} - {"live.trusted == 1"}


def test_the_workflow_passes_in_an_empty_repository(tmp_path):
    assert run(tmp_path, steps()) in (0, 3)
    assert failed(tmp_path) == set()
    cases = [case.get("name") for case in ElementTree.parse(tmp_path / "junit.xml").getroot()[0]]
    assert "handovers.completed >= 1" in cases
    assert any(name.startswith("program: curl") for name in cases)


def test_it_fails_when_the_download_ends_before_the_handover(tmp_path):
    small = [command.replace("8M", "8K") for command in steps()]
    assert run(tmp_path, small) == 3
    assert failed(tmp_path) == {"handovers.completed >= 1"}


def test_it_fails_when_the_file_is_not_there(tmp_path):
    without = [command for command in steps() if "truncate" not in command]
    assert run(tmp_path, without) == 4
    program, handover = sorted(failed(tmp_path), reverse=True)
    assert (program.split()[0], handover) == ("program:", "handovers.completed >= 1")
