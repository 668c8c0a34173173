"""Runs cases live, several at once, and simulated; keeps each run's figures as soon as it has ended.

A run's file tells what it was made from. With the same scenario, version and kernel it is not made again, so that an
interrupted comparison goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from baton import RunError
from baton.live import batond
from baton.report.tables import read_run, run_of
from baton.sweep.folder import write_text

from .cases import Case
from .measure import Figures, figures

#: Times that a live run which was late or disturbed is tried.
MOST_TRIES = 3
#: Live runs at once, of those that may have company.
AT_ONCE = 4


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


@dataclass
class Outcome:
    """A case, run both ways."""

    case: Case
    simulated: list[Figures] = field(default_factory=list)
    live: list[Kept] = field(default_factory=list)

    @property
    def compared(self) -> list[Figures]:
        """The figures of the live repetitions that can be trusted."""
        return [kept.figures for kept in self.live if kept.figures is not None]


#: Told after each run: live runs that have ended, and that there will be.
Report = Callable[[int, int], None]


def execute(cases: list[Case], repetitions: int, folder: Path, report: Report) -> list[Outcome]:
    """Runs everything that is not in the folder yet. Interrupted, it leaves what is done there."""
    outcomes = [Outcome(case, simulate(case, repetitions)) for case in cases]
    work = [(outcome, number) for outcome in outcomes for number in range(1, repetitions + 1)]
    ended = 0

    def note(outcome: Outcome, kept: Kept) -> None:
        nonlocal ended
        outcome.live.append(kept)
        ended += 1
        report(ended, len(work))

    together = [item for item in work if not item[0].case.alone]
    _in_threads(together, folder, note)
    for outcome, number in work:
        if outcome.case.alone:
            note(outcome, repeat(outcome.case, number, folder, threading.Event()))
    for outcome in outcomes:
        outcome.live.sort(key=lambda kept: kept.repetition)
    return outcomes


def _in_threads(work: Iterable[tuple[Outcome, int]], folder: Path, note: Callable[[Outcome, Kept], None]) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        under_way: dict[Future[Kept], Outcome] = {
            pool.submit(repeat, outcome.case, number, folder, stop): outcome for outcome, number in work
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


def simulate(case: Case, repetitions: int) -> list[Figures]:
    """The figures of simulated runs, one for each repetition's seed."""
    return [figures(run_of(case.scenario.run(seed=number))) for number in range(1, repetitions + 1)]


def repeat(case: Case, number: int, folder: Path, stop: threading.Event) -> Kept:
    """One live repetition, from the folder if it is there. Raises `RunError`."""
    file = folder / case.name / case.congestion / f"{number}.json"
    made_from = _made_from(case, number)
    kept = _read(file, made_from)
    if kept is None:
        kept = _run(case, number, file.parent / f"run-{number}", stop)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps({"made_from": made_from, **kept.__dict__}, indent=1) + "\n")
    return kept


def _made_from(case: Case, number: int) -> dict[str, Any]:
    resolved = hashlib.sha256(case.scenario.resolved.encode()).hexdigest()
    return {"scenario": resolved, "seed": number, "version": version("baton"), "kernel": os.uname().release}


def _read(file: Path, made_from: dict[str, Any]) -> Kept | None:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept.pop("made_from") == made_from and kept["figures"] is not None:
            return Kept(**kept)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not there, cut short or of another version: it is made anew, as is what was disturbed
    return None


def _run(case: Case, number: int, out: Path, stop: threading.Event) -> Kept:
    doubts: list[str] = []
    for _ in range(MOST_TRIES):
        summary = _live(case, number, out, stop)
        live = summary["live"]
        measured = figures(read_run(out)) if live["trusted"] else None
        shutil.rmtree(out)
        if measured is not None:
            break
        doubts += live["doubts"]
    return Kept(number, measured, doubts, live["kernel"], live["sysctls"], live["sysctls_set"])


def _live(case: Case, number: int, out: Path, stop: threading.Event) -> dict[str, Any]:
    """Runs a case once and returns its summary. Raises `RunError`."""
    given = [str(case.file), "--seed", str(number), "--out", str(out), "--force"]
    for override in case.overrides:
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
        raise RunError(f"{case.name}/{case.congestion}: {message or batond.ended(status)}")
    return summary
