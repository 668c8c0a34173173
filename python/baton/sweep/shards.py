"""Shards of a sweep: the runs of one job of an array, which `baton sweep merge` puts together again."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from baton.archive import SWEEP_FILE
from baton.errors import InputError
from baton.stored import SweptShard
from baton.summary import Json

from .execute import PointRuns
from .folder import SweepFolder, write_text

INTERRUPTED = 130
_FORM = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


@dataclass(frozen=True)
class Shard:
    """One part of all runs."""

    number: int
    """From 1 to `of`."""
    of: int

    @staticmethod
    def parse(text: str) -> Shard:
        """Reads `2/8`. Raises `InputError`."""
        found = _FORM.fullmatch(text)
        if found is None or not 0 < int(found[1]) <= int(found[2]):
            raise InputError(f"--shard {text}: expected i/N with i from 1 to N, as in 2/8: the second of eight shards")
        return Shard(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def restrict(self, points: Sequence[PointRuns]) -> None:
        """Leaves each point the runs of this shard.

        Neighbouring points begin with different seeds, so that each shard has runs of slow points and of fast ones.
        """
        for place, point in enumerate(points):
            point.first, point.step = self._first(place), self.of

    def has(self, place: int, number: int) -> bool:
        """Returns true if the run of a point with the seed of this number, from 0, belongs to the shard."""
        return number % self.of == self._first(place)

    def _first(self, place: int) -> int:
        return (self.number - 1 - place) % self.of

    def told(self, seeds: range, runs: int | None) -> SweptShard:
        """Returns the entry of `sweep.json`; `runs` is the number of all runs of a shard that is complete."""
        return {"number": self.number, "of": self.of, "seeds": [seeds.start, seeds.stop - 1], "runs": runs}


def default_folder(name: str, shard: Shard | None) -> Path:
    """Returns the folder of a sweep without `--out`."""
    return Path("results") / (f"{name}-sweep" if shard is None else f"{name}-sweep-{shard.number}-of-{shard.of}")


def end(folder: SweepFolder, points: Sequence[PointRuns], swept: Json, *, as_json: bool) -> int:
    """Marks a shard as complete, unless a run was lost, and prints its folder; returns the exit status."""
    failures = [
        {"point": place, "seed": seed, "reason": reason}
        for place, point in enumerate(points)
        for seed, reason in sorted(point.failures.items())
    ]
    lost = sum(len(point.lost) for point in points)
    if not lost:
        marked = swept | {"shard": swept["shard"] | {"runs": folder.count}}
        write_text(folder.path / SWEEP_FILE, json.dumps(marked, indent=1, ensure_ascii=False) + "\n")
    if as_json:
        print(json.dumps({"folder": str(folder.path), "runs": folder.count, "failures": failures}))
    else:
        for failure in failures:
            print(f"baton: point {failure['point']}, seed {failure['seed']}: {failure['reason']}", file=sys.stderr)
        print(folder.path)
    if lost:
        print(f"baton: {lost} runs were lost with their workers: repeat them with --resume", file=sys.stderr)
    return 1 if failures else 0


def interrupted() -> int:
    """Says how an interrupted sweep or shard goes on; returns the exit status."""
    print("baton: interrupted; finished runs are kept: continue with the same command and --resume", file=sys.stderr)
    return INTERRUPTED
