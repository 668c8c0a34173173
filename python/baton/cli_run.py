"""`baton run`: from the command line to the report's path."""

import contextlib
import importlib
import itertools
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from baton import Result, Scenario, classes, expect, verdicts
from baton.errors import InputError
from baton.own_files import refuse_strangers
from baton.progress import progress
from baton.shipped import scenario_path
from baton.summary import Json, skeleton

if TYPE_CHECKING:
    from baton import junit

EXPECTATION_FAILED = 3
INTERRUPTED = 130


class Captures(NamedTuple):
    """Requested captures; `interfaces` and `snap_length` imply `pcap`."""

    pcap: bool = False
    interfaces: Sequence[str] = ()
    snap_length: int | None = None


class RunOptions(NamedTuple):
    """Options of `baton run`, as given."""

    scenario: str
    seed: int | None
    overrides: list[str]
    handovers: list[str]
    out: Path | None
    force: bool
    captures: Captures
    expectations: list[str]
    junit: Path | None
    json: bool
    allow_python: bool = False
    threads: int | None = None


def run(options: RunOptions) -> int:
    """Runs a scenario, reports on it and returns the exit status."""
    overrides = with_handovers(options.scenario, options.overrides, options.handovers)
    python = allowed(options.allow_python)
    scenario, expectations = load(options.scenario, overrides, options.expectations, python=python)
    if options.junit is not None:
        try_junit(options.junit)
    if options.threads is not None:
        check_threads(scenario, options)
    out = results_folder(f"{scenario.name}-{scenario.seed if options.seed is None else options.seed}", options)
    result = execute(scenario, options, out)
    if options.threads is not None:
        from baton import parts

        parts.warn_after(result.summary)
    outcomes = [expectation.check(result.summary) for expectation in expectations]
    if options.junit is not None:
        from baton import junit

        cases = [junit.case_of(outcome) for outcome in outcomes]
        write_junit(options.junit, [junit.Suite(scenario.name, result.summary["wall_s"], cases)])
    verdicts.keep(out, outcomes)
    report = write_report(out)
    show(result, outcomes, report, as_json=options.json)
    if not result.complete:
        return INTERRUPTED
    return 0 if all(outcome.holds for outcome in outcomes) else EXPECTATION_FAILED


def allowed(allow_python: bool) -> classes.Permission:
    """Returns the permission for classes in Python."""
    return "anywhere" if allow_python else "beside"


def load(
    given: str,
    overrides: Sequence[str],
    expectations: Sequence[str] = (),
    *,
    live: bool = False,
    python: classes.Permission = "look",
) -> tuple[Scenario, list[expect.Expectation]]:
    """Reads a scenario, for a live run if asked, and all expectations on it, and warns of probable mistakes."""
    classes.permit(python)
    scenario = Scenario.load(scenario_path(given), overrides, live=live)
    for warning in scenario.warnings:
        print(f"baton: warning: {warning}", file=sys.stderr)
    parsed = expect.parse_all([*scenario.expectations, *expectations])
    if parsed:
        names = skeleton(scenario.flow_names, scenario.class_names)
        for expectation in parsed:
            expectation.check(names)
    return scenario, parsed


def with_handovers(given: str, overrides: list[str], handovers: Sequence[str]) -> list[str]:
    """Returns the overrides, and one for the timetable if the command line asks for handovers. Raises `InputError`."""
    if not handovers:
        return overrides
    from baton.handover_spec import timetable_override

    return [*overrides, timetable_override(Scenario.load(scenario_path(given), overrides, live=True), handovers)]


def execute(scenario: Scenario, options: RunOptions, out: Path) -> Result:
    """Runs the scenario with a progress line. Ctrl-C ends the run early; the result then says that it is not
    complete."""
    refuse_existing(out, options.force)
    # The report needs no linear algebra, for which numpy's library starts a thread on each core, which waits busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A short run is over before these imports, which go on beside it.
    importing = threading.Thread(target=_import_report, name="import report")
    importing.start()
    with progress(scenario.duration_s) as report:
        result = scenario.run(
            real_folder(out),
            seed=options.seed,
            force=options.force,
            pcap=options.captures.pcap,
            snap_length=options.captures.snap_length,
            pcap_interfaces=options.captures.interfaces,
            progress=report,
            threads=options.threads,
        )
    importing.join()  # an import that fails while another thread waits for it is not told as what it is
    return result


def check_threads(scenario: Scenario, options: RunOptions) -> None:
    """Warns if the scenario is not cut. Raises `InputError` if captures are wanted, too."""
    from baton import parts

    if options.captures != Captures(interfaces=[]):
        raise InputError("--threads and --pcap: a run on threads writes no captures; expected one of them")
    parts.warn_before(scenario.name, scenario.cut)


def _import_report() -> None:
    # A failure here comes again, and is reported, when the report is written.
    with contextlib.suppress(Exception):
        importlib.import_module("baton.report")


def results_folder(name: str, options: RunOptions) -> Path:
    """Returns the requested folder, or else the first of `results/NAME`, `results/NAME-2`, … that is free.

    With --force it is `results/NAME`.
    """
    first = Path("results") / name
    if options.out is not None or options.force:
        return options.out or first
    numbered = (first.with_name(f"{name}-{number}") for number in itertools.count(2))
    return next(folder for folder in itertools.chain([first], numbered) if not folder.exists())


def real_folder(out: Path) -> Path:
    """Returns a folder's path without links and `..`: a path through the folder itself would break when it is
    replaced."""
    return out.resolve() if out.exists() else out


def refuse_existing(out: Path, force: bool) -> None:
    """Raises `InputError` if the folder exists and may not be replaced."""
    if out.exists() and not force:
        raise InputError(f"{out}: already exists; choose another folder with --out, or replace it with --force")
    refuse_strangers(out)


def try_junit(path: Path) -> None:
    """Raises `InputError` if no JUnit file can be written at `path`: better before a long run than after it."""
    is_new = not path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise InputError(f"{path}: cannot write the JUnit file: {error.strerror}") from error


def write_junit(path: Path, suites: "Sequence[junit.Suite]") -> None:
    """Writes the JUnit file. Raises `InputError` if it cannot be written."""
    from baton import junit

    try:
        junit.write(path, suites)
    except OSError as error:
        raise InputError(f"{path}: cannot write the JUnit file: {error.strerror}") from error


def write_report(folder: Path) -> Path:
    """Writes the report into a results folder and returns its path."""
    from baton import report

    return report.write(folder)


def show(result: Result, outcomes: Sequence[expect.Outcome], report: Path, *, as_json: bool) -> None:
    """Prints the result: one JSON object, or tables and, last, the path of the report."""
    if as_json:
        print_json(result.summary, outcomes, report)
        return
    from baton import tables

    tables.print_summary(result.summary, outcomes, tables.headline(result.summary))
    if not result.complete:
        print("Interrupted: the results end there.")
    print(report)


def print_json(summary: Json, outcomes: Sequence[expect.Outcome], report: Path) -> None:
    """Prints the single object of `--json`."""
    import json

    expectations = [outcome.to_json() for outcome in outcomes]
    print(json.dumps({**summary, "expectations": expectations, "report": str(report)}))
