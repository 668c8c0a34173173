"""Runs the points of a comparison in batches, since the scenarios of a full factorial would not fit in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from baton.progress import SweepReport
from baton.sweep.engines import Engine
from baton.sweep.execute import PointRuns, execute
from baton.sweep.flatten import Row
from baton.sweep.folder import Kept, SweepFolder
from baton.sweep.runs import Runs

from . import measure
from .cross import CrossPoint, load

BATCH = 1_000
"""Points whose scenarios are there at once. Chosen."""


class Batch:
    """The folder as a batch sees it: its points count from zero, and only the measures of a run are kept."""

    def __init__(self, folder: SweepFolder, first: int, count: int):
        self._folder, self._first = folder, first
        self.kept = [
            Kept(kept.point - first, kept.seed, kept.summary, kept.reason)
            for kept in folder.kept
            if first <= kept.point < first + count
        ]

    def keep(self, point: int, seed: int, summary: str | None, reason: str | None) -> None:
        """Keeps a run's measures. Raises `OSError`."""
        measures = None if summary is None else json.dumps(measure.row(json.loads(summary)))
        self._folder.keep(self._first + point, seed, measures, reason)


def run(
    folder: SweepFolder,
    crossed: Sequence[CrossPoint],
    runs: list[PointRuns],
    seeds: range,
    *,
    engine: Engine,
    progress: SweepReport,
) -> bool:
    """Fills `runs`, which belong to the points `crossed`. Returns true if all have run; Ctrl-C ends it early."""
    total = sum(len(seeds[each.first : each.enough : each.step]) for each in runs)
    kept = {(one.point, one.seed) for one in folder.kept}
    for first in range(0, len(runs), BATCH):
        batch = runs[first : first + BATCH]
        for number, each in enumerate(batch, first):
            # Of a hundred thousand points a shard has runs of a few, and a resumed sweep lacks some.
            if any((number, seed) not in kept for seed in seeds[each.first : each.enough : each.step]):
                each.scenario, each.reason = load(crossed[number])
        before = sum(_ended(each, seeds) for each in runs[:first])

        def report(ended: int, _: int, failed: int, before: int = before) -> None:
            progress(before + ended, total, failed)

        part = Batch(folder, first, len(batch))
        runner = Runs(engine, [each.scenario for each in batch if each.scenario is not None])
        complete = execute(part, batch, seeds, None, runner=runner, progress=report, row_of=_measures)
        for each in batch:
            each.scenario = None
        if not complete:
            return False
    return True


def _ended(point: PointRuns, seeds: range) -> int:
    """Returns the finished runs; those of a refused point count as finished."""
    asked = len(seeds[point.first : point.enough : point.step])
    return asked if point.reason else len(point.rows) + len(point.failures)


def _measures(told: Mapping[str, Any]) -> Row:
    """Returns the measures of a run: from its summary, or as they were kept."""
    return measure.row(told) if "flows" in told else dict(told)
