"""Two sweeps as one whose first axis is the sweep, by its name, with the points that both have.

All statistics of points, and the page, then cover both sweeps. The comparison consists of the differences along that
axis, paired on the seeds that both have.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from baton.archive import SWEEP_FILE
from baton.errors import InputError
from baton.stored import SweepManifest, read_sweep
from baton.sweep.execute import PointRuns, is_trusted
from baton.sweep.flatten import Row
from baton.sweep.folder import different_lines
from baton.sweep.live_identity import machine_words
from baton.sweep.results import RUNS_TABLE, SET, Sweep

from .runs import folder_names

AXIS = "sweep"
LEFT_OUT = {"point", "seed"}
MOST_LISTED = 10


@dataclass
class Found:
    """A sweep in its folder: its definition, and its runs by point and seed."""

    folder: Path
    manifest: SweepManifest
    rows: dict[int, dict[int, Row]]

    @property
    def points(self) -> dict[tuple[tuple[str, str], ...], int]:
        """Places of the points by their values, in any order of the axes."""
        return {tuple(sorted(point["values"].items())): place for place, point in enumerate(self.manifest["points"])}


def is_sweep(path: Path) -> bool:
    """Returns true if a folder holds a sweep."""
    return (path / SWEEP_FILE).is_file()


def open_sweep(path: Path) -> Found:
    """Reads a sweep. Raises `InputError`."""
    if not is_sweep(path):
        raise InputError(f"{path}: holds no sweep (no {SWEEP_FILE}); compare a sweep with another sweep")
    file = path / RUNS_TABLE
    try:
        table = pq.read_table(file)
    except FileNotFoundError as error:
        raise InputError(f"{file}: is missing, since the sweep was killed; finish the sweep with --resume") from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file}: cannot be read: {error}") from error
    swept, rows = read_sweep(path / SWEEP_FILE), dict[int, dict[int, Row]]()
    for row in filter(is_trusted, table.to_pylist()):
        kept = {key: value for key, value in row.items() if key not in LEFT_OUT and not key.startswith(SET)}
        rows.setdefault(row["point"], {})[row["seed"]] = kept
    return Found(path, swept, rows)


def together(a: Found, b: Found) -> Sweep:
    """Joins two sweeps at the points that both have. Raises `InputError` if there is none."""
    common = [key for key in a.points if key in b.points]
    if not common:
        axes = " and ".join(
            ", ".join(sorted({axis for key in each.points for axis, _ in key})) or "none" for each in (a, b)
        )
        raise InputError(f"{a.folder} and {b.folder}: have no point in common; their axes are {axes}")
    values, points = [], []
    of = folder_names(a.folder, b.folder)
    for name, each, other in ((of[0], a, b), (of[1], b, a)):
        for key in common:
            point = each.manifest["points"][each.points[key]]
            in_order = {axis: point["values"][axis] for axis, _ in _ordered(a, key)}
            values.append({AXIS: name} | in_order)
            points.append(PointRuns(None, None, _paired_rows(each, other, key)))
    seeds = [seed for point in points for seed in point.rows]
    span = range(min(seeds, default=1), max(seeds, default=0) + 1)
    return Sweep(f"{a.folder.name} and {b.folder.name}", a.folder, values, span, points, complete=True)


def _paired_rows(of: Found, other: Found, key: tuple[tuple[str, str], ...]) -> dict[int, Row]:
    """Returns the runs of a point whose seeds the other sweep has, too, so that the means differ by the mean of the
    differences.

    Returns all of them if the other sweep has none of these seeds: then there are no differences.
    """
    rows, others = of.rows.get(of.points[key], {}), other.rows.get(other.points[key], {})
    return {seed: row for seed, row in rows.items() if seed in others} or dict(rows)


def _ordered(a: Found, key: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Returns the axes in the order of the first sweep."""
    return list(a.manifest["points"][a.points[key]]["values"].items())


def _way(of: Found) -> str:
    """Describes how the runs were made."""
    live = of.manifest.get("live")
    if live is None:
        return "simulated"
    program = f"; {shlex.join(live['program'])}" if live["program"] else ""
    return f"live on {machine_words(live['machine'])}{program}"


def remarks(a: Found, b: Found) -> Iterator[str]:
    """Yields the differences of the sweeps, in words."""
    names = folder_names(a.folder, b.folder)
    for one, other, side in ((a, b, names[0]), (b, a, names[1])):
        alone = [dict(key) for key in one.points if key not in other.points]
        for values in alone[:MOST_LISTED]:
            yield f"only in {side}: {', '.join(f'{axis} = {value}' for axis, value in values.items())}"
        if len(alone) > MOST_LISTED:
            yield f"only in {side}: {len(alone) - MOST_LISTED} more points"
    ways = [_way(each) for each in (a, b)]
    if ways[0] != ways[1]:
        yield f"runs: {ways[0]} / {ways[1]}"
    for key in ("version", "commit"):
        if a.manifest.get(key) != b.manifest.get(key):
            yield f"{key}: {a.manifest.get(key)} / {b.manifest.get(key)}"
    common = next(key for key in a.points if key in b.points)
    resolved = [each.manifest["points"][each.points[common]]["resolved"] or "" for each in (a, b)]
    for line in different_lines(*resolved, sides=names):
        yield f"scenario: {line}"
    unpaired = sum(
        len(a.rows.get(place, {}).keys() ^ b.rows.get(b.points[key], {}).keys())
        for key, place in a.points.items()
        if key in b.points
    )
    if unpaired:
        yield f"{unpaired} runs have no counterpart with their seed in the other sweep, and do not count"
