"""`baton reproduce --live`: a table on the terminal, JSON, and a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table

from baton import tables
from baton.errors import InputError
from baton.live import machine
from baton.live.owner import as_invoker
from baton.live.trials import claimed
from baton.progress import sweep_progress
from baton.sweep.folder import write_text

from . import STUDIES, TITLES, select
from .cli_reproduce import value
from .live import Found, Row, reproduce
from .page import live_lead, remarks, spread, write_live_page

#: The study that can be run live.
STUDY = "T"


def run(ids: Sequence[str], *, as_json: bool) -> int:
    """Reproduces live, prints and writes; returns the exit status, 1 if a run was late or disturbed each time."""
    chosen = select(ids or [STUDY])
    if other := next((study for study in chosen if study != STUDY), None):
        raise InputError(
            f"`{other}`: not run live, where there is no radio and no Mobile IP; expected `{STUDY}`, or its checks"
        )
    expected = chosen[STUDY]
    machine.require()
    out = Path("results") / f"reproduce-{STUDY}-live"
    with as_invoker(), claimed(out):
        with sweep_progress() as progress:
            found = reproduce(STUDIES / STUDY, expected, out, lambda ended, of: progress(ended, of, 0))
        page = write(out, found)
    if as_json:
        print(json.dumps({**found.as_json(), "reports": [str(page)]}))
    else:
        tables.new_console().print(table(found.rows))
        for line in (live_lead(found), *remarks(found)):
            print(line)
        print(page)
    return 1 if found.not_compared else 0


def write(out: Path, found: Found) -> Path:
    """Writes the table as JSON and Markdown, the reports of the runs that are kept, and the page, which is returned."""
    from baton import report

    write_text(out / "reproduce.json", json.dumps(found.as_json(), indent=1) + "\n")
    write_text(out / "reproduce.md", "\n".join(markdown(found)) + "\n")
    for folder in found.whole:
        report.write(out / folder)
    return write_live_page(out / "report.html", f"{TITLES[STUDY]}, live", found)


def table(rows: Sequence[Row]) -> Table:
    """One row a check."""
    made = tables.new_table("Check", "Quantity", "Unit", *_COLUMNS, text_columns=3)
    for row in rows:
        made.add_row(row.expected.id, row.expected.quantity, row.expected.unit, *_numbers(row), spread(row))
    return made


def markdown(found: Found) -> Iterator[str]:
    """The table as lines of Markdown."""
    yield f"{found.as_json()['date']}. {live_lead(found)}"
    yield ""
    yield f"| Check | Quantity | {' | '.join(_COLUMNS)} | Unit |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in found.rows:
        cells = (row.expected.id, row.expected.quantity, *_numbers(row), spread(row), row.expected.unit)
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from (f"- {line}" for line in remarks(found))


_COLUMNS = ("Published", "linux-2.0.36", "linux-6", "Kernel", "Least to greatest")


def _numbers(row: Row) -> list[str]:
    return [value(number) for number in (row.expected.published, *row.simulated.values(), row.kernel)]
