"""`baton live`: from the command line to the report's path."""

from __future__ import annotations

import shlex
from pathlib import Path

from baton import cli_run, junit
from baton.live_words import ending

from .execution import PROGRAM_FAILED, LiveOptions, LiveResult, LiveTest
from .handovers import Wanted
from .owner import as_invoker


def run(options: LiveOptions) -> int:
    """Runs a scenario in real time, reports on it and returns the exit status."""
    common = options.run
    test = LiveTest.load(options)
    out = cli_run.results_folder(f"{test.scenario.name}-live-{test.seed}", common)
    prepare(out, common)
    result = test.run(test.seed, out)
    if common.junit is not None:
        with as_invoker(common.junit):
            cli_run.write_junit(common.junit, [suite(test.scenario.name, result)])
    show(result, write_report(out), test.wanted, as_json=common.json)
    return result.exit_status


def prepare(out: Path, options: cli_run.RunOptions) -> None:
    """Raises `InputError` if results or the JUnit file cannot be written: better before a long run than after it."""
    cli_run.refuse_existing(out, options.force)
    with as_invoker(options.junit):
        if options.junit is not None:
            cli_run.try_junit(options.junit)


def suite(name: str, result: LiveResult) -> junit.Suite:
    """Returns a run's test cases: the program, the expectations, and those that were not checked."""
    cases = [junit.case_of(outcome) for outcome in result.verdict.outcomes]
    cases += [junit.Case(text, is_skipped=True) for text in result.verdict.not_checked]
    program = result.summary.get("program")
    if program:
        failure = f"{ending(program)} after {program['wall_s']:.3g} s" if result.status == PROGRAM_FAILED else None
        cases.insert(0, junit.Case(f"program: {shlex.join(program['argv'])}", failure, "program"))
    return junit.Suite(name, result.summary["wall_s"], cases)


def write_report(folder: Path) -> Path:
    """Makes the report, and writes it as the invoking user."""
    from baton import report

    run = report.read_run(folder)
    page = report.page(run, report.describe(run))
    with as_invoker():
        return report.write_page(folder / "report.html", page)


def show(result: LiveResult, report: Path, handovers: Wanted, *, as_json: bool) -> None:
    """Prints the result: one JSON object, or tables and, last, the path of the report."""
    verdict = result.verdict
    if as_json:
        summary = {**result.summary, "not_checked": verdict.not_checked}
        cli_run.print_json(summary, verdict.outcomes, report)
        return
    from .show import print_live, why_incomplete

    print_live(result.summary, verdict, handovers.why_not(result.summary))
    if result.status == cli_run.INTERRUPTED:
        print("Interrupted: the results end there.")
    elif not result.complete:
        print(f"The record is not complete: {why_incomplete(result.summary)}.")
    print(report)
