"""Results of a sweep: one table of all runs, statistics of each point, and differences between points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from baton.live_words import ending
from baton.stored import SWEEP_FORMAT as FORMAT
from baton.summary import Json

from .execute import PointRuns, column, is_trusted
from .flatten import Row
from .folder import MADE
from .statistics import Statistics, describe

RUNS_TABLE, STATISTICS_FILE, PAGE = MADE
FAILED, PROGRAM_FAILED = 1, 4
# Keys of a program that tell how it ended.
ENDING = ("status", "signal", "stopped_at_end")
SET = "set."
"""Prefix to the keys of the axes in the table of runs."""


@dataclass
class Sweep:
    """A sweep and its runs, which do not change any more."""

    name: str
    folder: Path
    values: list[dict[str, str]]
    """The value on each axis, by point."""
    seeds: range
    points: list[PointRuns]
    complete: bool

    def rows(self, point: int) -> list[tuple[int, Row]]:
        """Returns seeds and rows of the runs of a point that count."""
        runs = self.points[point]
        return [(seed, runs.rows[seed]) for seed in runs.counted(self.seeds)]

    def all_rows(self, point: int) -> list[tuple[int, Row]]:
        """Returns the same, and those of live runs that are not to be trusted."""
        runs = self.points[point]
        return [(seed, runs.rows[seed]) for seed in runs.ran(self.seeds)]

    def counts(self, point: int, seed: int) -> bool:
        """Returns false for a run after an early end, which is looked at nowhere."""
        enough = self.points[point].enough
        return enough is None or seed not in self.seeds[enough:]

    @cached_property
    def axes(self) -> dict[str, list[str]]:
        """The values of each axis, in the order of the points."""
        found: dict[str, list[str]] = {}
        for values in self.values:
            for axis, value in values.items():
                if value not in found.setdefault(axis, []):
                    found[axis].append(value)
        return found

    @cached_property
    def quantities(self) -> list[str]:
        """Names of all numbers of the runs that count."""
        names: dict[str, None] = {}
        for place in range(len(self.points)):
            for _, row in self.rows(place):
                names.update(dict.fromkeys(name for name, value in row.items() if isinstance(value, (int, float))))
        return sorted(names, key=_by_kind)

    @property
    def failures(self) -> list[Json]:
        """Points and runs that failed, with their reasons; a live run whose program failed has numbers nevertheless."""
        listed: list[Json] = []
        for place, point in enumerate(self.points):
            if point.reason is not None:
                listed.append({"point": place, "seed": None, "reason": point.reason})
            failed = {**point.failed(self.seeds), **_failed_programs(self.all_rows(place))}
            listed += [{"point": place, "seed": seed, "reason": failed[seed]} for seed in sorted(failed)]
        return listed

    @property
    def untrusted(self) -> list[Json]:
        """Live runs that were late or disturbed at every try and count nowhere, with the reasons."""
        return [
            {"point": place, "seed": seed, "doubts": doubts_of(row)}
            for place in range(len(self.points))
            for seed, row in self.all_rows(place)
            if not is_trusted(row)
        ]

    @property
    def exit_status(self) -> int:
        """1 if a run failed or is not to be trusted, 4 if only programs of live runs failed."""
        if any(point.reason is not None or point.failed(self.seeds) for point in self.points) or self.untrusted:
            return FAILED
        return PROGRAM_FAILED if self.failures else 0


def _failed_programs(rows: Sequence[tuple[int, Row]]) -> dict[int, str]:
    """Describes the bad ends of live runs' programs, by seed."""
    ended = (
        (seed, {key: row.get(f"program.{key}") for key in ENDING}) for seed, row in rows if "program.wall_s" in row
    )
    return {
        seed: f"the program: {ending(program)}"
        for seed, program in ended
        if program["stopped_at_end"] or program["status"] != 0
    }


def doubts_of(row: Row) -> list[str]:
    """Returns the reasons not to trust a live run, each once."""
    told = (str(value) for name, value in row.items() if name.startswith("live.doubts.") and value is not None)
    return list(dict.fromkeys(told))


def _by_kind(name: str) -> int:
    """Returns the place of a quantity's kind: flows first, then handovers. Sorting is stable and keeps the summary's
    order."""
    kinds = ("flows", "handovers")
    first = name.partition(".")[0]
    return kinds.index(first) if first in kinds else len(kinds)


def table(sweep: Sweep) -> pa.Table:
    """Returns all runs: `point`, `seed`, `set.<axis>` for each axis, then a summary's numbers by path."""
    rows = [(place, seed, row) for place in range(len(sweep.points)) for seed, row in sweep.all_rows(place)]
    columns: dict[str, pa.Array] = {
        "point": pa.array([place for place, _, _ in rows], pa.uint32()),
        "seed": pa.array([seed for _, seed, _ in rows], pa.uint64()),
    }
    for axis in sweep.axes:
        columns[SET + axis] = pa.array([sweep.values[place].get(axis) for place, _, _ in rows], pa.string())
    for name in sorted({name: None for _, _, row in rows for name in row}, key=_by_kind):
        columns[name] = _array([row.get(name) for _, _, row in rows])
    return pa.table(columns).replace_schema_metadata({"baton.sweep": f'{{"format": {FORMAT}}}'})


def write_table(sweep: Sweep, file: Path) -> None:
    """Writes the table of all runs as Parquet. Raises `OSError`."""
    staged = file.with_name(f".partial-{file.name}")
    try:
        pq.write_table(table(sweep), staged)
        staged.replace(file)
    except OSError as error:
        staged.unlink(missing_ok=True)
        why = f"cannot be written: {error.strerror or error}; the runs are kept, continue with --resume"
        raise OSError(error.errno, why, str(file)) from error


def _array(values: list[Any]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int}:
        return pa.array(values, pa.int64())
    if kinds <= {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def statistics(sweep: Sweep) -> list[dict[str, Statistics]]:
    """Returns, by point, the statistics of each quantity that has a value there."""
    names, found = sweep.quantities, []
    for place in range(len(sweep.points)):
        rows = [row for _, row in sweep.rows(place)]
        described = {name: describe(column(rows, name)) for name in names} if rows else {}
        found.append({name: each for name, each in described.items() if each.values})
    return found


@dataclass(frozen=True)
class Difference:
    """Excess of a point over another one that differs on one axis only, on the same seeds."""

    axis: str
    point: int
    base: int
    quantities: dict[str, Statistics]

    def to_json(self) -> Json:
        """Returns the difference as `--json` prints it."""
        quantities = {name: each.to_json() for name, each in self.quantities.items()}
        return {"axis": self.axis, "point": self.point, "base": self.base, "quantities": quantities}


def differences(sweep: Sweep) -> Iterator[Difference]:
    """Compares each point with the one that has the first value of an axis, all else equal; for each axis."""
    places = {tuple(values.items()): place for place, values in enumerate(sweep.values)}
    for axis, listed in sweep.axes.items():
        for place, values in enumerate(sweep.values):
            base = places[tuple((values | {axis: listed[0]}).items())]
            if base != place:
                yield Difference(axis, place, base, paired(sweep.rows(base), sweep.rows(place), sweep.quantities))


def paired(
    base: Sequence[tuple[int, Row]], other: Sequence[tuple[int, Row]], names: Sequence[str]
) -> dict[str, Statistics]:
    """Returns statistics of the differences of `other` above `base` over the seeds that both have."""
    of_base, of_other = dict(base), dict(other)
    seeds = [seed for seed in of_base if seed in of_other]
    if not seeds:
        return {}
    one, two = [of_base[seed] for seed in seeds], [of_other[seed] for seed in seeds]
    found = {name: describe(column(two, name) - column(one, name)) for name in names}
    return {name: each for name, each in found.items() if each.values}


def to_json(sweep: Sweep, found: Sequence[dict[str, Statistics]], compared: Sequence[Difference]) -> Json:
    """Returns the contents of `statistics.json` and of `--json`."""
    points = [
        {
            "set": sweep.values[place],
            "runs": len(point.counted(sweep.seeds)),
            "stopped_early": point.enough is not None and point.enough < len(sweep.seeds),
            "quantities": {name: each.to_json() for name, each in found[place].items()},
        }
        for place, point in enumerate(sweep.points)
    ]
    return {
        "format": FORMAT,
        "name": sweep.name,
        "complete": sweep.complete,
        "seeds": [sweep.seeds.start, sweep.seeds.stop - 1],
        "points": points,
        "differences": [each.to_json() for each in compared],
        "failures": sweep.failures,
        "untrusted": sweep.untrusted,
    }
