"""Study T through the command line, and the rules by which checks are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from baton.reproduce.checks import Expected, judge


def expected(rule: str, published: float, tolerance: float = 0.0) -> Expected:
    return Expected("X1", "a quantity", "s", published, rule, tolerance, "1")


@pytest.mark.parametrize(
    ("rule", "published", "tolerance", "samples", "verdict"),
    [
        ("equal", 875, 0, [875], "agrees"),
        ("equal", 875, 0, [875.1], "differs"),
        ("within", 100, 0.1, [109], "agrees"),
        ("within", 100, 0.1, [111], "differs"),
        # Inside the 95 % interval of the mean, though beyond the tolerance: 80, 100, ... five samples around 112.
        ("within", 100, 0.1, [90, 101, 112, 123, 134], "agrees"),
        ("at_least", 50, 0, [51], "agrees"),
        ("at_least", 50, 0, [49], "differs"),
        ("at_most", 1, 0, [1.01], "differs"),
        ("beyond", 0, 0, [3], "beyond"),
        ("within", 100, 0.1, [], "differs"),
    ],
)
def test_verdicts(rule: str, published: float, tolerance: float, samples: list[float], verdict: str) -> None:
    assert judge(expected(rule, published, tolerance), samples).verdict == verdict


def test_interval_of_a_mean() -> None:
    # Worked by hand: mean 3, standard deviation sqrt(2.5), t(4) = 2.776: 2.776 * sqrt(2.5 / 5) = 1.9629.
    check = judge(expected("within", 3), [1, 2, 3, 4, 5])
    assert check.measured == 3
    assert check.low == pytest.approx(3 - 1.9629, abs=1e-3)
    assert check.high == pytest.approx(3 + 1.9629, abs=1e-3)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, object]]]:
    folder = tmp_path_factory.mktemp("reproduce")
    command = [sys.executable, "-m", "baton", "reproduce", "T", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    checks = json.loads(done.stdout)["checks"]
    return folder, {check["id"]: check for check in checks}


def test_the_mechanism_of_study_t(study: tuple[Path, dict[str, dict[str, object]]]) -> None:
    _, checks = study
    mechanism = (
        "T1.a T1.b T2.a T2.b T2.c T2.d T2.g T2.h T2.i T3.a T3.c T3.d T3.g T4.a T4.b T5.a T5.b T5.c T5.d T6.a T6.c"
    )
    differing = [name for name in mechanism.split() if checks[name]["verdict"] != "agrees"]
    assert differing == []


def test_every_difference_is_explained(study: tuple[Path, dict[str, dict[str, object]]]) -> None:
    _, checks = study
    assert [name for name, check in checks.items() if check["verdict"] == "differs" and not check["note"]] == []


def test_the_page_links_whole_runs(study: tuple[Path, dict[str, dict[str, object]]]) -> None:
    folder, checks = study
    page = (folder / "results/reproduce-T/report.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in page for name in checks)
    for run in ("download", "download-back", "upload"):
        assert f'href="{run}/report.html"' in page
        assert (folder / "results/reproduce-T" / run / "report.html").is_file()


def test_an_unknown_check_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "baton", "reproduce", "Q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no such study" in done.stderr
    assert list(tmp_path.iterdir()) == []
