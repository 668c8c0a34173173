"""`baton sweep` of a study that compares remedies: from the study's file to the page's path."""

from __future__ import annotations

import json
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from baton.errors import InputError
from baton.progress import in_words, sweep_progress
from baton.stored import read_object
from baton.summary import Json
from baton.sweep import shards
from baton.sweep.engines import opened
from baton.sweep.execute import PointRuns
from baton.sweep.folder import manifest, open_folder, write_text
from baton.sweep.results import PAGE, RUNS_TABLE, STATISTICS_FILE, Sweep, write_table
from baton.sweep.shards import Shard, default_folder, interrupted

from . import batches, page, show
from .advice import Advice, Distance, advise, distances
from .cells import Cells
from .cross import CrossPoint, entries, load, points
from .estimate import LONG, estimate_s
from .gains import Runs
from .narrow import narrowed
from .ranking import Standing, standings
from .reading import read
from .refusals import Refusal, find_unfit, refusals
from .study import RemedyStudy

FAILED = 1
FIRST_SEED = 1


@dataclass(frozen=True)
class CompareOptions:
    """Options of `baton sweep` that a study of remedies takes."""

    file: Path
    path: Path | None
    full: bool
    seeds: int | None
    overrides: list[str]
    out: Path | None
    force: bool
    resume: bool
    jobs: int | None
    executor: str | None
    shard: str | None
    json: bool


@dataclass(frozen=True)
class Comparison:
    """A comparison that has been run."""

    study: RemedyStudy
    sweep: Sweep
    runs: Runs
    cells: Cells
    standings: list[Standing]
    advice: list[Advice]
    distances: list[Distance]
    refused: list[Refusal]
    wall_s: float
    command: str
    """The command as it was typed."""

    def to_json(self) -> Json:
        """Returns the contents of `statistics.json` and of `--json`."""
        return {
            "format": 1,
            "name": self.study.name,
            "complete": self.sweep.complete,
            "runs": sum(len(self.sweep.rows(place)) for place in range(len(self.sweep.points))),
            "wall_s": self.wall_s,
            "headline": self.study.headline,
            "handovers": [vars(cell.situation) | {"number": cell.number} for cell in self.cells.headline],
            "remedies": [each.to_json() for each in self.standings],
            "advice": [each.to_json() for each in self.advice],
            "own": [each.sentence for each in self.distances],
            "failures": [each for each in self.sweep.failures if each["seed"] is not None],
        }


def run(options: CompareOptions) -> int:
    """Runs the comparison, writes and prints it; returns the exit status."""
    study = read(options.file, full=options.full, own_path=options.path)
    study = narrowed(study, options.overrides, options.seeds)
    find_unfit(study)
    for note in study.fit():
        print(f"baton: {note}", file=sys.stderr)
    situations = study.situations()
    crossed = points(study)
    _, refused = load(crossed[0])
    if refused is not None:
        raise InputError(refused)
    runs = [PointRuns(None, None, enough=situations[point.situation]) for point in crossed]
    name = f"{study.name}-full" if options.full else study.name
    name += f"-{next(iter(study.paths))}" if options.path else ""
    shard = Shard.parse(options.shard) if options.shard is not None else None
    out = options.out or default_folder(name, shard)
    seeds = range(FIRST_SEED, FIRST_SEED + max(situations.values()))
    swept = manifest(name, study.file, list(entries(crossed)), shard=None if shard is None else shard.told(seeds, None))
    if shard is not None:
        shard.restrict(runs)
    begun = time.monotonic()
    with (
        opened(options.executor, options.jobs) as engine,
        open_folder(out, swept, force=options.force, resume=options.resume) as folder,
    ):
        if study.count() > LONG and shard is None:
            told = in_words(estimate_s(crossed, [situations[point.situation] for point in crossed], engine))
            print(f"baton: {study.count():,} runs; about {told} on {engine.workers()} cores", file=sys.stderr)
            begun = time.monotonic()
        with sweep_progress() as progress:
            complete = batches.run(folder, crossed, runs, seeds, engine=engine, progress=progress)
        if shard is not None:
            return shards.end(folder, runs, swept, as_json=options.json) if complete else interrupted()
        if complete:
            folder.put_in_order(lambda point, seed: True)
        sweep = Sweep(name, out, [point.values for point in crossed], seeds, runs, complete)
        found = _found(study, sweep, crossed, _before(out) + time.monotonic() - begun)
        _write(found)
    _show(found, as_json=options.json)
    if not complete:
        return interrupted()
    return FAILED if any(point.failures for point in runs) else 0


def _before(folder: Path) -> float:
    """Returns the seconds that a resumed sweep took before."""
    file = folder / STATISTICS_FILE
    wall_s = read_object(file).get("wall_s") if file.is_file() else 0.0
    return float(wall_s) if isinstance(wall_s, (int, float)) else 0.0


def _found(study: RemedyStudy, sweep: Sweep, crossed: list[CrossPoint], wall_s: float) -> Comparison:
    rows = {(point.situation, point.remedy): dict(sweep.rows(place)) for place, point in enumerate(crossed)}
    reasons = ((point, each.reason) for point, each in zip(crossed, sweep.points, strict=True))
    refused = refusals(study, ((point, reason) for point, reason in reasons if reason is not None))
    runs = Runs(rows, {each.name: each.base for each in study.remedies.values()})
    cells = Cells.of(study)
    found = standings(study, runs, refused)
    advice = advise(found, runs, cells.headline, complete=sweep.complete)
    apart = distances(found, runs, cells.headline)
    command = shlex.join(["baton", *sys.argv[1:]])
    return Comparison(study, sweep, runs, cells, found, advice, apart, refused, wall_s, command)


def _write(found: Comparison) -> None:
    folder = found.sweep.folder
    write_table(found.sweep, folder / RUNS_TABLE)
    write_text(folder / STATISTICS_FILE, json.dumps(found.to_json(), ensure_ascii=False) + "\n")
    write_text(folder / PAGE, page.page(found))


def _show(found: Comparison, *, as_json: bool) -> None:
    folder = found.sweep.folder
    if as_json:
        print(json.dumps(found.to_json() | {"table": str(folder / RUNS_TABLE), "report": str(folder / PAGE)}))
        return
    show.show(found)
    print(folder / PAGE)
