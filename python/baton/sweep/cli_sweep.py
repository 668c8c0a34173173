"""`baton sweep`: from the command line to the page's path."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path

from baton import Scenario, ScenarioError, classes, expect, travel
from baton.cli_run import allowed
from baton.errors import InputError
from baton.live.owner import as_invoker
from baton.progress import sweep_progress, tell_in_lines
from baton.remedies.reading import study_file
from baton.summary import Json, skeleton

from . import live, live_identity, page, shards, tables
from .code import Live
from .engines import opened
from .execute import PointRuns, Runner, Until, execute
from .folder import manifest, open_folder, write_bytes, write_text
from .results import PAGE, RUNS_TABLE, STATISTICS_FILE, Sweep, differences, statistics, to_json, write_table
from .runs import Runs
from .shards import Shard, default_folder, interrupted
from .study import Point, Study, read_study


@dataclass(frozen=True)
class SweepOptions:
    """Options of `baton sweep`, as given."""

    study: str
    seeds: int | None
    overrides: list[str]
    out: Path | None
    force: bool
    resume: bool
    jobs: int | None
    executor: str | None
    shard: str | None
    until_width: str | None
    json: bool
    path: Path | None = None
    full: bool = False
    allow_python: bool = False
    live: bool = False
    server: str | None = None
    program: Sequence[str] = ()


def run(options: SweepOptions) -> int:
    """Sweeps, writes and prints; returns the exit status."""
    file = study_file(options.study)
    if file is not None:
        return _compare_remedies(options, file)
    if options.path or options.full:
        raise InputError(
            "--path and --full belong to a study of remedies, such as studies/remedies; see docs/sweeps.md"
        )
    study = read_study(options.study, options.overrides, options.seeds)
    study.live = _live(options, study.live)
    until = Until.parse(options.until_width) if options.until_width else None
    shard = _shard(options, study)
    points = study.points()
    classes.permit(allowed(options.allow_python))
    runs, live_runs = _load(study, points)
    first = _first(runs)
    _check_quantity(until, first, live_runs)
    seeds = range(first.seed, first.seed + (study.seeds or 0))
    if seeds.stop > 2**64:
        raise InputError(f"seeds from {first.seed} on: the last one is above {2**64 - 1}; choose a lower `seed`")
    name = first.name if Path(options.study).suffix != ".toml" else Path(options.study).stem
    out = options.out or default_folder(name, shard)
    entries = [_entry(point, run) for point, run in zip(points, runs, strict=True)]
    live_told = None if study.live is None else live_identity.identity(study.live)
    swept = manifest(name, study.scenario, entries, live_told, None if shard is None else shard.told(seeds, None))
    with (
        _runner(options, runs, live_runs) as runner,
        open_folder(out, swept, force=options.force, resume=options.resume) as folder,
    ):
        for run in runs:
            if run.scenario is not None:
                travel.keep_recordings(out, study.scenario.parent, run.scenario)
        if shard is not None:
            shard.restrict(runs)
        with nullcontext(tell_in_lines) if live_runs else sweep_progress() as progress:
            complete = execute(folder, runs, seeds, until, runner=runner, progress=progress)
        sweep = Sweep(name, out, [entry["values"] for entry in entries], seeds, runs, complete)
        if shard is not None:
            return shards.end(folder, runs, swept, as_json=options.json) if complete else interrupted()
        if complete and live_runs is None:
            folder.put_in_order(sweep.counts)
        found = write(sweep, swept)
    show(sweep, found, as_json=options.json)
    if not complete:
        return interrupted()
    return sweep.exit_status


@contextmanager
def _runner(options: SweepOptions, runs: Sequence[PointRuns], live_runs: live.LiveRuns | None) -> Iterator[Runner]:
    """Yields the runner of the points that can be run. Raises `InputError`."""
    if live_runs is not None:
        with as_invoker():
            yield live_runs
        return
    with opened(options.executor, options.jobs) as engine:
        yield Runs(engine, [run.scenario for run in runs if run.scenario is not None])


def _shard(options: SweepOptions, study: Study) -> Shard | None:
    """Returns the shard, if the sweep is one. Raises `InputError`."""
    if options.shard is None:
        return None
    if options.until_width is not None:
        raise InputError(
            "--until-width: looks at all runs of a point, of which a shard has some: leave one of them out"
        )
    if study.live is not None:
        raise InputError("--shard: belongs to simulated runs; live ones are made one at a time")
    return Shard.parse(options.shard)


def _live(options: SweepOptions, of_study: Live | None) -> Live | None:
    """Returns the live programs, from the command line or else from the study; nothing if runs are simulated. Raises
    `InputError`."""
    if of_study is None and not options.live:
        if options.program or options.server is not None:
            raise InputError("PROGRAM and --server run live: add --live")
        return None
    for name, value in (("--jobs", options.jobs), ("--executor", options.executor)):
        if value is not None:
            raise InputError(f"{name}: belongs to simulated runs; live ones are made one at a time")
    study = of_study or Live()
    server = study.server if options.server is None else options.server
    return Live(list(options.program) or study.program, server)


def _compare_remedies(options: SweepOptions, file: Path) -> int:
    from baton.remedies import cli

    if options.until_width is not None:
        raise InputError(
            "--until-width: a study of remedies has the seeds that its blocks say; choose others with --seeds"
        )
    classes.permit("beside")
    if options.allow_python:
        raise InputError("--allow-python: a study of remedies runs classes from files beside its own; put yours there")
    if options.live or options.server is not None or options.program:
        raise InputError("--live: a study of remedies is simulated, since the kernel has none of them")
    kept = {each.name: getattr(options, each.name) for each in fields(cli.CompareOptions) if each.name != "file"}
    return cli.run(cli.CompareOptions(file=file, **kept))


def _load(study: Study, points: Sequence[Point]) -> tuple[list[PointRuns], live.LiveRuns | None]:
    """Returns the points, each with its scenario or the reason why it cannot be run, and the runner of live runs."""
    if study.live is not None:
        return live.load(study.scenario, points, study.live)
    return [_load_point(study, point) for point in points], None


def _load_point(study: Study, point: Point) -> PointRuns:
    try:
        return PointRuns(Scenario.load(study.scenario, point.overrides), None)
    except ScenarioError as error:
        return PointRuns(None, str(error))


def _check_quantity(until: Until | None, first: Scenario, live_runs: live.LiveRuns | None) -> None:
    """Raises `InputError` if the quantity that stops points is not one that a run measures."""
    if until is None or until.quantity is None:
        return
    asked = expect.Expectation.parse(f"{until.quantity} > 0")
    if live_runs is not None:
        live_runs.tests[0].check_names([asked])
    else:
        asked.check(skeleton(first.flow_names, first.class_names))


def _first(runs: Sequence[PointRuns]) -> Scenario:
    """Returns the first scenario that can be run; warns of probable mistakes. Raises `InputError`."""
    loaded = [each.scenario for each in runs if each.scenario is not None]
    if not loaded:
        raise InputError(runs[0].reason or "there is nothing to run")
    for warning in dict.fromkeys(warning for scenario in loaded for warning in scenario.warnings):
        print(f"baton: warning: {warning}", file=sys.stderr)
    return loaded[0]


def _entry(point: Point, run: PointRuns) -> Json:
    """Returns the entry of a point in `sweep.json`, with recordings under their paths in the folder."""
    scenario = run.scenario
    names = travel.stored_names(scenario) if scenario else {}
    return {
        "values": {axis: names.get(value, value) for axis, value in point.values.items()},
        "overrides": [travel.portable_override(override, names) for override in point.overrides],
        "resolved": scenario and travel.portable(scenario.resolved, names),
        "traces": {stored: scenario.traces[name] for name, stored in names.items()} if scenario else {},
        "reason": run.reason,
    }


def write(sweep: Sweep, swept: Json) -> Json:
    """Writes the table, the statistics and the page, and returns the statistics. Raises `OSError`."""
    found, compared = statistics(sweep), list(differences(sweep))
    write_table(sweep, sweep.folder / RUNS_TABLE)
    written = to_json(sweep, found, compared)
    write_text(sweep.folder / STATISTICS_FILE, json.dumps(written, ensure_ascii=False) + "\n")
    write_bytes(sweep.folder / PAGE, page.page(sweep, found, compared, swept))
    return written


def show(sweep: Sweep, found: Json, *, as_json: bool) -> None:
    """Prints the result: one JSON object, or a table and, last, the path of the page."""
    if as_json:
        places = {"table": str(sweep.folder / RUNS_TABLE), "report": str(sweep.folder / PAGE)}
        print(json.dumps({**found, **places}))
        return
    tables.print_sweep(found)
    print(sweep.folder / PAGE)
