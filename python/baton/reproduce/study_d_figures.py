"""Study D's figures 4 and 9 to 12: error rates, round-trip time and timeout by window, completion, received bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from baton._baton import json_radio_figures

from .figures import Curve, Figure, printed, printed_level
from .study_d_run import FAST, HOME, AircraftRun, simulate, window

#: Windows of figures 9 and 10, in kilobytes.
WINDOWS = (2, 4, 8, 16)
#: Scenarios by the name of their file, with the check that has their completion.
COMPLETION = {"baseline": "D8.f", "proposal-1": "D8.g", "proposal-2": "D8.h"}


def draw(folder: Path, samples: Mapping[str, Sequence[float]]) -> list[Figure]:
    """Draws all of them: figure 11 from the values of the checks, the others from the first seed's runs."""
    first = folder / "proposal-1.toml"
    slow = {size: simulate(first, 1, [*HOME, *window(size)], "series") for size in WINDOWS}
    fast = {size: simulate(first, 1, [*HOME, *FAST, *window(size)], "series") for size in WINDOWS}
    timeouts = dict(sorted({**slow, 6: simulate(first, 1, [*HOME, *window(6)], "series")}.items()))
    runs = {name: simulate(folder / f"{name}.toml", 1, [], "series") for name in COMPLETION}
    return [
        _errors(),
        _over_time("9 (a): round-trip time by window, 31.5 kbit/s", slow, "round-trip time", (16, "up to")),
        _over_time("9 (b): round-trip time by window, 158 kbit/s", fast, "round-trip time"),
        _over_time(
            "10: retransmission timeout by window, 31.5 kbit/s", timeouts, "retransmission timeout", (6, "about")
        ),
        _completion(samples),
        _received(runs),
    ]


def _errors() -> Figure:
    figures = json.loads(json_radio_figures(1.0, 1, 1))
    curves = []
    for look, (direction, frame, published) in enumerate(
        (("forward", "forward frames of 91 B", 6.31e-5), ("return", "return tiles of 14 B", 6.28e-2))
    ):
        snr_db, lost = np.array(figures[direction]["computed_errors"]).T
        curves.append(Curve(f"{frame}, computed", snr_db, lost, look))
        curves.append(printed(frame, [(8.7, published)], look))
    note = (
        "QPSK ½. The study's text gives one point of each curve; its figure was not available. Computed by our own"
        ' physical layer, with chosen echoes and pulses (`errors = "computed"`).'
    )
    return Figure("Figure 4: error rates by SNR", "SNR (dB)", "share lost", curves, note, logarithmic="y")


def _over_time(
    title: str, runs: Mapping[int, AircraftRun], quantity: str, stated: tuple[int, str] | None = None
) -> Figure:
    """Draws a quantity by window; `stated` is the window of which the text prints four seconds."""
    curves = [Curve(f"{size} kB", *run.over_time(quantity), look) for look, (size, run) in enumerate(runs.items())]
    if stated is not None:
        size, word = stated
        drawn = curves[list(runs).index(size)]
        curves.append(printed_level(f"{size} kB, {word}", 4, (float(drawn.x[0]), float(drawn.x[-1])), drawn.look))
    return Figure(f"Figure {title}", "time (s)", "s", curves, "The run with the first seed, without a handover.")


def _completion(samples: Mapping[str, Sequence[float]]) -> Figure:
    curves = []
    for look, (name, check) in enumerate(COMPLETION.items()):
        found = np.array(samples.get(check, []), dtype=np.float64)
        curves.append(Curve(name, np.arange(1.0, len(found) + 1), found, look, shape="points"))
    return Figure("Figure 11: completion of the transfer", "run", "s", curves, "Each run of 110 kB has one handover.")


def _received(runs: Mapping[str, AircraftRun]) -> Figure:
    curves = [
        Curve(name, times, received / 1e3, look)
        for look, (name, (times, received)) in enumerate(
            (name, run.over_time("delivered bytes")) for name, run in runs.items()
        )
    ]
    baseline, first, second = runs.values()
    # Named as in the study.
    marks = [
        (first.handover_at_s, "t1"),
        (first.handover_at_s + first.handover_s, "t2"),
        (baseline.handover_at_s + baseline.handover_s, "t3"),
        (second.handover_at_s, "t4"),
        (second.handover_at_s + second.handover_s, "t5"),
    ]
    note = (
        "The run with the first seed: bytes that the application has received. The handover begins at t1, with"
        " proposal 2 at t4; it is complete at t2 (proposal 1), t3 (baseline) and t5 (proposal 2). Published: t2 and t5"
        " 0.8 s after the handover begins, t4 1.9 s after t1."
    )
    return Figure(
        "Figure 12: received bytes", "time (s)", "kB", curves, note, [mark for mark in marks if np.isfinite(mark[0])]
    )
