"""`baton fidelity`: its list, its rules, its figures; runs against an emulator that only tells."""

import copy
import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

import baton
from baton.catalogue import profiles
from baton.errors import InputError
from baton.fidelity import causes
from baton.fidelity.cases import SHIPPED, read
from baton.fidelity.execute import Outcome
from baton.fidelity.judge import rows
from baton.fidelity.kernel import MATCHED, SETTINGS
from baton.fidelity.measure import figures
from baton.fidelity.rules import QUANTITIES, RULES
from baton.live.trials import MOST_TOGETHER, Kept
from baton.report.tables import run_of
from baton.verdict import Tolerance
from fake_emulator import BATON, SUMMARY, Fake

ALL = read(SHIPPED, quick=False, only=[], half=None)


def test_every_case_of_the_shipped_list_is_a_scenario_that_the_kernel_can_run():
    """Each loads as a live scenario; a control that the simulator does not know would be refused here."""
    assert len({(case.name, case.congestion) for case in ALL}) == len(ALL)
    for case in ALL:
        assert case.scenario.name


def test_the_halves_of_the_list_are_alike():
    halves = [{case.name for case in ALL if case.half == half} for half in ("first", "second")]
    assert halves[0].isdisjoint(halves[1])
    assert abs(len(halves[0]) - len(halves[1])) <= 1
    for kind in ("steady", "loss", "soft", "hard"):
        assert all(any(case.kind == kind for case in ALL if case.name in half) for half in halves)


def test_fast_paths_run_alone():
    alone = {case.name for case in ALL if case.share == MOST_TOGETHER}
    fast = ("100M-1ms", "100M-30ms", "100M-100ms-small", "20M-20ms", "20M-300ms")
    assert alone == {f"steady-{path}" for path in fast}
    together = {case.name: MOST_TOGETHER // case.share for case in ALL}
    assert (together["steady-10M-50ms"], together["steady-5M-290ms"], together["steady-9.6k-300ms"]) == (2, 4, 12)


def test_a_part_of_the_list_can_be_chosen():
    chosen = read(SHIPPED, quick=False, only=["soft-*", "hard-1s-loss/reno"], half=None)
    assert {case.kind for case in chosen} == {"soft", "hard"}
    assert [case.congestion for case in chosen if case.kind == "hard"] == ["reno"]
    with pytest.raises(InputError, match="no case of .* is left"):
        read(SHIPPED, quick=False, only=["nothing"], half=None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("congestion = [", "list.toml"),
        ('congestion = ["reno"]', "at least one table"),
        ('[[cases]]\nname = "a"\nkind = "soft"\nscenario = "handovr"', "did you mean `handover`"),
        ('[[cases]]\nname = "a"\nkind = "sofd"\nscenario = "handover"', "did you mean `soft`"),
        ('[[cases]]\nname = "a"\nkind = "soft"\nscenari = "handover"', "did you mean `scenario`"),
        ('[[cases]]\nkind = "soft"\nscenario = "handover"', "`name` is missing"),
    ],
)
def test_a_wrong_list_is_refused_with_what_is_wrong(tmp_path, text, message):
    file = tmp_path / "list.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read(file, quick=False, only=[], half=None)


@pytest.mark.parametrize(
    ("rule", "kernel", "simulated", "agrees"),
    [
        (Tolerance(relative=0.02), 4.827e6, 4.740e6, True),
        (Tolerance(relative=0.02), 4.827e6, 4.720e6, False),
        (Tolerance(relative=0.2, absolute=3), 0, 3, True),
        (Tolerance(relative=0.2, absolute=3), 0, 4, False),
        (Tolerance(relative=0.2, absolute=3), 100, 120, True),
        (Tolerance(), 1, 1, True),
        (Tolerance(), 1, 2, False),
    ],
)
def test_rules_are_the_larger_of_a_share_and_a_count(rule, kernel, simulated, agrees):
    assert rule.allows(kernel, simulated) is agrees


def judged(simulated, kernel, kind="hard"):
    """The verdict on one quantity, from its values in both kinds of runs."""
    case = next(case for case in ALL if case.kind == kind)
    kept = [
        Kept(n, None if value == "late" else {"stall_s.1": value}, [], "6.18", {}) for n, value in enumerate(kernel)
    ]
    outcome = Outcome(case, [{"stall_s.1": value} for value in simulated], kept)
    return next(iter(rows(outcome, {})))


def test_medians_are_compared_and_a_difference_inside_the_spread_is_none():
    assert judged([1.0, 1.1, 5.0], [1.2, 1.2, 1.2]).verdict == "agrees"  # median 1.1, 15 % of 1.2 are 0.18
    assert judged([1.0, 1.0, 1.0], [1.2, 1.2, 1.2]).verdict == "differs"
    assert judged([1.0, 1.0, 1.0], [0.9, 1.3, 1.3]).verdict == "agrees"  # one repetition was even shorter


def test_what_only_one_side_has_differs_and_what_was_disturbed_is_not_compared():
    assert judged([1.0, 1.0], [None, None]).verdict == "differs"
    assert judged([None, None], [1.0, 1.0]).verdict == "differs"
    assert judged([1.0, 1.0], ["late", "late"]).verdict == "not compared"
    row = judged([1.0, 1.0], ["late", 1.1])
    assert (row.verdict, row.kernel) == ("agrees", 1.1)


def test_figures_at_a_handover_are_those_of_the_series():
    case = next(case for case in ALL if case.name == "soft-fast-slow" and case.congestion == "cubic")
    run = run_of(case.scenario.run(seed=1))
    found = figures(run)
    series = run.find("flow download", "congestion window")
    by_then = series.value[series.time_ns <= 12 * 10**9]
    assert found["window_bytes.1"] == by_then[-1]
    rto = run.find("flow download", "retransmission timeout")
    between = (rto.time_ns >= 12 * 10**9) & (rto.time_ns < 27 * 10**9)
    assert found["rto_after_s.1"] == np.max(rto.value[between])
    assert found["to_90_percent_s.1"] == run.summary["handovers"][0]["flows"][0]["time_to_90_percent_s"]


def test_a_run_without_a_handover_has_figures_of_the_whole_run_alone():
    case = next(case for case in ALL if case.name == "window-1M-50ms-8k" and case.congestion == "reno")
    run = run_of(case.scenario.run(seed=1))
    found = figures(run)
    assert found["goodput_bps"] == run.summary["flows"][0]["goodput_bps"] > 0
    assert not any("." in key for key in found)


ROOT = Path(__file__).resolve().parent.parent
LIST = '[[cases]]\nname = "walk"\nkind = "soft"\nscenario = "short.toml"\n'
MACHINE = {"ok": True, "problems": [], "kernel": "6.18.44"}


@pytest.fixture
def fidelity(tmp_path, scenario):
    """Runs `baton fidelity` on a list of one case, against the fake emulator."""
    (tmp_path / "list.toml").write_text(LIST)
    fake = Fake(tmp_path)

    def run(summary, *arguments):
        fake.plan(summary=summary, answer=MACHINE)
        environment = {**os.environ, "FAKE_EMULATOR": str(fake.script)}
        command = [sys.executable, "-c", BATON, "fidelity", "list.toml", "--out", "found", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def test_both_ways_are_run_and_the_table_says_what_was_measured(fidelity, tmp_path):
    process = fidelity(SUMMARY, "--repetitions", "2", "--json")
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout)
    assert (found["kernels"], found["repetitions"]) == (["6.18.44"], 2)
    assert found["sysctls"]["server"]["tcp_sack"] == "1"
    assert found["cases"] == {"compared": 1, "listed": 1}
    assert (found["other_settings"], "warning" in process.stdout) == ([], False)
    row = next(row for row in found["rows"] if row["quantity"] == "goodput_bps")
    alone = baton.Scenario.load(tmp_path / "short.toml", ["flows.0.transport.congestion=cubic"], live=True).run(seed=1)
    assert row["simulated"] == alone.summary["flows"][0]["goodput_bps"]
    assert (row["kernel"], row["kernel_low"], row["kernel_high"]) == (4e6, 4e6, 4e6)
    assert "| walk | cubic | goodput |" in (tmp_path / "found" / "fidelity.md").read_text()


def test_progress_is_told_without_a_terminal(fidelity):
    """A line for each live run that has ended: minutes pass between them."""
    process = fidelity(SUMMARY, "--repetitions", "3")
    told = [line for line in process.stderr.splitlines() if " of 3 runs" in line]
    assert told == [f"baton: {ended} of 3 runs" for ended in (1, 2, 3)]


def test_what_is_kept_is_not_run_again_unless_the_scenario_has_changed(fidelity, tmp_path):
    def goodput(summary):
        process = fidelity(summary, "--repetitions", "1", "--json")
        rows = json.loads(process.stdout)["rows"]
        return next(row["kernel"] for row in rows if row["quantity"] == "goodput_bps")

    other = copy.deepcopy(SUMMARY)
    other["flows"][0]["goodput_bps"] = 1e6
    assert goodput(SUMMARY) == 4e6
    assert goodput(other) == 4e6  # kept
    file = tmp_path / "short.toml"
    file.write_text(file.read_text().replace('"5 ms"', '"6 ms"'))
    assert goodput(other) == 1e6


def test_a_disturbed_run_is_named_and_not_compared(fidelity):
    late = copy.deepcopy(SUMMARY)
    late["live"] |= {"trusted": False, "doubts": ["99 % of events were up to 5 ms late"]}
    process = fidelity(late, "--repetitions", "1")
    assert process.returncode == 1
    assert "not compared: walk/cubic, repetition 1: 99 % of events were up to 5 ms late" in process.stdout


def test_a_run_in_which_the_machine_stood_still_is_not_compared(fidelity):
    stood = copy.deepcopy(SUMMARY)
    stood["live"]["lateness"] |= {"largest_us": 55_385.1}
    process = fidelity(stood, "--repetitions", "1")
    assert process.returncode == 1
    assert "not compared: walk/cubic, repetition 1: the machine stood still for 55 ms\n" in process.stdout


def test_a_path_that_is_slow_enough_takes_no_harm_from_a_standstill(fidelity):
    stood = copy.deepcopy(SUMMARY)
    stood["live"]["lateness"] |= {"largest_us": 35_000.0, "bound_us": 100_000.0}
    assert fidelity(stood, "--repetitions", "1").returncode == 0


def test_a_failed_run_ends_the_comparison_with_its_reason(fidelity):
    process = fidelity(None, "--repetitions", "1")
    assert process.returncode == 1
    assert "walk/cubic" in process.stderr


def test_what_was_disturbed_is_run_again_the_next_time(fidelity):
    late = copy.deepcopy(SUMMARY)
    late["live"] |= {"trusted": False, "doubts": ["late"]}
    assert fidelity(late, "--repetitions", "1").returncode == 1
    process = fidelity(SUMMARY, "--repetitions", "1", "--json")
    assert process.returncode == 0
    assert json.loads(process.stdout)["not_compared"] == []


def test_a_kernel_with_other_defaults_is_recognised(fidelity, tmp_path):
    other = copy.deepcopy(SUMMARY)
    other["live"]["sysctls"] = {
        "server": {"tcp_sack": "0", "tcp_rmem": "4096\t131072\t6291456"},
        "laptop": {"tcp_sack": "1"},
    }
    other["live"]["kernel"] = "6.1.90"
    process = fidelity(other, "--repetitions", "2")
    warnings = [line for line in process.stdout.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 3
    assert "kernel 6.1.90: the profile linux-6 was matched to 6.18" in warnings[0]
    assert "tcp_rmem was 4096 131072 6291456, not 4096 131072 33554432 (2 repetitions): " in warnings[1]
    assert "tcp_sack was 0, not 1 (2 repetitions): losses are found and repaired one a round trip" in warnings[2]
    page = (tmp_path / "found" / "fidelity.md").read_text()
    assert all(f"- {line}" in page for line in warnings)
    found = json.loads((tmp_path / "found" / "fidelity.json").read_text())
    assert [(each["setting"], each["value"]) for each in found["other_settings"]] == [
        ("tcp_rmem", "4096 131072 6291456"),
        ("tcp_sack", "0"),
    ]


def test_what_the_scenario_asked_for_is_no_other_default(fidelity):
    asked = copy.deepcopy(SUMMARY)
    asked["live"] |= {"sysctls": {"server": {"tcp_sack": "0"}}, "sysctls_set": {"server": {"tcp_sack": "0"}}}
    assert "warning" not in fidelity(asked, "--repetitions", "1").stdout


def test_every_setting_that_the_emulator_reads_or_sets_has_its_default_here():
    text = (ROOT / "crates" / "live" / "src" / "namespace.rs").read_text(encoding="utf-8")
    told = re.findall(r'"(tcp_\w+)"', re.search(r"const TOLD.*?;\n", text, re.DOTALL)[0])
    assert set(told) - {"tcp_congestion_control"} == set(SETTINGS)  # that one each socket has of its own
    keys = (ROOT / "crates" / "live" / "src" / "plan" / "keys.rs").read_text(encoding="utf-8")
    assert set(re.findall(r'set\w*\(\s*"(tcp_\w+)"', keys)) <= set(SETTINGS)


def test_the_profile_says_which_kernel_it_was_matched_to():
    assert MATCHED in profiles()["linux-6"]


CAUSES = """
"walk/reno/*" = "Reno is not in this list."
"walk/*/timeouts" = "The peer was asleep,\\n and so was the timer."
"""


def test_a_miss_is_told_with_its_cause(fidelity, tmp_path):
    (tmp_path / "causes.toml").write_text(CAUSES)
    kernel = copy.deepcopy(SUMMARY)
    kernel["flows"][0]["retransmitted"] = 500
    process = fidelity(kernel, "--repetitions", "1")
    found = json.loads((tmp_path / "found" / "fidelity.json").read_text())
    told = {row["quantity"]: (row["verdict"], row["cause"]) for row in found["rows"]}
    assert told["timeouts"] == ("differs", "The peer was asleep, and so was the timer.")
    assert told["retransmitted"] == ("differs", "not explained yet")
    assert told["goodput_bps"] == ("not judged", None)
    assert "walk/cubic, timeouts: The peer was asleep, and so was the timer." in process.stdout
    page = (tmp_path / "found" / "fidelity.md").read_text()
    assert re.search(r"\| walk \| cubic \| timeouts \| 0 \| 2 \| equal \| The peer was asleep", page)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"soft" = "why"', "expected CASE/CONTROL/QUANTITY"),
        ('"soft-*/bbr/timeout" = "why"', "is one of goodput_bps"),
        ('"soft-*/bbr/timeouts" = 3', "expected a sentence"),
        ('"soft', "causes.toml"),
    ],
)
def test_a_wrong_cause_is_refused(tmp_path, text, message):
    (tmp_path / "causes.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        causes.read(tmp_path / "list.toml")


def test_every_cause_that_comes_with_baton_is_of_a_figure_that_is_judged():
    judged = [f"{case.name}/{case.congestion}/{key}" for case in ALL for key in RULES[case.kind]]
    for pattern in causes.read(SHIPPED):
        assert any(fnmatchcase(name, pattern) for name in judged), pattern
    assert {key for rules in RULES.values() for key in rules} <= {quantity.key for quantity in QUANTITIES}
