"""Scenarios run live, several times and several at once; a run's measurements are kept as soon as it has ended.

A run's file names its inputs. With the same scenario, version and kernel the run is not repeated, so that an
interrupted comparison goes on where it stopped.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from baton import RunError, Scenario, version
from baton.errors import InputError
from baton.report.tables import Run, read_run
from baton.sweep.folder import write_text
from baton.toml import loads

from . import emulator
from .attempts import MOST_TRIES, doubts_about

#: Most that runs may carry together, in bit/s: more takes too much of two processors. A run that carries more is alone.
MOST_TOGETHER = 20_000_000
#: Runs at once, however slow.
MOST_AT_ONCE = 12

#: Quantities that are measured of a run, by name.
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
        """Name in messages, and place of the folder."""
        return self.name

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario, fit to be run live. Raises `ScenarioError`."""
        return Scenario.load(self.file, list(self.overrides), live=True)

    @cached_property
    def share(self) -> int:
        """Share of `MOST_TOGETHER` that it takes: its slowest link, or the fastest of a mobile's if that is slower."""
        resolved = loads(self.scenario.resolved)
        mobiles = resolved.get("mobiles", {})
        routers = {name for name, mobile in mobiles.items() if "network_prefix" in mobile.get("mobility", {})}
        access: list[int] = []
        others: list[int] = []
        for name, link in resolved["links"].items():
            # A radio network has cells, all for mobiles; what else a router is joined to is the network behind it.
            ends = set(link.get("between", mobiles))
            behind = bool(ends & routers) and "between" in link and name not in _attached(mobiles)
            (access if ends & set(mobiles) and not behind else others).append(int(_bps(link)))
        carried = min([max(access), *others] if access else others)
        return min(max(carried, MOST_TOGETHER // MOST_AT_ONCE), MOST_TOGETHER)


@dataclass(frozen=True)
class Plan:
    """Plan of trials."""

    folder: Path
    repetitions: int
    """Runs of each trial; the seed is the number of the repetition."""
    measure: Measure
    whole: tuple[str, ...] = ()
    """Labels of trials of which the results of the first repetition stay whole, in `run-1`."""


@dataclass
class Kept:
    """Kept results of one live repetition."""

    repetition: int
    figures: Figures | None
    """Nothing if every try was late or disturbed."""
    doubts: list[str]
    kernel: str
    sysctls: dict[str, dict[str, str]]
    """Settings of TCP of each host, as its kernel tells them."""
    sysctls_set: dict[str, dict[str, str]] = field(default_factory=dict)
    """Settings that the scenario requests."""
    largest_lateness_us: float | None = None
    """Largest lateness of an event; unknown for runs that older versions kept."""


class _Machine:
    """The machine that live runs share: each waits until there is room for it."""

    def __init__(self) -> None:
        self._free = MOST_TOGETHER
        self._changed = threading.Condition()
        self._interrupted = False

    @contextmanager
    def room_for(self, share: int) -> Iterator[None]:
        """Holds a share of the machine. Raises `RunError` when interrupted."""
        with self._changed:
            self._changed.wait_for(lambda: self._interrupted or share <= self._free)
            self.check()
            self._free -= share
        try:
            yield
        finally:
            with self._changed:
                self._free += share
                self._changed.notify_all()

    def interrupt(self) -> None:
        """Ends all runs."""
        with self._changed:
            self._interrupted = True
            self._changed.notify_all()

    def check(self) -> None:
        """Raises `RunError` when interrupted."""
        if self._interrupted:
            raise RunError("interrupted")


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
    """Runs the repetitions of each trial that are not in the folder yet. Interrupted, it leaves the finished ones
    there.

    Raises `RunError`.
    """
    machine = _Machine()
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        runs = [
            [pool.submit(_repeat, trial, number, plan, machine) for number in range(1, plan.repetitions + 1)]
            for trial in trials
        ]
        every = [run for of_trial in runs for run in of_trial]
        try:
            for ended, run in enumerate(as_completed(every), start=1):
                run.result()
                report(ended, len(every))
        except BaseException:
            machine.interrupt()
            for run in every:
                run.cancel()
            raise
    return [[run.result() for run in of_trial] for of_trial in runs]


def _repeat(trial: Trial, number: int, plan: Plan, machine: _Machine) -> Kept:
    """Returns one live repetition, from the folder if it is there. Raises `RunError`."""
    file = plan.folder / trial.label / f"{number}.json"
    made_from = _made_from(trial, number)
    kept = _read(file, made_from)
    if kept is None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with machine.room_for(trial.share):
            kept = _run(trial, number, plan, machine)
        write_text(file, json.dumps({"made_from": made_from, **kept.__dict__}, indent=1) + "\n")
    return kept


def _made_from(trial: Trial, number: int) -> dict[str, Any]:
    resolved = hashlib.sha256(trial.scenario.resolved.encode()).hexdigest()
    return {"scenario": resolved, "seed": number, "version": version.installed(), "kernel": os.uname().release}


def _read(file: Path, made_from: dict[str, Any]) -> Kept | None:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept.pop("made_from") == made_from and kept["figures"] is not None:
            return Kept(**kept)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not there, cut short or of another version: it is made anew, as is what was disturbed
    return None


def _run(trial: Trial, number: int, plan: Plan, machine: _Machine) -> Kept:
    out = plan.folder / trial.label / f"run-{number}"
    doubts: list[str] = []
    for _ in range(MOST_TRIES):
        summary = _live(trial, number, out, machine)
        live = summary["live"]
        found = doubts_about(live)
        measured = None if found else plan.measure(read_run(out))
        if measured is None or number > 1 or trial.label not in plan.whole:
            shutil.rmtree(out)
        if measured is not None:
            break
        doubts += found
    largest = live["lateness"]["largest_us"]
    return Kept(number, measured, doubts, live["kernel"], live["sysctls"], live["sysctls_set"], largest)


def _live(trial: Trial, number: int, out: Path, machine: _Machine) -> dict[str, Any]:
    """Runs a trial once and returns its summary. Raises `RunError`."""
    given = [str(trial.file), "--seed", str(number), "--out", str(out), "--force"]
    for override in trial.overrides:
        given += ["--set", override]
    started = emulator.Emulator(given, [])
    summary: dict[str, Any] | None = None
    message = None
    try:
        for event in started.events():
            machine.check()
            if event["event"] == "done":
                summary = event["summary"]
            elif event["event"] == "error":
                message = event["message"]
        status = started.wait()
    finally:
        started.close()
    if summary is None or status:
        raise RunError(f"{trial.label}: {message or emulator.ended(status)}")
    return summary


def not_compared(trial: Trial, kept: Sequence[Kept]) -> list[str]:
    """Returns the repetitions without figures, and the reasons."""
    return [
        f"{trial.label}, repetition {found.repetition}: {'; '.join(dict.fromkeys(found.doubts))}"
        for found in kept
        if found.figures is None
    ]


def _attached(mobiles: dict[str, Any]) -> set[str]:
    """Returns the links that mobiles attach to by their timetable or preference."""
    timetables = (entry["attach"] for mobile in mobiles.values() for entry in mobile.get("timetable", []))
    preferred = (name for mobile in mobiles.values() for name in mobile.get("failback", {}).get("prefer", []))
    return {*timetables, *preferred}


def _bps(link: dict[str, Any]) -> float:
    """Returns the largest rate that a link is given, or that of its kind, or of a cable."""
    sides = (link, link.get("down", {}), link.get("up", {}))
    given = [each[key] for each in sides for key in ("rate", "user_rate") if key in each]
    own = _RATES_OF_KINDS.get(link["kind"], "100 Mbit/s")
    rates = (str(rate).partition(" ") for rate in given or [own])
    return max(float(number) * _BITS[unit.strip()] for number, _, unit in rates)


_BITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_RATES_OF_KINDS = {
    "geo": "5 Mbit/s",
    "gsm": "9.6 kbit/s",
    "tdma": "5 Mbit/s",
    "wifi": "11 Mbit/s",
    "wifi6": "720 Mbit/s",
    "lte": "32 Mbit/s",
    "5g": "166 Mbit/s",
    "starlink": "105 Mbit/s",
}
