"""Study D's two-sided numbers of pings, windows and handovers (D3 to D9), for sets of chosen parameters."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np

from baton.live.trials import Figures

from .checks import put
from .study_d import handovers, pings, windows

#: Runs of each scenario, of which a number is the mean: a handover hangs on the superframe in which it begins.
RUNS = 8


def readings(folder: Path) -> dict[str, Figures]:
    """Measures the numbers; the study's text has one reading of each."""
    tasks = product((pings, windows, handovers), range(1, RUNS + 1))
    samples: dict[str, list[float]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for figures in pool.map(lambda task: task[0](folder, task[1]), tasks):
            put(samples, figures)
    return {"": {check: float(np.mean(values)) for check, values in samples.items()}}
