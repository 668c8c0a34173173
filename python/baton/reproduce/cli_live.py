"""`baton reproduce --live`: a table on the terminal, JSON, and a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from baton.errors import InputError
from baton.live import machine
from baton.live.owner import as_invoker
from baton.live.trials import claimed
from baton.progress import sweep_progress
from baton.sweep.folder import write_text
from baton.text_table import Table

from . import STUDIES, TITLES, select
from .cli_reproduce import value
from .live import LIVE_STUDIES, Found, Row, reproduce
from .page import live_lead, remarks, spread, write_live_page

#: The study that is run live if none is named.
DEFAULT = "T"


def run(ids: Sequence[str], *, as_json: bool) -> int:
    """Reproduces live, prints and writes; returns the exit status, 1 if a run was late or disturbed each time."""
    chosen = select(ids or [DEFAULT])
    if other := next((study for study in chosen if study not in LIVE_STUDIES), None):
        known = ", ".join(f"`{study}`" for study in LIVE_STUDIES)
        raise InputError(f"`{other}`: not run live; expected one of {known}, or checks of one")
    if len(chosen) > 1:
        raise InputError(f"{', '.join(chosen)}: one study at a time is run live; expected checks of one")
    ((study, expected),) = chosen.items()
    machine.require()
    out = Path("results") / f"reproduce-{study}-live"
    with as_invoker(), claimed(out):
        with sweep_progress() as progress:
            places = (STUDIES / study, out)
            found = reproduce(LIVE_STUDIES[study], expected, places, lambda ended, of: progress(ended, of, 0))
        page = write(out, study, found)
    if as_json:
        print(json.dumps({**found.as_json(), "reports": [str(page)]}))
    else:
        print(table(study, found.rows))
        for line in (live_lead(found), *remarks(found)):
            print(line)
        print(page)
    return 1 if found.not_compared else 0


def write(out: Path, study: str, found: Found) -> Path:
    """Writes the table as JSON and Markdown, the reports of the kept runs, and the page, whose path it returns."""
    from baton import report

    write_text(out / "reproduce.json", json.dumps(found.as_json(), indent=1) + "\n")
    write_text(out / "reproduce.md", "\n".join(markdown(study, found)) + "\n")
    for folder in found.whole:
        report.write(out / folder)
    return write_live_page(out / "report.html", f"{TITLES[study]}, live", found)


def table(study: str, rows: Sequence[Row]) -> Table:
    """Returns a table with one row per check."""
    made = Table("Check", "Quantity", "Unit", *_columns(study), text_columns=3)
    for row in rows:
        made.add_row(row.expected.id, row.expected.quantity, row.expected.unit, *_numbers(row), spread(row))
    return made


def markdown(study: str, found: Found) -> Iterator[str]:
    """Yields the table as lines of Markdown."""
    yield f"{found.as_json()['date']}. {live_lead(found)}"
    yield ""
    yield f"| Check | Quantity | {' | '.join(_columns(study))} | Unit |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in found.rows:
        cells = (row.expected.id, row.expected.quantity, *_numbers(row), spread(row), row.expected.unit)
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from (f"- {line}" for line in remarks(found))


def _columns(study: str) -> tuple[str, ...]:
    return ("Published", *LIVE_STUDIES[study].stacks, "Kernel", "Least to greatest")


def _numbers(row: Row) -> list[str]:
    return [value(number) for number in (row.expected.published, *row.simulated.values(), row.kernel)]
