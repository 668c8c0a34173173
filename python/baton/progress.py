"""A progress line on the terminal while a run goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

# Called by a run now and then: simulated seconds so far, and what is going on.
Report = Callable[[float, str], None]

# A shorter run needs no line, and would take longer with it: the library that draws lines is imported for the first.
FIRST_AFTER_S = 0.5


@contextmanager
def progress(duration_s: float, *, real_time: bool = False) -> Iterator[Report | None]:
    """Shows simulated time, speed and current events on standard error if that is a terminal.

    A run in `real_time` has no speed of its own to show.
    """
    if not sys.stderr.isatty():
        yield None
        return
    begun, bar = time.monotonic(), None
    with ExitStack() as stack:

        def report(simulated_s: float, news: str) -> None:
            nonlocal bar
            passed_s = time.monotonic() - begun
            if bar is None and passed_s >= FIRST_AFTER_S:
                bar = stack.enter_context(new_bar(duration_s, real_time=real_time))
            if bar is not None:
                bar.update(bar.task_ids[0], completed=simulated_s, speed=simulated_s / passed_s, news=news)

        yield report


def new_bar(duration_s: float, *, real_time: bool) -> Progress:
    """Returns the line of a run, with its only task."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        BarColumn(bar_width=30),
        TextColumn(f"{{task.completed:.1f}} of {duration_s:g} s"),
        TextColumn("real time" if real_time else "{task.fields[speed]:.0f} x real time"),
        TextColumn("{task.fields[news]}", markup=False),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("", total=duration_s, speed=0.0, news="")
    return bar


@contextmanager
def lines_each_second() -> Iterator[Report | None]:
    """Shows time and progress as a line each second, on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    told = 0

    def report(simulated_s: float, news: str) -> None:
        nonlocal told
        if int(simulated_s) > told:
            told = int(simulated_s)
            print(f"baton: {told} s: {news}", file=sys.stderr)

    yield report


# Told now and then: runs that have ended, runs that there will be, runs that failed.
SweepReport = Callable[[int, int, int], None]
LINE_EVERY_S = 60.0
"""From one line of a sweep to the next, where standard error is a file, as that of a cluster's job is."""


def tell_in_lines(ended: int, total: int, failed: int) -> None:
    """Reports progress in a line of its own."""
    print(f"baton: {ended} of {total} runs{_failed(failed)}", file=sys.stderr)


def _each_minute(clock: Callable[[], float] = time.monotonic) -> SweepReport:
    """Returns a report that prints a line a minute, with the time that is left at the pace since the first report."""
    begun = told = clock()
    before: int | None = None

    def report(ended: int, total: int, failed: int) -> None:
        nonlocal told, before
        before = ended if before is None else before
        if clock() - told < LINE_EVERY_S:
            return
        told = clock()
        if ended == before:
            return tell_in_lines(ended, total, failed)
        left = (told - begun) / (ended - before) * (total - ended)
        print(f"baton: {ended} of {total} runs{_failed(failed)}, about {in_words(left)} left", file=sys.stderr)

    return report


def in_words(seconds: float) -> str:
    """Writes a time in the unit that a reader plans with."""
    return f"{seconds / 3600:.0f} h" if seconds > 5400 else f"{max(seconds / 60, 1):.0f} min"


def _failed(failed: int) -> str:
    return f", {failed} failed" if failed else ""


@contextmanager
def sweep_progress(*, in_lines: bool = False) -> Iterator[SweepReport]:
    """Shows the number of runs and the time left, on standard error if that is a terminal; else, with `in_lines`, a
    line for each run, and otherwise one a minute."""
    if not sys.stderr.isatty():
        yield tell_in_lines if in_lines else _each_minute()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=30),
        TextColumn("{task.completed:.0f} of {task.total:.0f} runs{task.fields[failed]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1, failed="")

        def report(ended: int, total: int, failed: int) -> None:
            bar.update(task, completed=ended, total=total, failed=_failed(failed))

        yield report
