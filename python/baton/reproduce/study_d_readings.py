"""Study D's two-sided numbers of pings, windows and handovers (D3 to D9), for sets of chosen parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from baton.live.trials import Figures

from .checks import put
from .spread import spread
from .study_d import handovers, pings, windows

#: Runs of each scenario, of which a number is the mean: a handover hangs on the superframe in which it begins.
RUNS = 8


def readings(folder: Path) -> dict[str, Figures]:
    """Measures the numbers; the study's text has one reading of each."""
    tasks = [(case, (seed,)) for case in (pings, windows, handovers) for seed in range(1, RUNS + 1)]
    samples: dict[str, list[float]] = {}
    for figures in spread(None, folder, tasks):
        put(samples, figures)
    return {"": {check: float(np.mean(values)) for check, values in samples.items()}}
