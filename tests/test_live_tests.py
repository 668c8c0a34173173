"""The rule for live tests: tried again while the machine is too busy, skipped if it always is, else failed."""

from __future__ import annotations

import json

import pytest

import run_snippets
from fake_emulator import LATENESS, SUMMARY
from live_tests import MOST_TRIES, until_quiet, why_busy

QUIET, LATE, STOOD = {}, {"p99_us": 7_500.0}, {"largest_us": 42_000.0}


def summary(**lateness: float) -> str:
    return json.dumps(SUMMARY | {"live": SUMMARY["live"] | {"lateness": LATENESS | lateness}})


@pytest.fixture
def tried(tmp_path):
    """Makes runs as late as told, one a try, which fail all but the last; returns whether the last failed, and why."""

    def run(*late, last_fails):
        made = []

        def make():
            folder = tmp_path / "results" / "run"
            folder.mkdir(parents=True)  # fails if the try before has left it
            (folder / "summary.json").write_text(summary(**late[len(made)]))
            made.append(folder)
            return last_fails or len(made) < len(late)

        failed, why = until_quiet(make, lambda failed: failed, tmp_path)
        return len(made), failed, why

    return run


def test_what_a_busy_machine_failed_is_tried_again(tried):
    assert tried(LATE, STOOD, QUIET, last_fails=False) == (3, False, "")


def test_what_fails_on_a_quiet_machine_fails_at_once(tried):
    assert tried(QUIET, last_fails=True) == (1, True, "")


def test_a_machine_that_stays_busy_is_the_reason(tried):
    tries, _, why = tried(*[LATE] * MOST_TRIES, last_fails=True)
    assert tries == MOST_TRIES
    assert why == "this machine was too busy for a live run: 1 % of its events were 7.5 ms late or more"


def test_late_runs_that_pass_are_not_tried_again(tried):
    assert tried(LATE, last_fails=False) == (1, False, "")


@pytest.mark.parametrize(
    ("lateness", "is_busy"),
    [
        ({}, False),
        ({"bound_us": 0.001}, False),  # as a test of lateness sets it
        ({"p99_us": 50_000.0, "bound_us": 100_000.0}, False),
        ({"largest_us": 42_000.0}, True),
    ],
)
def test_busy_is_what_is_late_by_the_default_or_a_longer_bound(tmp_path, lateness, is_busy):
    (tmp_path / "summary.json").write_text(summary(**lateness))
    assert bool(why_busy(tmp_path)) == is_busy


def test_a_snippet_is_skipped_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("live_tests.why_not_here", lambda: "")
    (tmp_path / "late.json").write_text(summary(**LATE))
    writes = "sudo mkdir out && cp late.json out/summary.json && exit"
    with pytest.raises(run_snippets.Skip, match="too busy for a live run"):
        run_snippets.shell(f"{writes} 1")
    assert run_snippets.shell("sudo true") == (0, "")
