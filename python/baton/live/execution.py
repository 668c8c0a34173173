"""One live run: the emulator's input, and its events."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baton import RunError, cli_run, stored, travel, verdicts
from baton.errors import InputError, Interrupted
from baton.expect import Expectation, parse_all
from baton.live_words import ending
from baton.progress import lines_each_second, progress
from baton.shipped import scenario_path
from baton.summary import Json

from . import emulator, own_numbers
from .decisions import Deciding
from .handovers import Wanted, wanted
from .judge import Verdict, check_names, judge
from .owner import as_invoker, without_home

if TYPE_CHECKING:
    from baton import Scenario

PROGRAM_FAILED = 4


@dataclass(frozen=True)
class LiveOptions:
    """Options of `baton live`: those of `baton run`, and its own."""

    run: cli_run.RunOptions
    server: str | None
    ignore_unsupported: bool
    allow_no_handover: bool
    program: list[str]


@dataclass
class LiveResult:
    """Results of a run, from the emulator."""

    summary: Json = field(default_factory=dict)
    folder: Path | None = None
    """Folder of the results; nothing if there are none."""
    complete: bool = False
    real_hosts: set[str] = field(default_factory=set)
    status: int = 0
    """The emulator's exit status."""
    verdict: Verdict = field(default_factory=lambda: Verdict([], []))

    @property
    def passed(self) -> bool:
        """True if the program succeeded and all expectations hold."""
        return self.exit_status == 0

    @property
    def failures(self) -> list[str]:
        """Failures, in words."""
        missed = [outcome for outcome in self.verdict.outcomes if not outcome.holds]
        failed = [f"{each.expectation.text}: measured {each.measured_text}" for each in missed]
        program = self.summary.get("program")
        return [f"the program: {ending(program)}", *failed] if self.status == PROGRAM_FAILED and program else failed

    @property
    def exit_status(self) -> int:
        """Exit status of `baton live`: the emulator's, or 3 if an expectation does not hold."""
        holds = all(outcome.holds for outcome in self.verdict.outcomes)
        return self.status or (0 if holds else cli_run.EXPECTATION_FAILED)


@dataclass(frozen=True)
class LiveTest:
    """A live run that is ready to start, and the expectations on it."""

    options: LiveOptions
    overrides: Sequence[str]
    scenario: Scenario
    expectations: list[Expectation]
    wanted: Wanted

    @staticmethod
    def load(options: LiveOptions) -> LiveTest:
        """Reads a scenario and all expectations on it. The emulator gives the warnings."""
        from baton import Scenario

        common = options.run
        overrides = cli_run.with_handovers(common.scenario, common.overrides, common.handovers)
        scenario = Scenario.load(scenario_path(common.scenario), overrides, live=True)
        expectations = parse_all([*scenario.expectations, *common.expectations])
        handovers = wanted(scenario, expectations, options.allow_no_handover)
        test = LiveTest(options, overrides, scenario, expectations, handovers)
        test.check_names(expectations)
        return test

    def check_names(self, expectations: Sequence[Expectation]) -> None:
        """Raises `InputError` for an expectation on something that the run will not measure."""
        options = self.options
        check_names(expectations, self.scenario, program=bool(options.program), server=options.server is not None)

    @property
    def seed(self) -> int:
        """The requested seed, or the scenario's."""
        return self.scenario.seed if self.options.run.seed is None else self.options.run.seed

    def run(self, seed: int, out: Path) -> LiveResult:
        """Runs once, and checks the expectations."""
        with own_numbers.file_for_program() as own:
            result = execute(self.scenario, arguments(self.options, self.overrides, seed, out), self.options)
            program, server = result.summary.get("program"), result.summary.get("server")
            if program:
                program["reported"] = own_numbers.read(own)
                program["argv"] = [without_home(word) for word in program["argv"]]
            if server:
                server["command"] = without_home(server["command"])
        replaced = result.real_hosts if self.options.program else set()
        result.verdict = judge(self.scenario, self.expectations, result.summary, replaced)
        result.verdict.outcomes += self.wanted.outcomes(result.summary)
        file = scenario_path(self.options.run.scenario)
        with as_invoker():
            stored.update(out / "summary.json", program=program, server=server)
            travel.make_portable(out, file, self.scenario)
            verdicts.keep(out, result.verdict.outcomes)
        return result


def arguments(options: LiveOptions, overrides: Sequence[str], seed: int, out: Path) -> list[str]:
    """Returns the emulator's command line."""
    common = options.run
    given = [str(scenario_path(common.scenario)), "--seed", str(seed), "--out", str(cli_run.real_folder(out))]
    for override in overrides:
        given += ["--set", override]
    given += ["--program-output", "stderr" if common.json else "inherit"]
    if options.server is not None:
        given += ["--server", options.server]
    for interface in common.captures.interfaces:
        given += ["--pcap-interface", interface]
    if common.captures.snap_length is not None:
        given += ["--snap-length", str(common.captures.snap_length)]
    pcap = common.captures.pcap
    switches = {"--force": common.force, "--pcap": pcap, "--ignore-unsupported": options.ignore_unsupported}
    return given + [name for name, is_on in switches.items() if is_on]


def execute(scenario: Scenario, given: Sequence[str], options: LiveOptions) -> LiveResult:
    """Runs, and returns the results at the end, which a failure or Ctrl-C may have brought forward.

    On a terminal it shows progress: beside a program, whose output a progress line would spoil, by a new line each
    second.
    """
    result = LiveResult()
    shown = lines_each_second() if options.program else progress(scenario.duration_s, real_time=True)
    deciding = Deciding(scenario)
    far_end = deciding.far_end
    asking = emulator.running(given, options.program, None if far_end is None else far_end.fileno())
    try:
        with asking as started, shown as tell:
            deciding.close()
            for event in started.events():
                note(event, result)
                if tell is not None and event["event"] == "progress":
                    tell(event["at_s"], event["news"])
            result.status = started.wait()
    except RunError:
        if deciding.failure is not None:
            raise deciding.failure from None
        raise
    if result.folder is None:
        if result.status == cli_run.INTERRUPTED:
            raise Interrupted("interrupted before there were results to keep")
        raise RunError(emulator.ended(result.status))
    if result.status < 0:  # killed after its results were written
        result.status = 1
    return result


def note(event: dict[str, Any], result: LiveResult) -> None:
    """Handles an event of the emulator. Raises the error that the event reports."""
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
