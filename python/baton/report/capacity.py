"""The capacity of links from the scenario and its recordings, drawn beside the flows' goodput."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from baton.sweep.units import numbers
from baton.toml import loads
from baton.travel import sha256_of

from .tables import Run

OPPORTUNITY_BITS = 1500 * 8
"""Bits that may pass at one line of a mahimahi file."""
# Recordings of more bytes or milliseconds, and those that repeat more often in a run, are not drawn.
MOST_BYTES, MOST_MILLISECONDS, MOST_REPETITIONS = 50_000_000, 10_000_000, 10_000


class Capacities:
    """Capacities of a run's links, where they are known without running it again."""

    def __init__(self, run: Run) -> None:
        self._run = run
        try:
            self._scenario: dict[str, Any] = loads(str(run.manifest.get("resolved") or ""))
        except ValueError:
            self._scenario = {}

    def recorded(self, link: str, direction: str, edges_s: np.ndarray) -> np.ndarray | None:
        """Returns the mean capacity between adjacent times in bit/s, of a direction that a recording drives; else
        `None`.

        Also returns `None` if the recording is missing, or is not the run's.
        """
        table = self._direction(link, direction)
        recording = table.get("recording")
        if not isinstance(recording, dict) or table.get("kind") != "trace":
            return None
        path = self._file(str(recording.get("file") or recording.get("bandwidth")))
        if path is None:
            return None
        is_csv = recording.get("kind") == "csv"
        try:
            time_s, bits = _rates(path) if is_csv else _opportunities(path)
        except (OSError, EOFError, ValueError, KeyError, TypeError):
            return None
        edges_s = edges_s + self._start_s(link)
        return _means(time_s, bits, edges_s, hold=recording.get("at_end") == "hold", goes_on=is_csv)

    def constant(self, link: str, direction: str) -> float | None:
        """Returns the rate in bit/s of a link with a single one for the whole run; else `None`."""
        table = self._direction(link, direction)
        names = (link, _written(link))
        changed = any(change.get("link") in names for change in self._scenario.get("changes", []))
        if table.get("kind") not in ("wired", "trace") or changed or not isinstance(table.get("rate"), str):
            return None
        found = numbers(["1 bit/s", table["rate"]])
        return found[0][1] if found else None

    def _start_s(self, link: str) -> float:
        """Returns the start of a link in its recordings, which the seed may have drawn."""
        return float((self._run.manifest.get("recordings_start_s") or {}).get(link, 0.0))

    def _direction(self, link: str, direction: str) -> dict[str, Any]:
        """Returns the scenario's value for a direction, whose own keys override the link's."""
        links = self._scenario.get("links", {})
        table = links.get(link) or links.get(_written(link), {})
        return {**table, **table.get(direction, {})}

    def _file(self, name: str) -> Path | None:
        """Returns a recording, beside the results or the scenario; none that is not what the run has read."""
        folders = [self._run.folder, Path(str(self._run.manifest.get("origin") or ".")).parent]
        sha256 = (self._run.manifest.get("traces") or {}).get(name)
        for path in (folder / name for folder in folders):
            fits = sha256 and path.is_file() and path.stat().st_size <= MOST_BYTES
            if fits and sha256_of(path) == sha256:
                return path
        return None


def _written(link: str) -> str:
    """Returns the name under which the scenario writes a counted mobile's link: `wifi` for `wifi-17`."""
    return link.rpartition("-")[0]


def _text(path: Path) -> str:
    """Returns the text of a recording, which gzip may have compressed. Raises `ValueError` for more than is drawn."""
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        import gzip

        with gzip.open(path) as file:
            content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError("too large")
    return content.decode("utf-8")


def _opportunities(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Returns ends of milliseconds and the bits that could have passed until then; the last time is the length of the
    file."""
    at = np.array(_text(path).split(), dtype=np.int64)
    if not len(at) or not 0 < at[-1] <= MOST_MILLISECONDS:
        raise ValueError("no opportunities, or too many")
    passed = np.cumsum(np.bincount(at, minlength=at[-1] + 1)) * float(OPPORTUNITY_BITS)
    return np.arange(at[-1] + 1) / 1e3, passed


def _rates(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Returns times, the end among them, and the bits that could have passed until then at rates that hold until the
    next."""
    import csv
    import io

    table = csv.DictReader(io.StringIO(_text(path), newline=""))
    rows = [(float(row["time_s"]), float(row["rate_bps"])) for row in table if row.get("rate_bps")]
    if len(rows) < 2:
        raise ValueError("no rates over time")
    time, rate = np.array(rows).T
    time = np.append(time, 2 * time[-1] - time[-2]) - time[0]
    return time, np.append(0.0, np.cumsum(rate * np.diff(time)))


def _means(
    time_s: np.ndarray, bits: np.ndarray, edges_s: np.ndarray, *, hold: bool, goes_on: bool
) -> np.ndarray | None:
    """Returns mean rates between adjacent edges; at its end a recording repeats, or holds its last rate, if it has
    one."""
    length, total = time_s[-1], bits[-1]
    if hold:
        last = (bits[-1] - bits[-2]) / (time_s[-1] - time_s[-2]) if goes_on else 0.0
        reached = np.interp(edges_s, time_s, bits) + last * np.maximum(edges_s - length, 0.0)
    elif edges_s[-1] > MOST_REPETITIONS * length:
        return None
    else:
        times, rest = np.divmod(edges_s, length)
        reached = times * total + np.interp(rest, time_s, bits)
    return np.asarray(np.diff(reached) / np.diff(edges_s))
