"""Repeats the runs of a sweep and compares their numbers."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from baton._baton import Scenario
from baton.archive import SWEEP_FILE
from baton.errors import InputError
from baton.progress import sweep_progress
from baton.rerun import RerunOptions, found_recordings, parsed
from baton.stored import read_sweep

from .engines import opened
from .flatten import flatten
from .folder import read_runs
from .runs import Runs

ONLY_HASHED = "# SHA-256"


def rerun_sweep(folder: Path, options: RerunOptions) -> dict[str, bool]:
    """Repeats every run of a sweep, on all cores. Returns for each point whether all its numbers are the same.

    Names the seeds with other numbers. Failed runs are repeated, too, and have to fail again.
    """
    file = folder / SWEEP_FILE
    swept = read_sweep(file)
    points = swept["points"]
    if "live" in swept:
        raise InputError(
            f"{file}: is a sweep of live runs: the same command repeats its scenarios, seeds and programs, but clocks"
            " and kernels do not repeat byte for byte. Sweep again into another folder, and compare the two with"
            " `baton compare`; or sweep without `--live`: what is simulated can be repeated"
        )
    kept = {(run.point, run.seed): run.summary for run in read_runs(folder, len(points))}
    if any((point["resolved"] or "").startswith(ONLY_HASHED) for point in points):
        raise InputError(f"{file}: is a study of remedies, which keeps hashes only; repeat it with `baton sweep`")
    scenarios: list[Scenario] = []
    places: dict[int, int] = {}
    for number, point in enumerate(points):
        if point["resolved"] is not None and any(of == number for of, _ in kept):
            with found_recordings(file, point["traces"], options.traces) as beside:
                places[number] = len(scenarios)
                scenarios.append(parsed(point["resolved"], beside, file, options))
    differ: dict[int, list[int]] = {number: [] for number in places}
    numbers = list(places)
    with opened(None, None) as engine, closing(Runs(engine, scenarios)) as runs, sweep_progress() as tell:
        for number, seed in kept:
            runs.submit(places[number], seed)
        done = 0
        while (outcome := runs.next()) is not None:
            before, done = kept[numbers[outcome.place], outcome.seed], done + 1
            again = None if outcome.summary is None else flatten(json.loads(outcome.summary))
            if again != (None if before is None else flatten(before)):
                differ[numbers[outcome.place]].append(outcome.seed)
            tell(done, len(kept), 0)
    return {_named(points[number]["values"], seeds): not seeds for number, seeds in differ.items()}


def _named(values: dict[str, str], seeds: list[int]) -> str:
    point = ", ".join(f"{key} = {value}" for key, value in values.items()) or "the scenario"
    return f"{point}, seed {', '.join(map(str, sorted(seeds)))}" if seeds else point
