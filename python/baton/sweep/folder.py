"""The folder of a sweep: its definition, and every run as soon as it has ended.

`sweep.json` defines the sweep. `runs.jsonl` gets a line for each run that has ended, so that a sweep that is killed at
any moment loses no more than the runs under way; a partial line at its end is cut off when the sweep is resumed. The
other files are made from these two at the end. A lock keeps a second sweep out.
"""

from __future__ import annotations

import difflib
import fcntl
import itertools
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from baton import version
from baton._baton import build_commit
from baton.archive import SWEEP_FILE
from baton.errors import InputError
from baton.stored import SWEEP_FORMAT as FORMAT
from baton.stored import SweepManifest, SweptLive, SweptShard, kept_run, read_sweep
from baton.summary import Json
from baton.travel import RECORDINGS

RUNS_FILE, LOCK_FILE = "runs.jsonl", ".lock"
MADE = ("runs.parquet", "statistics.json", "report.html")
MOST_DIFFERENCES = 5


# A recording's name in the folder, with a part of its hash between its own.
_STORED = re.compile(r"recordings/([^/\"']+)-[0-9a-f]{8}(\.[^/.\"']*)?")


@dataclass(frozen=True)
class Kept:
    """A run that has ended: its summary, or the reason why there is none."""

    point: int
    seed: int
    summary: Json | None
    reason: str | None


class SweepFolder:
    """A folder that is being written, under its lock."""

    def __init__(self, path: Path, log: BinaryIO, kept: list[Kept]):
        self.path = path
        self.kept = kept
        """Runs that were there when the sweep was resumed."""
        self._log = log
        self._order = [(run.seed, run.point) for run in kept]

    def keep(self, point: int, seed: int, summary: str | None, reason: str | None) -> None:
        """Stores a run; `summary` is JSON. Raises `OSError`."""
        head = json.dumps({"point": point, "seed": seed, "reason": reason}, ensure_ascii=False)
        line = f'{head[:-1]}, "summary": {summary or "null"}}}\n'
        try:
            self._log.write(line.encode())
            self._log.flush()
        except OSError as error:
            why = f"cannot be written: {error.strerror}; earlier runs are kept, continue with --resume"
            raise OSError(error.errno, why, str(self.path / RUNS_FILE)) from error
        self._order.append((seed, point))

    @property
    def count(self) -> int:
        """Number of runs in the folder."""
        return len(self._order)

    def copy(self, runs_file: Path, kept: Sequence[Kept]) -> None:
        """Adds the runs of another folder's file, which holds these. Raises `OSError`."""
        with runs_file.open("rb") as source:
            shutil.copyfileobj(source, self._log)
        self._log.flush()
        self._order += [(run.seed, run.point) for run in kept]

    def put_in_order(self, wanted: Callable[[int, int], bool]) -> None:
        """Writes the runs again, by seed and point, and only those with a point and a seed that are `wanted`: a
        complete sweep is the same in every byte, however it was made. Raises `OSError`."""
        file = self.path / RUNS_FILE
        places = sorted(range(len(self._order)), key=self._order.__getitem__)
        chosen = [place for place in places if wanted(self._order[place][1], self._order[place][0])]
        if chosen != list(range(len(self._order))):
            rewrite_lines(file, chosen)
            self._order = [self._order[place] for place in chosen]


def manifest(
    name: str,
    scenario: Path,
    points: Sequence[Json],
    live: SweptLive | None = None,
    shard: SweptShard | None = None,
) -> Json:
    """Returns the contents of `sweep.json`. Each of `points` has `values`, `overrides`, `resolved`, `traces` and
    `reason`."""
    build = {"version": version.installed(), "commit": build_commit()}
    ran: Json = {} if live is None else {"live": live}
    ran |= {} if shard is None else {"shard": shard}
    return {"format": FORMAT, **build, "name": name, "origin": scenario.name, **ran, "points": list(points)}


@contextmanager
def open_folder(path: Path, swept: Json, *, force: bool, resume: bool) -> Iterator[SweepFolder]:
    """Claims a folder for a sweep. Raises `InputError` if it holds something else, or another sweep writes there."""
    _refuse(path, force=force, resume=resume)
    path.mkdir(parents=True, exist_ok=True)
    with (path / LOCK_FILE).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{path}: another sweep is writing there; wait for it, or choose another folder with --out"
            ) from None
        kept: list[Kept] = []
        if resume:
            refuse_changes(path, read_sweep(path / SWEEP_FILE), swept)
            kept = read_runs(path, len(swept["points"]), cut=True)
            if "live" in swept:
                kept = [run for run in kept if _is_measured(run)]
        else:
            _remove(path)
            write_text(path / SWEEP_FILE, json.dumps(swept, indent=1, ensure_ascii=False) + "\n")
        with (path / RUNS_FILE).open("ab") as log:
            try:
                yield SweepFolder(path, log, kept)
            finally:
                with suppress(OSError):  # told when the line was written
                    log.close()


def _is_measured(run: Kept) -> bool:
    """Returns true if a live run need not be repeated: it neither failed nor was disturbed, either of which may be
    otherwise now."""
    return run.summary is not None and bool(run.summary["live"]["trusted"])


def _remove(path: Path) -> None:
    """Removes the files of the replaced sweep, and those recordings that it names."""
    if (path / SWEEP_FILE).is_file():
        named = {name for point in read_sweep(path / SWEEP_FILE)["points"] for name in point["traces"]}
        for entry in (path / RECORDINGS).glob("*"):
            if f"{RECORDINGS}/{entry.name}" in named:
                entry.unlink()
    for name in (SWEEP_FILE, RUNS_FILE, *MADE):
        (path / name).unlink(missing_ok=True)


def _refuse(path: Path, *, force: bool, resume: bool) -> None:
    is_sweep = (path / SWEEP_FILE).is_file()
    if resume and force:
        raise InputError("--resume keeps what is in the folder and --force replaces it: choose one of them")
    if resume and not is_sweep:
        raise InputError(f"{path}: holds no sweep that could be resumed (no {SWEEP_FILE}); begin one without --resume")
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; choose a folder with --out")
    if is_sweep and not (force or resume):
        raise InputError(
            f"{path}: holds a sweep: continue it with --resume, replace it with --force, or choose another --out"
        )
    if not is_sweep and path.is_dir() and any(each.name != LOCK_FILE for each in path.iterdir()):
        raise InputError(
            f"{path}: holds something other than a sweep, which is not replaced; choose another with --out"
        )


def refuse_changes(path: Path, before: SweepManifest, now: Json) -> None:
    """Raises `InputError` that lists the differences between a resumed sweep and the requested one."""
    found = list(changes(before, now))
    if found:
        raise InputError(
            f"{path}: cannot be resumed, because what is swept has changed since (then → now):{in_lines(found)}\n"
            "Start again with --force, or in another folder with --out"
        )


def in_lines(found: Sequence[str]) -> str:
    """Returns the first differences, each in a line of its own."""
    shown = [*found[:MOST_DIFFERENCES], *(["…"] if len(found) > MOST_DIFFERENCES else [])]
    return "".join(f"\n  {each}" for each in shown)


def changes(before: SweepManifest, now: Mapping[str, Any]) -> Iterator[str]:
    """Describes the differences between two sweeps."""
    for key in ("format", "version", "commit", "origin"):
        if before.get(key) != now[key]:
            yield f"{key}: {before.get(key)} → {now[key]}"
    if _part(before) != _part(now):
        yield f"shard: {_part(before)} → {_part(now)}"
    yield from _changed_programs(before.get("live"), now.get("live"))
    names_before, names_now = ([point["values"] for point in each["points"]] for each in (before, now))
    if names_before != names_now:
        yield f"points: {_named(names_before)} → {_named(names_now)}"
        return
    for old, new in zip(before["points"], now["points"], strict=True):
        where = ", ".join(f"{key} = {value}" for key, value in new["values"].items())
        then, current = (_own_names(each["resolved"] or "") for each in (old, new))
        for line in different_lines(then, current, sides=("then", "now")):
            yield f"scenario{f' at {where}' if where else ''}: {line}"
        for trace in sorted({*old["traces"], *new["traces"]}):
            if trace not in new["traces"]:
                yield f"trace {_own_names(trace)}: its content has changed"
        if old["resolved"] != new["resolved"] or old["traces"] != new["traces"]:
            return  # the others have most likely changed in the same way


def _part(swept: Mapping[str, Any]) -> str:
    """Describes the part of all runs that a folder has."""
    shard = swept.get("shard")
    if shard is None:
        return "all runs"
    return f"{shard['number']}/{shard['of']} of the seeds {shard['seeds'][0]} to {shard['seeds'][1]}"


def _changed_programs(before: SweptLive | None, now: SweptLive | None) -> Iterator[str]:
    """Describes the difference between the programs of a live sweep, whose machine may be another one."""
    if before is None or now is None:
        if before is not now:
            yield f"runs: {'simulated' if before is None else 'live'} → {'simulated' if now is None else 'live'}"
        return
    if before["program"] != now["program"]:
        yield f"program: {shlex.join(before['program'])} → {shlex.join(now['program'])}"
    if before["server"] != now["server"]:
        yield f"server: {before['server']} → {now['server']}"
    for file in sorted(before["files"].keys() & now["files"].keys()):
        if before["files"][file] != now["files"][file]:
            yield f"program {file}: its content has changed"


def _own_names(text: str) -> str:
    """Returns a text with recordings under the names of their files."""
    return _STORED.sub(r"\1\2", text)


def different_lines(one: str, other: str, *, sides: tuple[str, str]) -> Iterator[str]:
    """Returns the lines in which two texts differ, each after the name of its side."""
    for line in difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=0):
        if line[:1] in ("+", "-") and line[:3] not in ("+++", "---"):
            yield f"{sides[0] if line[0] == '-' else sides[1]} {line[1:]}"


def _named(values: Sequence[Mapping[str, str]]) -> str:
    axes: dict[str, list[str]] = {}
    for point in values:
        for key, value in point.items():
            if value not in axes.setdefault(key, []):
                axes[key].append(value)
    return "; ".join(f"{key} = {', '.join(listed)}" for key, listed in axes.items()) or "the scenario alone"


def read_runs(path: Path, points: int, *, cut: bool = False) -> list[Kept]:
    """Returns the runs of a sweep of this many points in the order of their ends; `cut` removes a partial line at
    the end.

    Raises `InputError` when a line is damaged.
    """
    file = path / RUNS_FILE
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return []
    whole = content.rfind(b"\n") + 1
    if cut and whole < len(content):
        os.truncate(file, whole)
    runs = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            entry = kept_run(f"{file}:{number}", line, points)
        except InputError as error:
            raise InputError(f"{error}; remove the line to repeat its run") from error
        runs.append(Kept(entry["point"], entry["seed"], cast("Json | None", entry["summary"]), entry["reason"]))
    return runs


def rewrite_lines(file: Path, chosen: Sequence[int]) -> None:
    """Writes a file anew with the lines of these numbers, in their order. Raises `OSError`."""
    with file.open("rb") as lines:
        lengths = [len(line) for line in lines]
        begins = list(itertools.accumulate(lengths, initial=0))
        staged = file.with_name(f".partial-{file.name}")
        try:
            with staged.open("wb") as out:
                for place in chosen:
                    lines.seek(begins[place])
                    out.write(lines.read(lengths[place]))
            staged.replace(file)
        except OSError as error:
            staged.unlink(missing_ok=True)
            why = f"cannot be written: {error.strerror}; the runs are kept, continue with --resume"
            raise OSError(error.errno, why, str(file)) from error


def write_text(file: Path, text: str) -> None:
    """Writes a file as `write_bytes` does."""
    write_bytes(file, text.encode())


def write_bytes(file: Path, content: bytes) -> None:
    """Writes a file so that others see the old one or the new one, never half of it. Raises `OSError`."""
    staged = file.with_name(f".partial-{file.name}")
    try:
        staged.write_bytes(content)
        staged.replace(file)
    except OSError as error:
        staged.unlink(missing_ok=True)
        why = f"cannot be written: {error.strerror}; the runs are kept, continue with --resume"
        raise OSError(error.errno, why, str(file)) from error
