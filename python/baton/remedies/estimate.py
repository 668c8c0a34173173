"""Estimate of a comparison's time, from a sample of its runs."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import closing

from baton.sweep.engines import Engine
from baton.sweep.runs import Runs

from .cross import CrossPoint, load

SAMPLE = 64
"""Runs that are timed: enough for a rough hour. Chosen."""
LONG = 1_000
"""Runs below which nobody asks. Chosen."""


def estimate_s(crossed: Sequence[CrossPoint], runs: Sequence[int], engine: Engine) -> float:
    """Estimates the seconds that this many `runs` of each point take. Those that the engine refuses take no time."""
    drawn = random.Random(1).choices(crossed, weights=runs, k=SAMPLE)
    scenarios = [scenario for scenario, _ in map(load, drawn) if scenario is not None]
    begun = time.monotonic()
    with closing(Runs(engine, scenarios)) as made:
        for place in range(len(scenarios)):
            made.submit(place, 1)
        while made.next() is not None:
            pass
    return (time.monotonic() - begun) / SAMPLE * sum(runs)
