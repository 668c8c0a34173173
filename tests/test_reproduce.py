"""The studies through the command line, and the rules by which checks are judged."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from baton import Scenario
from baton.live.trials import Figures
from baton.reproduce import STUDIES, TITLES, study_c_run, study_d_load, study_s, study_s_journey
from baton.reproduce.checks import Basis, Expected, Reproduced, judge, summary, tally
from baton.reproduce.cli_reproduce import SHOWN, check_table, write_study
from baton.reproduce.figures import Curve, Figure, section
from baton.reproduce.page import write_page
from baton.reproduce.sensitivity import Parameter, Variation, combine, hanging, load_parameters, varied
from baton.reproduce.study_s_run import Flow, convergence, equal_windows, jain
from baton.toml import loads
from validation import prose


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


@pytest.mark.parametrize(
    ("basis", "measured", "verdict"),
    [
        ("text", 100, "agrees"),
        ("text", 300, "differs"),
        ("construction", 100, "by construction"),
        ("construction", 300, "fails"),
        ("own", 100, "holds"),
        ("own", 300, "fails"),
    ],
)
def test_only_a_number_of_the_text_agrees_or_differs(basis: Basis, measured: float, verdict: str) -> None:
    check = judge(replace(expected("within", 100, 0.1), basis=basis), [measured])
    assert (check.verdict, check.two_sided) == (verdict, basis == "text")


def test_each_kind_of_verdict_is_counted() -> None:
    rules = [
        (expected("within", 100, 0.1), 100.0),
        (expected("within", 100, 0.1), 300.0),
        (expected("at_least", 1), 2.0),
        (replace(expected("within", 7, 0.1), basis="construction"), 7.0),
        (replace(expected("at_most", 7), basis="own"), 7.0),
        (expected("beyond", 0), 1.0),
    ]
    checks = [judge(rule, [value]) for rule, value in rules]
    assert summary(checks) == (
        "2 agree (two-sided: 1 of 2), 1 differ, 1 by construction, 1 of our own hold, 1 beyond what was published"
    )
    assert tally(checks)["two-sided agrees"] == 1


def test_a_difference_without_a_cause_is_called_unexplained() -> None:
    assert judge(expected("equal", 1), [2]).remarks() == ["Unexplained."]
    assert judge(expected("equal", 1), [2], "A slip.").remarks() == ["A slip."]
    hangs = judge(expected("equal", 1), [1], "", {"minimum RTO 0.2 s": "differs"})
    assert hangs.remarks() == ["Hangs on a chosen value: minimum RTO 0.2 s: differs."]


@pytest.mark.parametrize("study", [study for study in TITLES if (STUDIES / study / "parameters.toml").exists()])
def test_chosen_parameters_are_those_of_the_scenarios(study: str) -> None:
    """Each value of the table is the one that a run has, and each other value makes another scenario."""
    folder = STUDIES / study
    parameters = load_parameters(folder)
    assert len({parameter.name for parameter in parameters}) == len(parameters)
    for parameter in parameters:
        assert parameter.value not in parameter.others
        for scenario, keys in parameter.keys.items():
            plain = loads(Scenario.load(folder / f"{scenario}.toml").resolved)
            for value in (parameter.value, *parameter.others):
                changed = Scenario.load(folder / f"{scenario}.toml", overrides=[f"{key}={value}" for key in keys])
                assert (loads(changed.resolved) == plain) == (value == parameter.value), (parameter.name, value)
        for name in parameter.constants:
            module, _, constant = name.rpartition(".")
            assert getattr(import_module(f"baton.reproduce.{module}"), constant) == parameter.value


def test_a_varied_folder_has_the_other_value_and_constants_come_back() -> None:
    full = study_c_run.FULL
    parameter = Parameter(
        name="p",
        value="10 packets",
        others=["20 packets"],
        reason="",
        keys={"upload": ["links.wifi.queue"]},
        constants=["study_c_run.FULL"],
    )
    with varied(STUDIES / "C", parameter, "20 packets") as folder:
        assert loads((folder / "upload.toml").read_text(encoding="utf-8"))["links"]["wifi"]["queue"] == "20 packets"
        assert study_c_run.FULL == "20 packets"
    assert full == study_c_run.FULL


def test_what_hangs_on_a_parameter() -> None:
    rule = expected("at_least", 1)
    parameter = Parameter("minimum RTO", "1 s", ["0.2 s"], "")
    chosen = [judge(rule, [2]), judge(replace(rule, id="X2"), [2])]
    variation = Variation(parameter, "0.2 s", [judge(rule, [0]), judge(replace(rule, id="X2"), [3])])
    assert hanging(chosen, [variation]) == {"X1": {"minimum RTO 0.2 s": "differs"}}


def test_values_varied_together_are_judged_by_each_reading(tmp_path: Path) -> None:
    (tmp_path / "expected.toml").write_text(
        'check = [{ id = "X1", quantity = "", unit = "", published = 1.6, rule = "within", tolerance = 0.01,'
        ' source = "" }]'
    )
    (tmp_path / "parameters.toml").write_text(
        'parameter = [{ name = "full", value = 0.9, others = [0.8], reason = "", constants = ["study_c_run.FULL"],'
        " together = true },"
        ' { name = "over", value = 2.0, others = [1.0], reason = "", constants = ["study_c_run.OVER_S"],'
        " together = true }]"
    )

    def readings(_: Path) -> dict[str, Figures]:
        product = study_c_run.FULL * study_c_run.OVER_S
        return {"as it is": {"X1": product}, "doubled": {"X1": 2 * product}}

    found = combine(tmp_path, readings, lambda _: None)
    agreeing = [(*each.values.values(), each.reading) for each in found if each.agreeing == ["X1"]]
    assert len(found) == 8
    assert agreeing == [(0.8, 2.0, "as it is"), (0.8, 1.0, "doubled")]


def test_a_comparison_is_counted_by_seeds() -> None:
    rule = replace(expected("at_least", 0), seeds=19)
    one_short, two_short = [1.0] * 19 + [-100.0], [1.0] * 18 + [-0.1] * 2
    # The mean decides nothing: of the first it is negative, of the second positive.
    found = judge(rule, one_short)
    assert (found.verdict, found.held, found.runs) == ("agrees", 19, 20)
    assert judge(rule, two_short).verdict == "differs"
    assert judge(rule, []).verdict == "differs"
    assert judge(expected("at_least", 0), one_short).held is None


def test_interval_of_a_mean() -> None:
    # Worked by hand: mean 3, standard deviation sqrt(2.5), t(4) = 2.776: 2.776 * sqrt(2.5 / 5) = 1.9629.
    check = judge(expected("within", 3), [1, 2, 3, 4, 5])
    assert check.measured == 3
    assert check.low == pytest.approx(3 - 1.9629, abs=1e-3)
    assert check.high == pytest.approx(3 + 1.9629, abs=1e-3)


def test_each_row_says_its_rule(tmp_path: Path) -> None:
    """A reader who sees 250 and 3,348 agree is told why, on the page and in the terminal."""
    check = judge(expected("at_least", 250), [3348.0])
    assert check.verdict == "agrees"
    page = write_page(tmp_path / "report.html", "a study", Reproduced([check]), []).read_text(encoding="utf-8")
    assert '<td class="rule">at least the published value<td class="agrees"' in page
    assert "at least the published value" in str(check_table("T", [check]))


def test_titles_of_studies_begin_with_a_capital_letter() -> None:
    assert all(title[0].isupper() for title in TITLES.values())


Study = tuple[Path, dict[str, dict[str, object]]]
#: Checks of each study that must come out, or their mechanism is not there.
MECHANISMS = {
    "C": "C1.a C1.c C2.c C3.b C3.c C4.c C5.a C5.b C5.c C5.d C5.e C5.f C5.g C5.h C5.i C5.j C5.k C6.a C7.a C7.c C7.d C8.a"
    " C8.b C8.c C8.d C9.a C9.b C9.c C9.d C9.e C9.f C9.i C9.k C9.m",
    "D": "D0.a D0.b D0.d D1.a D1.b D1.c D1.d D1.e D1.f D2.a D2.b D2.c D2.e D2.f D2.g D2.h D3.d D3.e D3.f D3.g D3.h"
    " D3.i D5.a D5.b D5.c D5.d D5.f D6.a D7.c D8.a D8.d D8.e D9.a D9.b D10.a D10.b D10.c D10.e D10.f D10.h D10.j D10.k"
    " D11.a D11.b D11.c D19.a D19.f",
    "S": "S1.a S1.b S1.c S1.d S1.e S2.a S2.c S2.d S2.e S2.f S2.g S2.h S2.i S2.j S2.k S3.c S3.f S3.g S3.h S3.i S3.j S3.k"
    " S3.l S3.m S4.a S4.b S4.c S5.d S5.e S5.f S5.i S6.a S6.b S6.d S7.a S7.b S7.c S8.a S8.b S8.c S8.d S8.e S8.f S8.g"
    " S8.h S8.i S8.j S8.k S8.l S8.s S8.t S9.a S9.b",
    "T": "T1.a T1.b T2.a T2.b T2.c T2.d T2.e T2.g T2.h T2.i T3.a T3.b T3.c T3.d T3.f T3.g T4.a T4.b T4.c T5.a T5.b T5.c"
    " T5.d T6.a T6.c T6.d T9.b T9.c T11.a T11.c T11.g",
}


@pytest.fixture(scope="module", params=MECHANISMS)
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Study]:
    folder = tmp_path_factory.mktemp("reproduce")
    if request.param == "S":
        return "S", (folder, with_one_seed(folder))
    command = [sys.executable, "-m", "baton", "reproduce", request.param, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    checks = json.loads(done.stdout)["checks"]
    return request.param, (folder, {check["id"]: check for check in checks})


def with_one_seed(folder: Path) -> dict[str, dict[str, object]]:
    """Study S as the command has it, but of one seed: all of them take minutes."""
    found = study_s.reproduce(STUDIES / "S", seeds=1)
    here = Path.cwd()
    try:
        os.chdir(folder)
        write_study("S", found)
    finally:
        os.chdir(here)
    return {check.id: check.as_json() for check in found.checks}


def test_the_mechanism_of_a_study(study: tuple[str, Study]) -> None:
    name, (_, checks) = study
    as_expected = ("agrees", "by construction")
    differing = [check for check in MECHANISMS[name].split() if checks[check]["verdict"] not in as_expected]
    assert differing == []


def test_every_difference_is_explained(study: tuple[str, Study]) -> None:
    _, (_, checks) = study
    assert [name for name, check in checks.items() if check["verdict"] == "differs" and not check["note"]] == []


def test_numbers_in_the_prose_are_those_of_the_run(study: tuple[str, Study]) -> None:
    name, (_, checks) = study
    if name == "S":
        pytest.skip("one seed of twenty: scripts/validate.py holds this page's numbers")
    measured = {check: found["measured"] for check, found in checks.items()}
    text = (STUDIES / name / "README.md").read_text(encoding="utf-8")
    assert list(prose.wrong(text, cast(dict[str, float | None], measured))) == []
    assert prose.count(text) >= {"C": 4, "D": 8, "T": 20}[name]


def test_prose_is_held_against_a_value_in_the_form_of_the_text() -> None:
    measured = {"T7.j": 1.1597, "T2.a": 0.2004}
    held = "gains 16<!-- T7.j * 100 - 100 --> %, 200<!-- T2.a * 1000 --> ms, 1.16<!-- T7.j -->"
    assert (prose.count(held), list(prose.wrong(held, measured))) == (3, [])
    stale = "gains 1<!-- T7.j * 100 - 100 --> %, 3<!-- T9.z --> of them"
    assert list(prose.wrong(stale, measured)) == ["1: T7.j is 15.97 there", "3: T9.z was not measured"]


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


def test_the_page_draws_the_figures_of_a_study(study: tuple[str, Study]) -> None:
    name, (folder, _) = study
    page = (folder / f"results/reproduce-{name}/report.html").read_text(encoding="utf-8")
    assert page.count('class="plot"') == {"C": 9, "D": 6, "S": 14, "T": 12}[name]


def test_figures_are_thinned_and_have_no_numbers_that_json_lacks() -> None:
    x = np.arange(5000, dtype=np.float64)
    curve = Curve("a </script> b", x, np.where(x == 0, np.nan, x / 3), 7)
    page = section([Figure("title", "s", "packets", [curve])])
    held = page.split('id="data">')[1].split("</script>")[0]
    drawn = json.loads(held)["figures"][0]["curves"][0]
    assert drawn["name"] == curve.name
    assert len(drawn["x"]) <= 1200
    assert drawn["y"][:2] == [None, 1.6667]
    assert (drawn["role"], drawn["dash"]) == ("link 2", "dash")
    assert section([]) == ""


def flow(window: list[float], bytes_a_second: list[float]) -> Flow:
    """A flow with these windows and rates, a second each."""
    delivered = np.concatenate([[0.0], np.cumsum(bytes_a_second)])
    return Flow(np.array(window), delivered, np.full(len(delivered), 0.5), np.array([3.0, 8.0]), 0.0)


def test_study_s_s_access_points_stand_where_equation_3_asks() -> None:
    # By hand: an elevation of 38.17°, an obstacle of 100 m, 0.7069 s and 1.4869 s at 320 km/h, 200 m of reach.
    before, after = 100 / math.tan(math.radians(38.17)) + 0.7069 * 320 / 3.6, 1.4869 * 320 / 3.6
    places = [float(override.split("=")[1].removesuffix(" m")) for override in study_s_journey.coverage(1.0)]
    assert places == pytest.approx([9000 - before + 200, 19_600 + after - 200], abs=0.1)
    text = (STUDIES / "S/line.toml").read_text(encoding="utf-8")
    assert f'from = "{places[0]:.0f} m", to = "{places[1]:.0f} m"' in text


def test_with_less_overlap_the_access_points_stand_nearer_to_the_tunnel() -> None:
    places = [float(override.split("=")[1].removesuffix(" m")) for override in study_s_journey.coverage(0.0)]
    # Without overlap: the shadow alone before, and nothing after.
    assert places == pytest.approx([9000 - 127.2 + 200, 19_600 - 200], abs=0.1)


def test_what_study_s_looks_at() -> None:
    # Jain's index of rates 1 and 3: (1 + 3)² / (2 (1 + 9)).
    assert jain(np.array([1.0, 2.0, 0.0]), np.array([3.0, 2.0, 5.0])).tolist() == [0.8, 1.0, 0.5]
    # The satellite carries 5 Mbit/s · 1400/1500 / 8 = 583,333 B of payload a second. One flow has a tenth of that until
    # 725 s, then half. Over 50 s from t on it has 0.45 of it when so many seconds k of them are equal:
    # (0.1 (50 - k) + 0.5 k) / 50 = 0.45, so k = 43.75 and t = 725 + 44 - 50.
    full = 5e6 * 1400 / 1500 / 8
    slow, fast = flow([], [0.1 * full] * 725 + [0.5 * full] * 475), flow([], [0.5 * full] * 1200)
    assert convergence(slow, fast) == 725 + 44 - 50 - 525
    assert convergence(flow([], [0.1 * full] * 1200), fast) == 675
    # Equal flows that leave most of the satellite free do not share what is available.
    assert convergence(flow([], [0.2 * full] * 1200), flow([], [0.2 * full] * 1200)) == 675
    shrinking, still = (
        flow([max(1000.0 - second, 0.0) for second in range(1201)], [1.0] * 1200),
        flow([100.0] * 1201, []),
    )
    assert equal_windows(shrinking, still) == 899 - 525
    growing = flow([min(float(second), 443.0) for second in range(801)], [1000.0] * 800)
    assert growing.full_after(400) == 43
    assert growing.full_after(100) == 343
    assert growing.goodput(100, 200) == 8000
    assert growing.timeouts_in(0, 5) == 1
    assert growing.round_trips(0, 10) == 20


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


def test_bytes_held_are_summed_over_the_packets_that_wait() -> None:
    # Worked by hand: 100 B until 1 s, 150 B until 2 s, 50 B until 3 s, when 120 B take their place until 4 s.
    begin, end, size = np.array([0, 1, 3]), np.array([2, 3, 4]), np.array([100.0, 50.0, 120.0])
    assert study_d_load.most_and_mean(begin, end, size) == (150, (200 + 100 + 120) / 4)


def test_a_study_that_is_not_run_live_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "baton", "reproduce", "C", "--live"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "`C`: not run live" in done.stderr


def test_an_unknown_check_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "baton", "reproduce", "Q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no such study" in done.stderr
    assert list(tmp_path.iterdir()) == []
