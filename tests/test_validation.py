"""docs/validation.md and docs/validation are what the engine measures today, as far as it can be told in a moment."""

import datetime
import json
import re
from pathlib import Path

import pytest

import validate
from validation import CASES, QUICK, SECTIONS, kernel_live
from validation.page import file, line
from validation.row import Row

ROOT = Path(__file__).resolve().parent.parent
OVERVIEW = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
AREAS = {title: (ROOT / "docs" / "validation" / file(title)).read_text(encoding="utf-8") for title in SECTIONS}
PAGE = "\n".join(AREAS.values())
ROWS = re.findall(
    r"^\| .*<br>`([\w.-]+)`, \[([\w.-]+)\]\(\.\./models/.* \| (agrees|\*\*differs\*\*) \|$", PAGE, re.MULTILINE
)


@pytest.mark.parametrize("name", QUICK)
def test_rows_without_many_runs_are_those_of_the_page(name):
    for row in CASES[name]():
        assert line(row) in PAGE, "run make validation"
        assert row.agrees or row.cause, f"{row.id} differs, and does not say why"


def test_every_case_has_its_command_on_its_area_s_page():
    for title, cases in SECTIONS.items():
        assert re.findall(r"scripts/validate\.py ([\w-]+)`", AREAS[title]) == list(cases)


def test_every_model_has_a_row():
    pages = {path.stem for path in (ROOT / "docs" / "models").glob("*.md")}
    overviews = {"README", "queues", "channel", "tcp", "traffic", "presets"}
    # The effects of remedies are held by their tests, and by the studies' checks.
    remedies = {page for page in pages if page.startswith("remedy-")}
    assert {model for _, model, _ in ROWS} == pages - overviews - remedies


def test_the_overview_counts_the_rows():
    identities = [identity for identity, _, _ in ROWS]
    assert len(set(identities)) == len(identities)
    agreeing, all_rows = map(int, re.search(r"^(\d+) of (\d+) rows agree", OVERVIEW, re.MULTILINE).groups())
    differing = re.findall(r"^- `([\w.-]+)`: .*\. (.+)$", OVERVIEW, re.MULTILINE)
    assert all_rows == len(ROWS)
    assert [identity for identity, _ in differing] == [row for row, _, verdict in ROWS if "differs" in verdict]
    assert agreeing == len(ROWS) - len(differing)
    areas = re.findall(r"^\| \[(.*)\]\(validation/.*\) \| (\d+) \| (\d+) \|$", OVERVIEW, re.MULTILINE)
    assert [title for title, _, _ in areas] == list(SECTIONS)
    assert sum(int(rows) for _, rows, _ in areas) == all_rows
    assert sum(int(agree) for _, _, agree in areas) == agreeing


def test_no_table_is_wider_than_a_page():
    """Six columns, of which one has words: with ten, the last two were cut off on the site."""
    headers = re.findall(r"^\| (.*) \|\n\|---", PAGE, re.MULTILINE)
    assert len(headers) == len(CASES)
    assert max(header.count("|") for header in headers) == 5


@pytest.mark.parametrize(
    ("ours", "oracle", "agrees"),
    [(1.05, 1.0, True), (1.11, 1.0, False), (0.05, 0.0, True), (0.11, 0.0, False), ([0.9, 1.2], 1.0, True)],
)
def test_a_row_agrees_within_its_tolerance(ours, oracle, agrees):
    assert Row("id", "wired", "what", "s", ours, oracle, "source", 0.1, "reason").agrees is agrees


def fidelity_row(**other):
    row = {
        "case": "soft-slow-fast",
        "congestion": "cubic",
        "kind": "soft",
        "half": "first",
        "quantity": "timeouts",
        "handover": None,
        "unit": "",
        "simulated": 0.0,
        "kernel": 0.0,
        "kernel_low": 0.0,
        "kernel_high": 0.0,
        "rule": "equal",
        "verdict": "agrees",
        "cause": None,
    }
    return row | other


#: Two cases of many were run, on a kernel with other defaults, and one of them was disturbed once.
PARTIAL = {
    "schema": 1,
    "date": "2026-11-20",
    "version": "0.1.0",
    "matched": "6.18",
    "kernels": ["6.18.44"],
    "sysctls": {"server": {"tcp_sack": "0"}},
    "other_settings": [
        {"setting": "tcp_sack", "value": "0", "assumed": "1", "meaning": "slower repair", "repetitions": 5}
    ],
    "repetitions": 5,
    "cases": {"compared": 2, "listed": 153},
    "rows": [
        fidelity_row(),
        fidelity_row(half="second", simulated=2.0, verdict="differs", cause="The delay is not the kernel's."),
        fidelity_row(quantity="window_bytes", unit="B", handover=2, rule=None, verdict="not judged"),
    ],
    "not_compared": ["soft-slow-fast/cubic, repetition 3: 99 % of events were up to 5 ms late"],
}


def test_a_result_of_fidelity_comes_onto_its_pages(tmp_path, monkeypatch):
    docs, folder = tmp_path / "docs", tmp_path / "found"
    pages = docs / "validation"
    for each in (pages, folder):
        each.mkdir(parents=True)
    for stays_or_goes in ("queues.md", f"{kernel_live.NAME}-hard.md"):
        (pages / stays_or_goes).write_text("as it was")
    monkeypatch.setattr(validate, "DOCS", docs)
    for kernel in ("6.19.1", "6.18.44"):  # the second replaces the first
        (folder / "fidelity.json").write_text(json.dumps(PARTIAL | {"kernels": [kernel]}))
        assert validate.main(["--fidelity", str(folder)]) == 0
    assert json.loads((docs / "fidelity-result.json").read_text()) == PARTIAL
    whole, soft = f"{kernel_live.NAME}.md", f"{kernel_live.NAME}-soft.md"
    assert {path.name for path in pages.iterdir()} == {"queues.md", whole, soft}, "no hard handover in this result"
    assert (pages / "queues.md").read_text() == "as it was"
    text = (pages / whole).read_text()
    assert "Kernel 6.18.44 beside Baton 0.1.0, whose profile linux-6 was matched to 6.18; 2026-11-20." in text
    assert "2 of the list's 153 cases" in text
    assert "6.19" not in text
    assert "- second half of the list: 0 agree, 1 differ" in text
    assert "- not compared: soft-slow-fast/cubic, repetition 3" in text
    assert "- warning: tcp_sack was 0, not 1 (5 repetitions): slower repair" in text
    assert "| soft | 1 of 2 agree |" in text
    assert "| soft-slow-fast | cubic | timeouts | 2 | 0 | equal | The delay is not the kernel's. |" in text
    assert f"]({soft})" in text
    rows = (pages / soft).read_text()
    assert "| soft-slow-fast | cubic | timeouts | 2 | 0 | equal | differs |" in rows
    assert "window at handover" not in rows, "no rule judges it"


def test_the_simulated_half_of_a_kept_result_is_run_again(tmp_path):
    """The kernel's figures stay and judge: a goodput within its repetitions agrees, one outside every rule does not."""
    path = {"case": "steady-1M-25ms-small", "kind": "steady", "half": "first", "quantity": "goodput_bps"}
    stale = {"simulated": 1.0, "verdict": "differs", "cause": "as it was", "rule": "2 %", "unit": "bit/s"}
    near = fidelity_row(**path, **stale, kernel=960e3, kernel_low=950e3, kernel_high=970e3)
    far = near | {"congestion": "reno", "kernel": 2e6, "kernel_low": 2e6, "kernel_high": 2e6}
    (tmp_path / kernel_live.RESULT).write_text(json.dumps(PARTIAL | {"rows": [near, far], "repetitions": 1}))
    kernel_live.simulate_anew(tmp_path)
    found = json.loads((tmp_path / kernel_live.RESULT).read_text())
    rows = {(row["congestion"], row["quantity"]): row for row in found["rows"]}
    agrees, differs = rows["cubic", "goodput_bps"], rows["reno", "goodput_bps"]
    assert 0.95e6 < agrees["simulated"] < 1e6, "a link of 1 Mbit/s"
    assert (agrees["kernel_low"], agrees["verdict"], agrees["cause"]) == (950e3, "agrees", None)
    assert (differs["kernel"], differs["verdict"]) == (2e6, "differs")
    assert found["date"] == PARTIAL["date"], "the kernel's"
    assert found["simulated"] == datetime.date.today().isoformat()


def test_the_pages_have_the_kept_result():
    """The pages hold the kept result, with every miss and its cause."""
    for name, text in kernel_live.pages(validate.DOCS).items():
        assert (validate.DOCS / kernel_live.FOLDER / name).read_text(encoding="utf-8") == text
    for row in json.loads((validate.DOCS / kernel_live.RESULT).read_text(encoding="utf-8"))["rows"]:
        assert row["verdict"] != "differs" or row["cause"]
