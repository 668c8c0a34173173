"""`baton fidelity`: from the command line to the page's path."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from baton.live import machine
from baton.live.trials import claimed
from baton.progress import sweep_progress
from baton.summary import Json
from baton.sweep.folder import write_text

from . import causes, page
from .cases import SHIPPED, read
from .execute import execute


@dataclass(frozen=True)
class FidelityOptions:
    """Options of `baton fidelity`, as given."""

    cases: Path | None
    quick: bool
    only: list[str]
    half: str | None
    repetitions: int
    out: Path
    json: bool


def run(options: FidelityOptions) -> int:
    """Runs everything both ways, writes and prints; returns the exit status, 1 if something was not compared."""
    given = options.cases or SHIPPED
    cases = read(given, quick=options.quick, only=options.only, half=options.half)
    known, listed = causes.read(given), len(read(given, quick=False, only=[], half=None))
    machine.require()
    with claimed(options.out), sweep_progress(in_lines=True) as progress:
        outcomes = execute(cases, options.repetitions, options.out, lambda ended, of: progress(ended, of, 0))
    found = page.document(outcomes, known, options.repetitions, listed)
    write_text(options.out / "fidelity.json", page.as_text(found))
    write_text(options.out / "fidelity.md", page.markdown(found))
    show(found, options)
    return 1 if found["not_compared"] else 0


def show(found: Json, options: FidelityOptions) -> None:
    """Prints the result: one JSON object, or the table, remarks on it, and the page's path."""
    differing = page.misses(found)
    if options.json:
        print(json.dumps(found))
    else:
        print(page.table(found))
        for row in differing:
            print(f"{row['case']}/{row['congestion']}, {page.name(row)}: {row['cause']}")
        for line in page.summary_lines(found):
            print(line)
        print(options.out / "fidelity.md")
    told = {0: "all figures agree", 1: "1 figure differs"}.get(len(differing), f"{len(differing)} figures differ")
    print(f"baton: {told}", file=sys.stderr)
