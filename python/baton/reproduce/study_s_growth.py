"""Growth of the window after a handover and after a loss (S2), counted in round trips."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .study_s_run import MOST, SEGMENT, result, series
from .transfer import Floats

#: The study's three, in the order of their checks.
CONTROLS = ("newreno", "scalable", "bic")
#: The most that a window can be on WiFi (section 7): 9 packets of pipe, 35 of queue, and one.
ON_WIFI = 45
#: A flow that begins as one goes on after the handover: the satellite alone, in congestion avoidance from WiFi's window
#: on.
_ALONE = [
    "mobiles.train.timetable=[{ at = '0 s', attach = 'satellite' }]",
    f"flows.download.transport.initial_window={ON_WIFI}",
    f"flows.download.transport.initial_slow_start_threshold={ON_WIFI * SEGMENT} B",
]


def growth(file: Path, control: str) -> tuple[float, float]:
    """Counts round trips from WiFi's largest window to the satellite's, and from the window after a loss to the one
    before."""
    run = result(file, 1, {"download": control}, _ALONE)
    times, window = series(run, "download", "congestion window")
    window = window / SEGMENT
    begun = int(np.argmax(window > ON_WIFI))
    full = int(np.argmax(window >= MOST))
    lost = full + int(np.argmax(np.diff(window[full:]) < 0)) + 1
    left = lost + int(np.argmax(np.diff(window[lost:]) > 0))
    next_loss = left + int(np.argmax(np.diff(window[left:]) < 0))
    again = left + int(np.argmax(window[left:] >= min(window[lost - 1], window[next_loss])))
    passed = RoundTrips(*series(run, "download", "smoothed round-trip time")).until
    return passed(times[full]) - passed(times[begun]), passed(times[again]) - passed(times[left])


class RoundTrips:
    """Counts round trips, each as long as it was then."""

    def __init__(self, times: Floats, rtts: Floats):
        self._times, self._rtts = times, rtts
        self._counts = np.concatenate([[0.0], np.cumsum(np.diff(times) / rtts[:-1])])

    def until(self, at: float) -> float:
        """Returns the number that have passed by a time since the first measurement."""
        place = max(int(np.searchsorted(self._times, at, side="right")) - 1, 0)
        return float(self._counts[place] + (at - self._times[place]) / self._rtts[place])
