"""Sweeps from Python, which leave no folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from baton._baton import Scenario

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pyarrow as pa
    from distributed import Client

    from baton.summary import Json

    from .execute import PointRuns, Runner
    from .folder import Kept
    from .live import LiveRuns
    from .study import Point


class Found(NamedTuple):  # no dataclass: that would take most of the time of `import baton`
    """Results of a sweep."""

    runs: pa.Table
    """One row a run: `point`, `seed`, `set.<key>` for each axis, and every number of the run's summary. `to_pandas()`
    makes a data frame of it."""
    statistics: Json
    """Points, paired differences and failures: what `baton sweep --json` prints."""


class Live(NamedTuple):
    """Programs in the real hosts of a live sweep."""

    program: Sequence[str] = ()
    """The program in the mobile and its arguments; without one the scenario's flows run, with the kernel's TCP."""
    server: str | None = None
    """A command for the shell in the correspondent, as `--server` of `baton live`."""


class InMemory:
    """Keeper that stores nothing beyond the sweep itself."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []

    def keep(self, point: int, seed: int, summary: str | None, reason: str | None) -> None:
        """Keeps nothing more."""


def run(
    scenario: Scenario | str | PathLike[str],
    axes: Mapping[str, Sequence[Any]],
    *,
    seeds: int = 10,
    jobs: int | None = None,
    executor: Executor | Client | str | None = None,
    until_width: str | None = None,
    live: Live | None = None,
) -> Found:
    """Runs a scenario over all combinations of the axes' values, each with the same `seeds` seeds, on all cores.

    `axes` has the keys of `--set` and lists of values, like `{"links.lan.rate": ["1 Mbit/s", "2 Mbit/s"]}`; `jobs` and
    `until_width` are the options of `baton sweep`. `executor` is any executor of `concurrent.futures`, a
    `distributed.Client`, or `dask://HOST:PORT`; its workers need this version of Baton and nothing else, and `jobs` is
    then their number where the executor does not tell it. With `live` the runs are live ones, one at a time, and the
    scenario has to be given by its name or file; call it from the main thread then.

    A point that cannot be run does not stop the others: it is listed under `failures`, as is a run that fails. Raises
    `InputError` for mistakes in the axes, if nothing can be run, or for a worker of another version, `RunError` if the
    executor breaks, and `KeyboardInterrupt` on Ctrl-C.
    """
    from contextlib import ExitStack

    from baton.errors import InputError

    from . import results
    from .engines import opened
    from .execute import Until, execute
    from .runs import Runs
    from .study import assigned

    points = assigned(axes).points()
    runner: Runner
    if live is None:
        loaded = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
        runs = [_point(loaded, point) for point in points]
    else:
        loaded, runs, runner = _live(scenario, points, live, jobs, executor)
    if all(each.scenario is None for each in runs):
        raise InputError(runs[0].reason or "there is nothing to run")
    if seeds < 1:
        raise InputError(f"seeds is {seeds}; expected how many, a whole number from 1")
    series = range(loaded.seed, loaded.seed + seeds)
    until = Until.parse(until_width) if until_width else None
    with ExitStack() as stack:
        if live is None:
            engine = stack.enter_context(opened(executor, jobs))
            runner = Runs(engine, [each.scenario for each in runs if each.scenario is not None])
        complete = execute(InMemory(), runs, series, until, runner=runner, progress=lambda *_: None)
    if not complete:
        raise KeyboardInterrupt
    sweep = results.Sweep(loaded.name, Path(), [point.values for point in points], series, runs, complete)
    found, compared = results.statistics(sweep), list(results.differences(sweep))
    return Found(results.table(sweep), results.to_json(sweep, found, compared))


def _live(
    scenario: Scenario | str | PathLike[str], points: Sequence[Point], live: Live, jobs: int | None, executor: object
) -> tuple[Scenario, list[PointRuns], LiveRuns]:
    """Returns the scenario, its points and the runner of their live runs. Raises `InputError`."""
    from baton.errors import InputError
    from baton.shipped import scenario_path

    from .live import load

    if isinstance(scenario, Scenario):
        raise InputError("scenario: is an object; expected the file or the name of a scenario, for live runs")
    for name, value in (("jobs", jobs), ("executor", executor)):
        if value is not None:
            raise InputError(f"{name}: belongs to simulated runs; live ones are made one at a time")
    path = scenario_path(str(scenario))
    return Scenario.load(path, live=True), *load(path, points, live)


def _point(scenario: Scenario, point: Point) -> PointRuns:
    """Returns the scenario of a point, or the reason why it cannot be run."""
    from baton._baton import ScenarioError

    from .execute import PointRuns

    try:
        return PointRuns(scenario.with_overrides(point.overrides), None)
    except ScenarioError as error:
        return PointRuns(None, str(error))
