"""Drawings of a sweep: the values of a quantity at each point, and the mean with its interval."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from baton.errors import InputError, nearest
from baton.summary import Json
from baton.sweep import Found
from baton.sweep.quantities import Quantity, quantity
from baton.sweep.results import RUNS_TABLE, STATISTICS_FILE
from baton.sweep.units import numbers

Values = dict[str, str]
TRUSTED = "live.trusted"


@dataclass(frozen=True)
class PointValues:
    """A point of the sweep: its values on the axes, the quantity in its runs, and the statistics of these."""

    at: Values
    runs: np.ndarray
    mean: float
    low: float
    high: float
    """Upper end of the 95 % interval, as `low` is the lower; the mean if there is none."""

    def named(self, without: str = "") -> str:
        """Describes the point without its value on one axis."""
        return ", ".join(value for axis, value in self.at.items() if axis != without)


@dataclass(frozen=True)
class SweepValues:
    """One quantity of a sweep, at the points that have a value."""

    quantity: Quantity
    points: list[PointValues]
    axes: dict[str, list[str]]

    def axis(self, over: str | None) -> str:
        """Returns the axis with this key; without a key the first one that has numbers, else the first one."""
        if not self.axes:
            raise InputError("the sweep has no axis: it is a single point")
        if over is None:
            return next((axis for axis, values in self.axes.items() if numbers(values)), next(iter(self.axes)))
        if over not in self.axes:
            raise InputError(f"there is no axis `{over}`; {nearest(over, self.axes)}")
        return over


def read(sweep: Found | str | PathLike[str], name: str) -> SweepValues:
    """Reads the quantity with this name of a sweep or of its folder. Raises `InputError`."""
    runs, statistics = _tables(sweep)
    points = statistics["points"]
    known = {each for point in points for each in point["quantities"]}
    if name not in known:
        raise InputError(f"there is no quantity `{name}` in the sweep; {nearest(name, known)}")
    place, value = _column(runs, "point"), _column(runs, name)
    if TRUSTED in runs.column_names:
        value[_column(runs, TRUSTED) == 0] = np.nan
    axes: dict[str, list[str]] = {}
    found = []
    for number, point in enumerate(points):
        for axis, at in point["set"].items():
            if at not in axes.setdefault(axis, []):
                axes[axis].append(at)
        told = point["quantities"].get(name)
        if told is not None:
            own = value[place == number]
            low, high = (told["mean"] if told[end] is None else told[end] for end in ("low", "high"))
            found.append(PointValues(point["set"], own[~np.isnan(own)], told["mean"], low, high))
    return SweepValues(quantity(name), found, axes)


def _tables(sweep: Found | str | PathLike[str]) -> tuple[pa.Table, Json]:
    if isinstance(sweep, Found):
        return sweep.runs, sweep.statistics
    folder = Path(sweep)
    try:
        return pq.read_table(folder / RUNS_TABLE), json.loads((folder / STATISTICS_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{folder}: is not the folder of a sweep: it holds no {RUNS_TABLE}") from error
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{folder}: cannot be read: {error}") from error


def _column(runs: pa.Table, name: str) -> np.ndarray:
    values: list[Any] = runs[name].to_pylist()
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
