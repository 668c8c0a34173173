"""`baton reproduce`: a table on the terminal, JSON, and a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from baton import Scenario
from baton.sweep.engines import opened
from baton.text_table import Table

from . import STUDIES, TITLES, reproduce
from .checks import Check, Reproduced, summary, tally
from .page import counted, write_page

#: Version of what `--json` prints.
FORMAT = 1
#: Scenarios of which the page shows a whole run, the first of the runs that were counted.
SHOWN = {
    "A": ("transfer", "peers", "handover", "setup"),
    "C": ("upload", "download", "mobility"),
    "D": ("baseline", "proposal-1", "proposal-2"),
    "S": ("single", "pair", "line"),
    "T": ("download", "download-back", "upload"),
}


def run(ids: Sequence[str], *, jobs: int | None, executor: str | None, as_json: bool) -> int:
    """Reproduces, prints and writes; returns the exit status."""
    with opened(executor, jobs) as engine, Console(stderr=True).status("starting") as status:
        results = reproduce(ids, lambda text: status.update(text), engine)
        pages = [write_study(study, found) for study, found in results.items()]
    if as_json:
        rows = [check.as_json() for found in results.values() for check in found.checks]
        counts = {study: tally(found.checks) for study, found in results.items()}
        reports = [str(page) for page in pages]
        print(json.dumps({"format": FORMAT, "counts": counts, "checks": rows, "reports": reports}))
        return 0
    for study, found in results.items():
        print(check_table(study, found.checks))
        for check in found.checks:
            for remark in check.remarks():
                print(f"{check.id}: {remark}")
    if len(results) > 1:
        print(f"All: {summary([check for found in results.values() for check in found.checks])}")
    for page in pages:
        print(page)
    return 0


def write_study(study: str, found: Reproduced) -> Path:
    """Writes a study's page and the runs that it shows, and returns the page's path."""
    from baton import report

    folder = Path("results") / f"reproduce-{study}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in SHOWN[study]:
        scenario = Scenario.load(STUDIES / study / f"{name}.toml")
        scenario.run(folder / name, seed=1, force=True)
        report.write(folder / name)
    return write_page(folder / "report.html", TITLES[study], found, SHOWN[study])


def check_table(study: str, checks: Sequence[Check]) -> Table:
    """Returns a table of published and measured numbers."""
    numbers = ("Published", "Measured", "95 % interval", "Seeds")
    title = f"Study {study}: {TITLES[study]}"
    table = Table("Check", "Quantity", "Unit", *numbers, "Rule", "Verdict", text_columns=3, title=title)
    for check in checks:
        table.add_row(
            check.id,
            check.quantity,
            check.unit,
            value(check.published),
            value(check.measured),
            interval(check),
            counted(check),
            check.rule,
            check.verdict,
        )
    table.caption = summary(checks)
    return table


def value(number: float | None) -> str:
    """Writes a number with as many digits as it deserves."""
    return "-" if number is None else f"{number:.4g}"


def interval(check: Check) -> str:
    """Writes the 95 % interval of the mean, unless there is none or it is a point."""
    if check.low is None or check.high is None or check.low == check.high:
        return ""
    return f"{check.low:.4g} to {check.high:.4g}"
