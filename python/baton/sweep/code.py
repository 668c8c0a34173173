"""Sweeps from Python, which leave no folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from baton._baton import Scenario

if TYPE_CHECKING:
    import pyarrow as pa

    from baton.summary import Json

    from .execute import PointRuns
    from .folder import Kept
    from .study import Point


class Found(NamedTuple):  # no dataclass: that would take most of the time of `import baton`
    """What a sweep has found."""

    runs: pa.Table
    """One row a run: `point`, `seed`, `set.<key>` for each axis, and every number of the run's summary. `to_pandas()`
    makes a data frame of it."""
    statistics: Json
    """Points, paired differences and failures: what `baton sweep --json` prints."""


class InMemory:
    """Keeps nothing but what the sweep itself has."""

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
    until_width: str | None = None,
) -> Found:
    """Runs a scenario over all combinations of the axes' values, each with the same `seeds` seeds, on all cores.

    `axes` has the keys of `--set` and lists of values, like `{"flows.download.congestion": ["reno", "cubic"]}`; `jobs`
    and `until_width` are the options of `baton sweep`. A point that cannot be run does not stop the others: it stands
    under `failures`. Raises `InputError` for what is wrong with the axes or where nothing can be run, and
    `KeyboardInterrupt` on Ctrl-C.
    """
    from baton.errors import InputError

    from . import results
    from .execute import Until, execute
    from .study import assigned

    loaded = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    points = assigned(axes).points()
    runs = [_point(loaded, point) for point in points]
    if all(each.scenario is None for each in runs):
        raise InputError(runs[0].reason or "there is nothing to run")
    if seeds < 1:
        raise InputError(f"seeds is {seeds}; expected how many, a whole number from 1")
    series = range(loaded.seed, loaded.seed + seeds)
    until = Until.parse(until_width) if until_width else None
    complete = execute(InMemory(), runs, series, until, workers=jobs, progress=lambda *_: None)
    if not complete:
        raise KeyboardInterrupt
    sweep = results.Sweep(loaded.name, Path(), [point.values for point in points], series, runs, complete)
    found, compared = results.statistics(sweep), list(results.differences(sweep))
    return Found(results.table(sweep), results.to_json(sweep, found, compared))


def _point(scenario: Scenario, point: Point) -> PointRuns:
    """The scenario of a point, or the reason why it cannot be run."""
    from baton._baton import ScenarioError

    from .execute import PointRuns

    try:
        return PointRuns(scenario.with_overrides(point.overrides), None)
    except ScenarioError as error:
        return PointRuns(None, str(error))
