"""Makes the missing runs of a sweep, and stops points whose interval is narrow enough."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from baton import Scenario
from baton.errors import InputError
from baton.progress import SweepReport

from .flatten import Row, flatten
from .folder import Kept
from .statistics import LEAST_FOR_BOOTSTRAP, describe

REPORT_EVERY_S = 0.1
_GOODPUT = re.compile(r"flows\.[^.]+\.goodput_bps")


@dataclass(frozen=True)
class Until:
    """Condition under which a point has been run often enough: its interval is no wider than this share of the mean."""

    width: float
    quantity: str | None
    """Path of the quantity; `None` for the goodput of every flow."""

    @staticmethod
    def parse(text: str) -> Until:
        """Reads `5%`, `0.05` or `flows.download.completion_s=5%`. Raises `InputError`."""
        quantity, _, width = text.rpartition("=")
        try:
            share = float(width.strip().removesuffix("%")) / (100 if width.strip().endswith("%") else 1)
        except ValueError:
            share = 0.0
        if not 0 < share < 10:
            raise InputError(
                f"--until-width {text}: expected the width of the 95 % interval as a share of the mean, as in 5%,"
                " or for one quantity, as in flows.download.completion_s=5%"
            )
        return Until(share, quantity.strip() or None)

    def reached(self, rows: Sequence[Row]) -> bool:
        """Returns true if a point has enough runs; never with fewer than ten, whose spread says too little."""
        if len(rows) < LEAST_FOR_BOOTSTRAP:
            return False
        names = [self.quantity] if self.quantity else [name for name in rows[0] if _GOODPUT.fullmatch(name)]
        widths = [describe(column(rows, name)).relative_width for name in names]
        return bool(widths) and max(widths) <= self.width


@dataclass
class PointRuns:
    """The runs of a point so far."""

    scenario: Scenario | None
    reason: str | None
    """Reason why it cannot be run at all."""
    rows: dict[int, Row] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    """Seeds of failures that are no results: the run's worker was lost."""
    first: int = 0
    step: int = 1
    """Every how many seeds, from the first of them on, belong to this sweep; not all do in a shard."""
    enough: int | None = None
    """After how many seeds it ends: its interval was narrow, or no more were asked for."""
    _looked: int = 0

    def add(self, seed: int, row: Row | None, reason: str | None) -> None:
        """Adds a run that has ended."""
        if row is not None:
            self.rows[seed] = row
        else:
            self.failures[seed] = reason or "no reason is known"

    def has(self, seed: int) -> bool:
        """Returns true if the run with this seed has ended."""
        return seed in self.rows or seed in self.failures

    def look(self, seeds: range, until: Until | None) -> None:
        """Decides whether the point has been run often enough.

        The runs are looked at in the order of their seeds and as far as there is no gap, so that the order in which
        they end does not matter.
        """
        while until and self.enough is None and self._looked < len(seeds) and self.has(seeds[self._looked]):
            self._looked += 1
            rows = [self.rows[seed] for seed in seeds[: self._looked] if seed in self.rows]
            if until.reached([row for row in rows if is_trusted(row)]):
                self.enough = self._looked

    def failed(self, seeds: range) -> dict[int, str]:
        """Returns seeds and reasons of the runs that failed; those after an early end are not looked at."""
        return {seed: self.failures[seed] for seed in seeds[: self.enough] if seed in self.failures}

    def ran(self, seeds: range) -> list[int]:
        """Returns seeds of the runs with a row, ascending; those after an early end are not looked at."""
        return [seed for seed in seeds[: self.enough] if seed in self.rows]

    def counted(self, seeds: range) -> list[int]:
        """Returns seeds of the runs that count, ascending: of live ones those that are trusted."""
        return [seed for seed in self.ran(seeds) if is_trusted(self.rows[seed])]

    def wanted(self, seeds: range) -> range:
        """Returns seeds with which the point is to be run, as far as is known."""
        return seeds[:0] if self.reason else seeds[self.first : self.enough : self.step]


class Keeper(Protocol):
    """Store that takes each run as soon as it has ended."""

    kept: list[Kept]

    def keep(self, point: int, seed: int, summary: str | None, reason: str | None) -> None:
        """Keeps a run; `summary` is JSON."""


class Outcome(NamedTuple):
    """A run that has ended."""

    place: int
    """Place of its scenario."""
    seed: int
    summary: str | None
    """Summary as JSON."""
    reason: str | None
    """Reason why there is no summary."""
    is_result: bool = True
    """False if the run may end otherwise when it is repeated: its worker was lost."""


class Runner(Protocol):
    """Runner of scenarios, which it knows by their places."""

    @property
    def most_requested(self) -> int:
        """Number of runs that may be requested at once."""

    def submit(self, place: int, seed: int) -> None:
        """Requests a run."""

    def next(self) -> Outcome | None:
        """Returns a run that has ended; nothing if none is under way."""

    def close(self) -> None:
        """Ends the runs under way."""


def execute(
    folder: Keeper,
    points: list[PointRuns],
    seeds: range,
    until: Until | None,
    *,
    runner: Runner,
    progress: SweepReport,
    row_of: Callable[[Mapping[str, Any]], Row] = flatten,
) -> bool:
    """Makes the missing runs; `runner` has the points that can be run, and `row_of` makes a row of a summary.

    Returns true if all have ended; Ctrl-C ends it early.
    """
    for kept in folder.kept:
        row = None if kept.summary is None else row_of(kept.summary)
        points[kept.point].add(kept.seed, row, kept.reason)
    for point in points:
        point.look(seeds, until)
    numbers = [number for number, point in enumerate(points) if point.scenario is not None]
    places, told = {number: place for place, number in enumerate(numbers)}, 0.0
    try:
        tasks, under_way = _missing(points, seeds), 0
        while True:
            # Some wait, so that no thread does; few, since a point may have had enough when their turn comes.
            for number, seed in tasks:
                runner.submit(places[number], seed)
                under_way += 1
                if under_way >= runner.most_requested:
                    break
            outcome = runner.next()
            if outcome is None:
                return True
            under_way -= 1
            place, seed, summary, reason, is_result = outcome
            point = points[numbers[place]]
            point.add(seed, None if summary is None else row_of(json.loads(summary)), reason)
            # After it counts: Ctrl-C may come between, and no result lacks a run that is kept.
            if is_result:
                folder.keep(numbers[place], seed, summary, reason)
            else:
                point.lost.add(seed)
            point.look(seeds, until)
            if time.monotonic() - told > REPORT_EVERY_S:
                told = time.monotonic()
                _report(points, seeds, progress)
    except KeyboardInterrupt:
        return False
    finally:
        runner.close()


def _report(points: Sequence[PointRuns], seeds: range, progress: SweepReport) -> None:
    """Reports progress."""
    ended = sum(min(len(point.rows) + len(point.failures), len(point.wanted(seeds))) for point in points)
    progress(ended, sum(len(point.wanted(seeds)) for point in points), sum(len(point.failures) for point in points))


def _missing(points: Sequence[PointRuns], seeds: range) -> Iterator[tuple[int, int]]:
    """Yields points and seeds to run: every point with the first seed, then with the next one."""
    for seed in seeds:
        for number, point in enumerate(points):
            if seed in point.wanted(seeds) and not point.has(seed):
                yield number, seed


def is_trusted(row: Row) -> bool:
    """Returns true if a run counts: a live run does not if it was late or disturbed at every try."""
    return row.get("live.trusted") is not False


def column(rows: Sequence[Row], name: str) -> np.ndarray:
    """Returns the numbers of a quantity in some runs; NaN where it has none."""
    values = (row.get(name) for row in rows)
    return np.array([value if isinstance(value, (int, float)) else np.nan for value in values], dtype=np.float64)
