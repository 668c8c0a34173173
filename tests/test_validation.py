"""docs/validation.md is what the engine measures today, as far as it can be told in a moment."""

import re
from pathlib import Path

import pytest

from validation import CASES, QUICK
from validation.page import line
from validation.row import Row

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([\w.-]+)` \| \[([\w.-]+)\]\(models/.*$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("name", QUICK)
def test_rows_without_many_runs_are_those_of_the_page(name):
    for row in CASES[name]():
        assert line(row) in PAGE, "run make validation"
        assert row.agrees or row.cause, f"{row.id} differs, and does not say why"


def test_every_case_has_its_command_on_the_page():
    told = re.findall(r"scripts/validate\.py ([\w-]+)`", PAGE)
    assert told == list(CASES)


def test_every_model_has_a_row():
    pages = {path.stem for path in (ROOT / "docs" / "models").glob("*.md")}
    overviews = {"README", "queues", "channel", "tcp", "traffic"}
    assert {model for _, model in ROWS} == pages - overviews


def test_the_summary_counts_the_rows():
    identities = [identity for identity, _ in ROWS]
    assert len(set(identities)) == len(identities)
    agreeing, all_rows = map(int, re.search(r"^(\d+) of (\d+) rows agree", PAGE, re.MULTILINE).groups())
    differing = re.findall(r"^- `([\w.-]+)`: .*\. (.+)$", PAGE, re.MULTILINE)
    assert all_rows == len(ROWS)
    assert [identity for identity, _ in differing] == re.findall(
        r"^\| `([\w.-]+)` .*\*\*differs\*\*", PAGE, re.MULTILINE
    )
    assert agreeing == len(ROWS) - len(differing)


@pytest.mark.parametrize(
    ("ours", "oracle", "agrees"),
    [(1.05, 1.0, True), (1.11, 1.0, False), (0.05, 0.0, True), (0.11, 0.0, False), ([0.9, 1.2], 1.0, True)],
)
def test_a_row_agrees_within_its_tolerance(ours, oracle, agrees):
    assert Row("id", "wired", "what", "s", ours, oracle, "source", 0.1, "reason").agrees is agrees
