"""A progress line on the terminal while a run goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Called by a run now and then: simulated seconds so far, and what is going on.
Report = Callable[[float, str], None]


@contextmanager
def progress(duration_s: float, *, real_time: bool = False) -> Iterator[Report | None]:
    """Shows simulated time, speed and what is going on, on standard error if that is a terminal.

    A run in `real_time` has no speed of its own to show.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        BarColumn(bar_width=30),
        TextColumn(f"{{task.completed:.1f}} of {duration_s:g} s"),
        TextColumn("real time" if real_time else "{task.fields[speed]:.0f} x real time"),
        TextColumn("{task.fields[news]}", markup=False),
    )
    begun = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=duration_s, speed=0.0, news="")

        def report(simulated_s: float, news: str) -> None:
            speed = simulated_s / max(time.monotonic() - begun, 1e-9)
            bar.update(task, completed=simulated_s, speed=speed, news=news)

        yield report
