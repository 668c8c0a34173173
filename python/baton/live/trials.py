"""Scenarios run live, several times and several at once; what is measured of a run is kept as soon as it has ended.

A run's file tells what it was made from. With the same scenario, version and kernel it is not made again, so that what
was interrupted goes on where it stopped.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from baton import RunError, Scenario
from baton.errors import InputError
from baton.report.tables import Run, read_run
from baton.sweep.folder import write_text
from baton.toml import loads

from . import batond

#: Times that a live run which was late or disturbed is tried.
MOST_TRIES = 3
#: A path that carries more takes so much of the processor that nothing else may run beside it.
MOST_TOGETHER_BPS = 20e6

#: What is measured of a run, by name.
Figures = dict[str, float | None]
Measure = Callable[[Run], Figures]
#: Told after each run: live runs that have ended, and that there will be.
Report = Callable[[int, int], None]


@dataclass(frozen=True)
class Trial:
    """A scenario that is run live."""

    name: str
    file: Path
    overrides: tuple[str, ...]

    @property
    def label(self) -> str:
        """Its name in messages, and the place of its folder."""
        return self.name

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario, fit to be run live. Raises `ScenarioError`."""
        return Scenario.load(self.file, list(self.overrides), live=True)

    @property
    def alone(self) -> bool:
        """Whether nothing else may run beside it."""
        links = loads(self.scenario.resolved)["links"].values()
        return any(_bps(link) > MOST_TOGETHER_BPS for link in links)


@dataclass(frozen=True)
class Plan:
    """How trials are run."""

    folder: Path
    repetitions: int
    """Runs of each trial; the seed is the number of the repetition."""
    measure: Measure
    at_once: int = 4
    """Live runs at once, of those that may have company."""
    whole: tuple[str, ...] = ()
    """Labels of trials of which the results of the first repetition stay whole, in `run-1`."""


@dataclass
class Kept:
    """What is kept of one live repetition."""

    repetition: int
    figures: Figures | None
    """Nothing if every try was late or disturbed."""
    doubts: list[str]
    kernel: str
    sysctls: dict[str, dict[str, str]]
    """Settings of TCP of each host, as its kernel tells them."""
    sysctls_set: dict[str, dict[str, str]] = field(default_factory=dict)
    """Those that the scenario asked for."""


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Makes a folder, if need be, and keeps others from writing there. Raises `InputError` if someone does."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{folder}: another comparison is writing there; wait for it, or choose another") from None
        yield


def run(trials: Sequence[Trial], plan: Plan, report: Report) -> list[list[Kept]]:
    """Runs what is not in the folder yet; the repetitions of each trial. Interrupted, it leaves what is done there.

    Raises `RunError`.
    """
    kept: list[list[Kept]] = [[] for _ in trials]
    work = [(place, number) for place in range(len(trials)) for number in range(1, plan.repetitions + 1)]
    ended = 0

    def note(place: int, found: Kept) -> None:
        nonlocal ended
        kept[place].append(found)
        ended += 1
        report(ended, len(work))

    alone = {place for place, trial in enumerate(trials) if trial.alone}
    _in_threads(trials, [item for item in work if item[0] not in alone], plan, note)
    for place, number in work:
        if place in alone:
            note(place, _repeat(trials[place], number, plan, threading.Event()))
    for each in kept:
        each.sort(key=lambda found: found.repetition)
    return kept


def _in_threads(
    trials: Sequence[Trial], work: Sequence[tuple[int, int]], plan: Plan, note: Callable[[int, Kept], None]
) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor(plan.at_once) as pool:
        under_way: dict[Future[Kept], int] = {
            pool.submit(_repeat, trials[place], number, plan, stop): place for place, number in work
        }
        try:
            while under_way:
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    note(under_way.pop(future), future.result())
        except BaseException:
            stop.set()
            for future in under_way:
                future.cancel()
            raise


def _repeat(trial: Trial, number: int, plan: Plan, stop: threading.Event) -> Kept:
    """One live repetition, from the folder if it is there. Raises `RunError`."""
    file = plan.folder / trial.label / f"{number}.json"
    made_from = _made_from(trial, number)
    kept = _read(file, made_from)
    if kept is None:
        file.parent.mkdir(parents=True, exist_ok=True)
        kept = _run(trial, number, plan, stop)
        write_text(file, json.dumps({"made_from": made_from, **kept.__dict__}, indent=1) + "\n")
    return kept


def _made_from(trial: Trial, number: int) -> dict[str, Any]:
    resolved = hashlib.sha256(trial.scenario.resolved.encode()).hexdigest()
    return {"scenario": resolved, "seed": number, "version": version("baton"), "kernel": os.uname().release}


def _read(file: Path, made_from: dict[str, Any]) -> Kept | None:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept.pop("made_from") == made_from and kept["figures"] is not None:
            return Kept(**kept)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not there, cut short or of another version: it is made anew, as is what was disturbed
    return None


def _run(trial: Trial, number: int, plan: Plan, stop: threading.Event) -> Kept:
    out = plan.folder / trial.label / f"run-{number}"
    doubts: list[str] = []
    for _ in range(MOST_TRIES):
        summary = _live(trial, number, out, stop)
        live = summary["live"]
        measured = plan.measure(read_run(out)) if live["trusted"] else None
        if measured is None or number > 1 or trial.label not in plan.whole:
            shutil.rmtree(out)
        if measured is not None:
            break
        doubts += live["doubts"]
    return Kept(number, measured, doubts, live["kernel"], live["sysctls"], live["sysctls_set"])


def _live(trial: Trial, number: int, out: Path, stop: threading.Event) -> dict[str, Any]:
    """Runs a trial once and returns its summary. Raises `RunError`."""
    given = [str(trial.file), "--seed", str(number), "--out", str(out), "--force"]
    for override in trial.overrides:
        given += ["--set", override]
    daemon = batond.Daemon(given, [])
    summary: dict[str, Any] | None = None
    message = None
    try:
        for event in daemon.events():
            if stop.is_set():
                raise RunError("interrupted")
            if event["event"] == "done":
                summary = event["summary"]
            elif event["event"] == "error":
                message = event["message"]
        status = daemon.wait()
    finally:
        daemon.close()
    if summary is None or status:
        raise RunError(f"{trial.label}: {message or batond.ended(status)}")
    return summary


def not_compared(trial: Trial, kept: Sequence[Kept]) -> list[str]:
    """Repetitions that have no figures, and why."""
    return [
        f"{trial.label}, repetition {found.repetition}: {'; '.join(found.doubts)}"
        for found in kept
        if found.figures is None
    ]


def _bps(link: dict[str, Any]) -> float:
    """The largest rate that a link is given; without one that of its kind, or of a cable."""
    given = [each["rate"] for each in (link, link.get("down", {}), link.get("up", {})) if "rate" in each]
    own = _RATES_OF_KINDS.get(link["kind"], "100 Mbit/s")
    rates = (str(rate).partition(" ") for rate in given or [own])
    return max(float(number) * _BITS[unit.strip()] for number, _, unit in rates)


_BITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_RATES_OF_KINDS = {"geo": "5 Mbit/s", "gsm": "9.6 kbit/s", "wifi": "11 Mbit/s"}
