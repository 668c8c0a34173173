"""The studies through the command line, and the rules by which checks are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from baton.reproduce import STUDIES
from baton.reproduce.checks import Expected, judge
from baton.reproduce.cli_reproduce import SHOWN
from baton.toml import loads


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


Study = tuple[Path, dict[str, dict[str, object]]]
#: What must come out of each study, or its mechanism is not there.
MECHANISMS = {
    "C": "C1.a C2.b C2.c C3.b C5.a C5.b C5.c C5.d C5.e C5.f C6.a C7.c C8.a C8.b C8.c C8.d",
    "D": "D0.a D0.b D0.d D1.a D1.b D1.c D1.d D1.e D1.f D2.a D2.b D2.c D2.e D2.f D2.g D2.h D3.d D3.e D3.f D3.g D3.h"
    " D3.i D5.a D5.b D5.c D5.d D5.f D6.a D7.c D8.a D8.d D8.e D9.a D9.b D10.a D10.b D10.c D10.e D10.f D10.h D10.j D10.k"
    " D11.a D11.b D11.c",
    "T": "T1.a T1.b T2.a T2.b T2.c T2.d T2.g T2.h T2.i T3.a T3.c T3.d T3.g T4.a T4.b T5.a T5.b T5.c T5.d T6.a T6.c",
}


@pytest.fixture(scope="module", params=MECHANISMS)
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Study]:
    folder = tmp_path_factory.mktemp("reproduce")
    command = [sys.executable, "-m", "baton", "reproduce", request.param, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    checks = json.loads(done.stdout)["checks"]
    return request.param, (folder, {check["id"]: check for check in checks})


def test_the_mechanism_of_a_study(study: tuple[str, Study]) -> None:
    name, (_, checks) = study
    differing = [check for check in MECHANISMS[name].split() if checks[check]["verdict"] != "agrees"]
    assert differing == []


def test_every_difference_is_explained(study: tuple[str, Study]) -> None:
    _, (_, checks) = study
    assert [name for name, check in checks.items() if check["verdict"] == "differs" and not check["note"]] == []


def test_every_check_is_measured(study: tuple[str, Study]) -> None:
    _, (_, checks) = study
    assert [name for name, check in checks.items() if check["measured"] is None and not check["note"]] == []


def test_the_page_links_whole_runs(study: tuple[str, Study]) -> None:
    name, (folder, checks) = study
    page = (folder / f"results/reproduce-{name}/report.html").read_text(encoding="utf-8")
    assert all(f'id="{check}"' in page for check in checks)
    for run in SHOWN[name]:
        assert f'href="{run}/report.html"' in page
        assert (folder / f"results/reproduce-{name}" / run / "report.html").is_file()


def test_the_scenarios_of_study_d_differ_only_in_what_the_study_varies() -> None:
    baseline, first, second = (
        loads((STUDIES / "D" / f"{name}.toml").read_text(encoding="utf-8")) for name in SHOWN["D"]
    )
    for scenario in (baseline, first, second):
        del scenario["name"], scenario["description"]
        del scenario["home_agents"]["home-agent"]["duplicate_address_detection"]
        del scenario["mobiles"]["aircraft"]["mobility"]["duplicate_address_detection"]
    assert baseline == first
    assert second["links"]["radio"].pop("packet_bit") is True
    assert second["home_agents"]["home-agent"].pop("buffering") == {}
    assert second["mobiles"]["aircraft"]["mobility"].pop("asks_for_buffering") is True
    assert second == first


def test_a_study_that_is_not_run_live_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "baton", "reproduce", "D7", "--live"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "`D`: not run live" in done.stderr


def test_an_unknown_check_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "baton", "reproduce", "Q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no such study" in done.stderr
    assert list(tmp_path.iterdir()) == []
