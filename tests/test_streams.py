"""Standard output and error that are full or closed: a status and a line, no traceback, and results that are whole."""

import os
import subprocess
import sys

import pytest

full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")


def shell(folder, redirected):
    command = f"{sys.executable} -m baton {redirected}"
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@full
@pytest.mark.parametrize("more", ["", "--json"])
def test_a_full_standard_output_is_told_in_one_line(scenario, tmp_path, more):
    process = shell(tmp_path, f"run short.toml --out run {more} > /dev/full")
    assert process.returncode == 1
    assert process.stderr == "baton: standard output cannot be written: No space left on device\n"
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_closed_standard_output_is_told_before_the_run(scenario, tmp_path):
    process = shell(tmp_path, "run short.toml --out run >&-")
    assert process.returncode == 2
    assert process.stderr == "baton: standard output is closed; send it to a file, or to /dev/null\n"
    assert not (tmp_path / "run").exists()


@full
@pytest.mark.parametrize("error", ["2>&-", "2> /dev/full"])
def test_without_standard_error_the_status_tells(scenario, tmp_path, error):
    process = shell(tmp_path, f"run short.toml --out run {error}")
    assert process.returncode == 0
    assert process.stdout.endswith("run/report.html\n")
    (tmp_path / "short.toml").write_text(scenario.read_text() + "wrong = 1\n")
    process = shell(tmp_path, f"run short.toml --out wrong {error}")
    assert (process.returncode, process.stdout, process.stderr) == (2, "", "")


def test_all_closed_nothing_of_results_takes_their_place(scenario, tmp_path):
    assert shell(tmp_path, "run short.toml --out run <&- 2>&- > out.txt").returncode == 0
    assert (tmp_path / "out.txt").read_text().endswith("run/report.html\n")
    assert shell(tmp_path, "rerun run").returncode == 0
