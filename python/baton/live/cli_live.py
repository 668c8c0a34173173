"""`baton live`: what happens between the command line and the report's path."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baton import RunError, cli_run
from baton.errors import InputError, Interrupted
from baton.expect import Expectation, parse_all
from baton.progress import progress
from baton.shipped import scenario_path
from baton.summary import Json

from . import batond
from .judge import Verdict, check_names, judge
from .owner import given_to_invoker

if TYPE_CHECKING:
    from baton import Scenario

PROGRAM_FAILED = 4


@dataclass(frozen=True)
class LiveOptions:
    """Options of `baton live`: those of `baton run`, and its own."""

    run: cli_run.RunOptions
    server: str | None
    ignore_unsupported: bool
    program: list[str]


@dataclass
class LiveResult:
    """What the daemon tells of a run."""

    summary: Json = field(default_factory=dict)
    folder: Path | None = None
    """Of the results; nothing if there are none."""
    complete: bool = False
    real_hosts: set[str] = field(default_factory=set)
    status: int = 0
    """The daemon's exit status."""


def run(options: LiveOptions) -> int:
    """Runs a scenario in real time, reports on it and returns the exit status."""
    common = options.run
    overrides = cli_run.with_handovers(common.scenario, common.overrides, common.handovers)
    scenario, expectations = load(options, overrides)
    seed = scenario.seed if common.seed is None else common.seed
    out = common.out or Path("results") / f"{scenario.name}-live-{seed}"
    cli_run.refuse_existing(out, common.force)
    if common.junit is not None:
        cli_run.try_junit(common.junit)
    with given_to_invoker(out, common.junit):
        result = execute(scenario, arguments(options, overrides, seed, out), options)
        verdict = judge(scenario, expectations, result.summary, result.real_hosts if options.program else set())
        if common.junit is not None:
            cli_run.write_junit(common.junit, result.summary, verdict.outcomes, verdict.not_checked)
        report = cli_run.write_report(out)
    show(result, verdict, report, as_json=common.json)
    if result.status:  # interrupted, failed, or its program did
        return result.status
    return 0 if all(outcome.holds for outcome in verdict.outcomes) else cli_run.EXPECTATION_FAILED


def load(options: LiveOptions, overrides: list[str]) -> tuple[Scenario, list[Expectation]]:
    """Reads a scenario and all expectations on it. Its warnings are those that the daemon gives."""
    from baton import Scenario

    scenario = Scenario.load(scenario_path(options.run.scenario), overrides, live=True)
    expectations = parse_all([*scenario.expectations, *options.run.expectations])
    check_names(expectations, scenario, program=bool(options.program), server=options.server is not None)
    return scenario, expectations


def arguments(options: LiveOptions, overrides: Sequence[str], seed: int, out: Path) -> list[str]:
    """The daemon's command line."""
    common = options.run
    given = [str(scenario_path(common.scenario)), "--seed", str(seed), "--out", str(out)]
    for override in overrides:
        given += ["--set", override]
    given += ["--program-output", "stderr" if common.json else "inherit"]
    if options.server is not None:
        given += ["--server", options.server]
    switches = {"--force": common.force, "--pcap": common.pcap, "--ignore-unsupported": options.ignore_unsupported}
    return given + [name for name, is_on in switches.items() if is_on]


def execute(scenario: Scenario, given: Sequence[str], options: LiveOptions) -> LiveResult:
    """Runs, and returns what there is at the end, which a failure or Ctrl-C may have brought early.

    The terminal of a run with a program is the program's: a progress line would write into its output.
    """
    result = LiveResult()
    with batond.running(given, options.program) as daemon:
        if options.program:
            for event in daemon.events():
                note(event, result)
        else:
            with progress(scenario.duration_s, real_time=True) as tell:
                for event in daemon.events():
                    note(event, result)
                    if tell is not None and event["event"] == "progress":
                        tell(event["at_s"], event["news"])
        result.status = daemon.wait()
    if result.folder is None:
        if result.status == cli_run.INTERRUPTED:
            raise Interrupted("interrupted before there was anything to keep")
        raise RunError(batond.ended(result.status))
    if result.status < 0:  # killed after its results were written
        result.status = 1
    return result


def note(event: dict[str, Any], result: LiveResult) -> None:
    """Takes in what the daemon tells. Raises what an error of its means here."""
    kind = event["event"]
    if kind == "ready":
        result.real_hosts = set(event["hosts"])
        print(f"baton: {event['run']} has begun: {', '.join(event['hosts'])}", file=sys.stderr)
    elif kind == "warning":
        print(f"baton: warning: {event['message']}", file=sys.stderr)
    elif kind == "done":
        result.summary, result.folder = event["summary"], Path(event["folder"])
        result.complete = event["complete"]
    elif kind == "error":
        raise (InputError if event["exit_status"] == 2 else RunError)(event["message"])


def show(result: LiveResult, verdict: Verdict, report: Path, *, as_json: bool) -> None:
    """Prints the result: one JSON object, or tables and, last, the path of the report."""
    if as_json:
        summary = {**result.summary, "not_checked": verdict.not_checked}
        cli_run.print_json(summary, verdict.outcomes, report)
        return
    from .show import print_live, why_incomplete

    print_live(result.summary, verdict)
    if result.status == cli_run.INTERRUPTED:
        print("Interrupted: what is shown and kept ends there.")
    elif not result.complete:
        print(f"The record is not complete: {why_incomplete(result.summary)}.")
    print(report)
