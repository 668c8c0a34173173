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


def growth(file: Path, control: str) -> tuple[float, float]:
    """Counts round trips to the satellite's largest window, from the window that a loss at WiFi's largest one leaves
    (section 7 supposes a window below that maximum), and from the one that a loss at the satellite's leaves."""
    return _after_loss(file, control, ON_WIFI), _after_loss(file, control, MOST)


def _after_loss(file: Path, control: str, packets: int) -> float:
    run = result(file, 1, {"download": control}, _alone(packets))
    times, window = series(run, "download", "congestion window")
    window = window / SEGMENT
    lost = int(np.argmax(np.diff(window) < 0)) + 1
    left = lost + int(np.argmax(np.diff(window[lost:]) > 0))
    full = left + int(np.argmax(window[left:] >= MOST))
    passed = RoundTrips(*series(run, "download", "smoothed round-trip time")).until
    return passed(times[full]) - passed(times[left])


def _alone(packets: int) -> list[str]:
    """Returns the settings of a flow that has the satellite to itself, in congestion avoidance from a window of so many
    packets on. It loses one of the first, and no other ("supposing that no congestion event occurs", section 7): queues
    take all that it sends."""
    bad = "{ at = '2800 ms', link = 'satellite', down = { packet_error_rate = 1 } }"
    good = "{ at = '2802400 us', link = 'satellite', down = { packet_error_rate = 0 } }"
    return [
        "mobiles.train.timetable=[{ at = '0 s', attach = 'satellite' }]",
        "links.ground.queue=1000 packets",
        "links.satellite.queue=1000 packets",
        f"changes=[{bad}, {good}]",
        "flows.download.start_jitter=0 s",
        # The timer has not seen the queue yet when the packet is sent again.
        "flows.download.transport.minimum_rto=3 s",
        f"flows.download.transport.initial_window={packets}",
        f"flows.download.transport.initial_slow_start_threshold={packets * SEGMENT} B",
    ]


class RoundTrips:
    """Counts round trips, each as long as it was then."""

    def __init__(self, times: Floats, rtts: Floats):
        self._times, self._rtts = times, rtts
        self._counts = np.concatenate([[0.0], np.cumsum(np.diff(times) / rtts[:-1])])

    def until(self, at: float) -> float:
        """Returns the number that have passed by a time since the first measurement."""
        place = max(int(np.searchsorted(self._times, at, side="right")) - 1, 0)
        return float(self._counts[place] + (at - self._times[place]) / self._rtts[place])
