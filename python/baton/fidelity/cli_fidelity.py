"""`baton fidelity`: what happens between the command line and the page's path."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from baton import tables
from baton.live import machine
from baton.live.trials import claimed
from baton.progress import sweep_progress
from baton.sweep.folder import write_text

from . import page
from .cases import SHIPPED, read
from .execute import execute
from .judge import DIFFERS


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
    cases = read(options.cases or SHIPPED, quick=options.quick, only=options.only, half=options.half)
    machine.require()
    with claimed(options.out), sweep_progress() as progress:
        outcomes = execute(cases, options.repetitions, options.out, lambda ended, of: progress(ended, of, 0))
    judged = page.all_rows(outcomes)
    found = page.document(outcomes, judged, options.repetitions)
    write_text(options.out / "fidelity.json", json.dumps(found, indent=1) + "\n")
    write_text(options.out / "fidelity.md", page.markdown(found, judged))
    if options.json:
        print(json.dumps(found))
    else:
        tables.new_console().print(page.table(judged))
        for line in (*page.summary_lines(judged), *(f"not compared: {each}" for each in found["not_compared"])):
            print(line)
        print(options.out / "fidelity.md")
    differ = sum(row.verdict == DIFFERS for row in judged)
    print(f"baton: {differ} figures differ" if differ else "baton: all figures agree", file=sys.stderr)
    return 1 if found["not_compared"] else 0
