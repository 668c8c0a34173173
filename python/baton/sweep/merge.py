"""`baton sweep merge`: one sweep of its shards."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from baton import travel
from baton.archive import SWEEP_FILE
from baton.errors import InputError
from baton.stored import SweepManifest, read_sweep
from baton.summary import Json

from . import cli_sweep
from .execute import PointRuns
from .flatten import flatten
from .folder import RUNS_FILE, Kept, changes, in_lines, open_folder, read_runs
from .rerun import ONLY_HASHED
from .results import Sweep
from .shards import Shard, default_folder


@dataclass(frozen=True)
class MergeOptions:
    """Options of `baton sweep merge`, as given."""

    folders: Sequence[Path]
    out: Path | None
    force: bool
    json: bool


@dataclass(frozen=True)
class Part:
    """A folder with a complete shard."""

    folder: Path
    shard: Shard
    swept: SweepManifest


def run(options: MergeOptions) -> int:
    """Merges, writes and prints; returns the exit status."""
    parts = [_read(folder) for folder in options.folders]
    _check(parts)
    swept: Json = {key: value for key, value in parts[0].swept.items() if key != "shard"}
    out = options.out or default_folder(swept["name"], None)
    points = [PointRuns(None, point["reason"]) for point in swept["points"]]
    told = parts[0].swept["shard"]["seeds"]
    is_study = any((point["resolved"] or "").startswith(ONLY_HASHED) for point in swept["points"])
    runs = [_runs(part) for part in parts]
    with open_folder(out, swept, force=options.force, resume=False) as folder:
        for part, kept in zip(parts, runs, strict=True):
            folder.copy(part.folder / RUNS_FILE, kept)
            _copy_recordings(part, out)
            for each in kept if not is_study else []:
                row = None if each.summary is None else flatten(each.summary)
                points[each.point].add(each.seed, row, each.reason)
        folder.put_in_order(lambda point, seed: True)
        if is_study:
            print(
                f"baton: merged; the study's command with --resume --out {out} writes table and page", file=sys.stderr
            )
            print(out)
            return 0
        seeds = range(told[0], told[1] + 1)
        sweep = Sweep(swept["name"], out, [point["values"] for point in swept["points"]], seeds, points, True)
        found = cli_sweep.write(sweep, swept)
    cli_sweep.show(sweep, found, as_json=options.json)
    return sweep.exit_status


def _read(folder: Path) -> Part:
    """Reads the definition of a shard. Raises `InputError` if it is none, or not complete."""
    if not (folder / SWEEP_FILE).is_file():
        raise InputError(f"{folder}: holds no sweep (no {SWEEP_FILE}); expected the folder of a shard")
    swept = read_sweep(folder / SWEEP_FILE)
    told = swept.get("shard")
    if told is None:
        raise InputError(f"{folder}: is a whole sweep; expected the folder of a shard, of `baton sweep --shard i/N`")
    shard = Shard.parse(f"{told['number']}/{told['of']}")
    if len(told["seeds"]) != 2:
        raise InputError(f"{folder / SWEEP_FILE}: shard.seeds: expected the first and the last seed")
    if told["runs"] is None:
        raise InputError(
            f"{folder}: shard {shard} is not complete; continue it with its command and --resume, then merge"
        )
    return Part(folder, shard, swept)


def _check(parts: Sequence[Part]) -> None:
    """Raises `InputError` unless the shards are all those of one sweep, each once."""
    first, seen = parts[0], dict[int, Path]()
    for part in parts:
        # The numbers differ; all else has to be equal.
        alike = part.swept | {"shard": part.swept["shard"] | {"number": first.shard.number}}
        found = list(changes(first.swept, cast("dict[str, Any]", alike)))
        if found:
            raise InputError(
                f"{part.folder}: is a shard of another sweep than {first.folder} (that one → this one):"
                f"{in_lines(found)}\nRun this shard again as the others were run"
            )
        if part.shard.number in seen:
            raise InputError(
                f"{part.folder}: is shard {part.shard}, and so is {seen[part.shard.number]}; give one of them"
            )
        seen[part.shard.number] = part.folder
    missing = [number for number in range(1, first.shard.of + 1) if number not in seen]
    if missing:
        named = ", ".join(f"{number}/{first.shard.of}" for number in missing[:10])
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        raise InputError(
            f"merge: shard {named}{more} is missing; run the sweep's command with --shard {missing[0]}/"
            f"{first.shard.of}, or give its folder too"
        )


def _runs(part: Part) -> list[Kept]:
    """Returns the runs of a shard. Raises `InputError` if they are not those that it ended with."""
    told, kept = part.swept["shard"], read_runs(part.folder, len(part.swept["points"]))
    seen = {(each.point, each.seed) for each in kept}
    if len(kept) != told["runs"] or len(seen) != len(kept):
        raise InputError(
            f"{part.folder / RUNS_FILE}: has {len(seen)} runs in {len(kept)} lines; expected {told['runs']}, as the"
            f" shard ended with; run shard {part.shard} again"
        )
    for each in kept:
        number = each.seed - told["seeds"][0]
        if not (0 <= number <= told["seeds"][1] - told["seeds"][0] and part.shard.has(each.point, number)):
            raise InputError(
                f"{part.folder / RUNS_FILE}: point {each.point}, seed {each.seed} is no run of shard {part.shard};"
                " run it again"
            )
    return kept


def _copy_recordings(part: Part, out: Path) -> None:
    for point in part.swept["points"]:
        for name, sha256 in point["traces"].items():
            if Path(name).parts[:-1] != (travel.RECORDINGS,) or Path(name).name == "..":
                raise InputError(f"{part.folder / SWEEP_FILE}: traces: {name} lies outside {travel.RECORDINGS}")
            travel.copy_recording(part.folder / name, out / name, sha256)
