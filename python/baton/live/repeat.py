"""`baton live --repeat`: several live runs, judged one by one and all together."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from baton import cli_run, junit, report, tables
from baton.errors import Interrupted
from baton.expect import Outcome
from baton.summary import Json
from baton.sweep.statistics import Statistics, describe
from baton.text_table import Table

from .attempts import attempt
from .cli_live import prepare, suite, write_report
from .execution import PROGRAM_FAILED, LiveOptions, LiveResult, LiveTest
from .over import OverRepetitions, value
from .owner import as_invoker

#: Quantities that are told of all repetitions, beside those of the expectations: paths in the summary.
QUANTITIES = ("program.longest_stall_s", "program.wall_s", "handovers.completed")


@dataclass
class Repetition:
    """One of several live runs."""

    number: int
    seed: int
    folder: Path
    result: LiveResult
    doubts: list[str] = field(default_factory=list)
    """Reasons why earlier tries, or all of them, do not count."""
    counts: bool = True
    """True if the last try was neither late nor disturbed."""

    @property
    def passed(self) -> bool:
        """True if the program succeeded and the repetition's expectations hold."""
        return self.counts and self.result.exit_status == 0

    def to_json(self) -> Json:
        """Returns the repetition as in `repetitions.json`."""
        return {
            "repetition": self.number,
            "seed": self.seed,
            "folder": self.folder.name,
            "passed": self.passed,
            "status": self.result.exit_status,
            "trusted": self.counts,
            "doubts": self.doubts,
            "program": self.result.summary.get("program"),
            "expectations": [outcome.to_json() for outcome in self.result.verdict.outcomes],
        }


@dataclass(frozen=True)
class Repetitions:
    """All repetitions, and the expectations on them together."""

    name: str
    every: list[Repetition]
    outcomes: list[Outcome]
    """The share that has to pass, and the expectations over repetitions."""
    statistics: dict[str, Statistics]

    @property
    def exit_status(self) -> int:
        """Exit status: 1 if some were disturbed at each try, 3 if something does not hold, 4 if only programs are to
        blame."""
        if all(outcome.holds for outcome in self.outcomes):
            return 0 if all(each.counts for each in self.every) else 1
        failed = [each.result.status for each in self.every if each.counts and not each.passed]
        blamed = failed and all(status == PROGRAM_FAILED for status in failed)
        return PROGRAM_FAILED if blamed else cli_run.EXPECTATION_FAILED

    def to_json(self) -> Json:
        """Returns all repetitions as in `repetitions.json` and the output of `--json`."""
        return {
            "format": 1,
            "scenario": self.name,
            "passed": sum(each.passed for each in self.every),
            "repetitions": [each.to_json() for each in self.every],
            "statistics": {path: found.to_json() for path, found in self.statistics.items()},
            "expectations": [outcome.to_json() for outcome in self.outcomes],
        }


def run(options: LiveOptions, repetitions: int, least_share: float) -> int:
    """Runs all repetitions, reports on them and returns the exit status."""
    common = options.run
    over = [OverRepetitions.parse(text) for text in common.expectations if OverRepetitions.is_one(text)]
    single = [text for text in common.expectations if not OverRepetitions.is_one(text)]
    test = LiveTest.load(replace(options, run=common._replace(expectations=single)))
    test.check_names([each.inner for each in over])
    over.insert(0, OverRepetitions.passing(least_share))
    out = common.out or Path("results") / f"{test.scenario.name}-live-{test.seed}-x{repetitions}"
    prepare(out, common)
    every: list[Repetition] = []
    try:
        for number in range(1, repetitions + 1):
            every.append(repeat(test, number, out))
            print(f"baton: repetition {number} of {repetitions}: {in_words(every[-1])}", file=sys.stderr)
    except Interrupted:
        print(f"baton: interrupted after {len(every)} of {repetitions} repetitions", file=sys.stderr)
    found = judge(test.scenario.name, every, over)
    write(out, found, common.junit)
    show(out, found, as_json=common.json)
    return found.exit_status if len(every) == repetitions else cli_run.INTERRUPTED


def repeat(test: LiveTest, number: int, out: Path) -> Repetition:
    """Makes one repetition; tries again what was late or disturbed. Raises `Interrupted`."""
    folder, seed = out / str(number), test.seed + number - 1
    tried = attempt(test, seed, folder)
    write_report(folder)
    return Repetition(number, seed, folder, tried.result, tried.doubts, tried.counts)


def judge(name: str, every: list[Repetition], over: Sequence[OverRepetitions]) -> Repetitions:
    """Checks the expectations on all repetitions together; those that do not count have no quantities."""
    summaries = [each.result.summary | {"passed": each.passed} for each in every if each.counts]
    asked = [".".join(each.inner.path) for each in over if each.function != "share"]
    statistics = {}
    for path in dict.fromkeys([*QUANTITIES, *asked]):
        values = [value(path, summary) for summary in summaries]
        statistics[path] = describe(np.array(values, dtype=float))
    return Repetitions(name, every, [each.check(summaries) for each in over], statistics)


def in_words(repetition: Repetition) -> str:
    """Describes the outcome of a repetition."""
    if not repetition.counts:
        return f"not to be trusted: {'; '.join(dict.fromkeys(repetition.doubts))}"
    if repetition.result.status == PROGRAM_FAILED:
        return "the program failed"
    missed = [outcome for outcome in repetition.result.verdict.outcomes if not outcome.holds]
    told = "; ".join(f"{each.expectation.text} (measured {each.measured_text})" for each in missed)
    return f"FAILED: {told}" if missed else "passed"


def write(out: Path, found: Repetitions, junit_file: Path | None) -> None:
    """Writes the results as JSON, a page, and as JUnit: a suite for each repetition, and one for all together."""
    from .repeat_page import page

    text = page(found)
    with as_invoker(junit_file):
        out.mkdir(parents=True, exist_ok=True)
        (out / "repetitions.json").write_text(json.dumps(found.to_json(), indent=1) + "\n", encoding="utf-8")
        report.write_page(out / "report.html", text.encode())
        if junit_file is not None:
            together = junit.Suite(found.name, 0.0, [junit.case_of(outcome) for outcome in found.outcomes])
            single = (suite(f"{found.name} {each.number}", each.result) for each in found.every)
            cli_run.write_junit(junit_file, [together, *single])


def show(out: Path, found: Repetitions, *, as_json: bool) -> None:
    """Prints the results: one JSON object, or tables."""
    if as_json:
        print(json.dumps({**found.to_json(), "folder": str(out)}))
        return
    passed = sum(each.passed for each in found.every)
    print(f"{found.name}: {passed} of {len(found.every)} repetitions passed")
    for each in found.every:
        if not each.passed:
            print(f"repetition {each.number}, seed {each.seed}: {in_words(each)}")
    made = Table("Quantity", "Mean", "95 % interval", "50 %", "95 %", "Repetitions", text_columns=1)
    for path, told in found.statistics.items():
        if told.mean is not None:
            interval = "-" if told.low is None else f"{told.low:.4g} to {told.high:.4g}"
            quantiles = (f"{told.quantiles[percent]:.4g}" for percent in ("50", "95"))
            made.add_row(path, f"{told.mean:.4g}", interval, *quantiles, f"{told.values}")
    print(made)
    print(tables.expectation_table(found.outcomes))
    print(out / "report.html")
