"""The runs of a live sweep: one after the other, since a second one would disturb the first."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from baton import RunError, ScenarioError
from baton.cli_run import Captures, RunOptions
from baton.errors import InputError, Interrupted
from baton.live import emulator, machine
from baton.live.attempts import Attempted, attempt
from baton.live.execution import LiveOptions, LiveTest
from baton.live.owner import as_invoker
from baton.live_words import program_text
from baton.summary import Json

from .code import Live
from .execute import Outcome, PointRuns
from .study import Point

# Nothing but the summary is kept of a run.
NOT_RECORDED = ["record.series=false", "record.packets=false"]


class LiveRuns:
    """Runner of the requested live runs, in their order."""

    most_requested = 2

    def __init__(self) -> None:
        self.tests: list[LiveTest] = []
        """Tests of the points that can be run, in their order."""
        self._points: list[str] = []
        self._waiting: deque[tuple[int, int]] = deque()

    def add(self, point: str, test: LiveTest) -> None:
        """Takes the next point, which is described in words."""
        self.tests.append(test)
        self._points.append(point)

    def submit(self, place: int, seed: int) -> None:
        """Requests a run of a test."""
        self._waiting.append((place, seed))

    def next(self) -> Outcome | None:
        """Makes the next run; returns nothing if none is requested. Raises `KeyboardInterrupt`, also when it met the
        run."""
        if not self._waiting:
            return None
        place, seed = self._waiting.popleft()
        where = f"{self._points[place]}, seed {seed}"
        print(f"baton: {where}", file=sys.stderr)
        try:
            with as_invoker(), tempfile.TemporaryDirectory(prefix="baton-live-") as folder:
                tried = attempt(self.tests[place], seed, Path(folder, "run"))
        except Interrupted:
            raise KeyboardInterrupt from None
        except (InputError, RunError, OSError) as error:
            print(f"baton: {where}: FAILED: {error}", file=sys.stderr)
            return Outcome(place, seed, None, str(error))
        print(f"baton: {where}: {_in_words(tried)}", file=sys.stderr)
        return Outcome(place, seed, json.dumps(_summary(tried), ensure_ascii=False), None)

    def close(self) -> None:
        """Discards the requests."""
        self._waiting.clear()


def _summary(tried: Attempted) -> Json:
    """Returns the summary of the last try, whose trust is judged as that of repetitions is."""
    summary = tried.result.summary
    doubts = [] if tried.counts else list(dict.fromkeys(tried.doubts))
    return summary | {"live": summary["live"] | {"trusted": tried.counts, "doubts": doubts}}


def _in_words(tried: Attempted) -> str:
    program = tried.result.summary.get("program")
    told = program_text(program) if program else "done"
    return told if tried.counts else f"NOT TRUSTED: {'; '.join(dict.fromkeys(tried.doubts))}"


def load(scenario: Path, points: Sequence[Point], live: Live) -> tuple[list[PointRuns], LiveRuns]:
    """Returns the points, some perhaps with a reason why they cannot be run live, and the runner of their runs.

    Raises `InputError`, which says what to do, if no live run is possible.
    """
    machine.require()
    runs, runner = list[PointRuns](), LiveRuns()
    for point in points:
        try:
            test = _test(scenario, point, live)
        except ScenarioError as error:
            runs.append(PointRuns(None, str(error)))
            continue
        refused = _refused(scenario, point)
        runs.append(PointRuns(None if refused else test.scenario, refused))
        if not refused:
            runner.add(point.name, replace(test, overrides=[*test.overrides, *NOT_RECORDED]))
    return runs, runner


def _test(scenario: Path, point: Point, live: Live) -> LiveTest:
    common = RunOptions(
        scenario=str(scenario),
        seed=None,
        overrides=point.overrides,
        handovers=[],
        out=None,
        force=False,
        captures=Captures(),
        expectations=[],
        junit=None,
        json=True,
    )
    return LiveTest.load(LiveOptions(common, live.server, False, True, list(live.program)))


def _refused(scenario: Path, point: Point) -> str | None:
    """Returns the parts of a point that the kernel cannot do; nothing if it can do all."""
    settings = [part for override in point.overrides for part in ("--set", override)]
    _, answer = emulator.ask("check", str(scenario), *settings)
    refused = [f"{each['key']}: {each['message']}" for each in answer["refused"]]
    return "\n".join(refused) or None
