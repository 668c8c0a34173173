"""Study T's figures 7-1 to 7-11: segments and acknowledgments over time, and the retransmission timeout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .figures import Curve, Figure
from .study_run import GSM_RATE, StudyRun, simulate, window
from .transfer import Floats, Side

SENT, ACKS, LINK = 0, 1, 2


def draw(folder: Path) -> list[Figure]:
    """Draws all of them, each of the first seed's run."""
    forth = simulate(folder / "download.toml", 1, [])
    small, smaller = (simulate(folder / "download.toml", 1, window(name)) for name in ("4k", "small"))
    back = simulate(folder / "download-back.toml", 1, [])
    upload = simulate(folder / "upload.toml", 1, [], "upload")
    return [
        _segments("7-1: a handover from WaveLAN to GSM", forth, (-12, 118)),
        _segments("7-2: after the handover to GSM", forth, (0, 60)),
        _segments("7-3: the whole exchange after the handover", forth, (0, 118), rate=True),
        _timeout("7-3: the timeout meanwhile", forth, (-2, 118)),
        _segments("7-4: a window of 4096 B, segments of 1024 B", small, (0, 118), rate=True),
        _segments("7-5: a window of 2144 B, segments of 536 B", smaller, (0, 118), rate=True),
        _segments("7-6: an upload right after the handover", upload, (0, 15)),
        _segments("7-7: an upload after the handover", upload, (0, 118), rate=True),
        _segments("7-8: a handover from GSM to WaveLAN", back, (-20, 20)),
        _arrivals("7-9: arrivals on both links after the handover", back, (-2, 18)),
        _timeout("7-10: the timeout over GSM", back, (-65, 18)),
        _timeout("7-11: the timeout over WaveLAN", back, (15, 18)),
    ]


def _segments(title: str, run: StudyRun, span: tuple[float, float], *, rate: bool = False) -> Figure:
    """Draws segments as they leave the sender and acknowledgments as they reach it, by first byte and by number."""
    origin = run.transfer.acknowledged(run.handover_s + span[0]) if span[0] > -10 else 0
    curves = [
        _points("segments sent", run.transfer.sent, run, span, origin, SENT),
        _points("acknowledgments", run.transfer.acks, run, span, origin, ACKS),
    ]
    if rate:
        at = np.array([0.0, span[1]])
        curves.append(Curve("rate of the link", at, at * GSM_RATE / 1e3, LINK, aside=True))
    return _figure(title, "kB", curves, span)


def _arrivals(title: str, run: StudyRun, span: tuple[float, float]) -> Figure:
    origin = run.transfer.acknowledged(run.handover_s + span[0])
    curves = [
        _points(name, run.transfer.data_on(link, delivered=True), run, span, origin, look)
        for look, (link, name) in enumerate((("gsm", "over GSM"), ("wavelan", "over WaveLAN")))
    ]
    # The fast link would be drawn to its end, far above all that matters.
    most = float(np.nanmax(curves[0].y, initial=0.0)) * 2
    return _figure(title, "kB", [_below(curve, most) for curve in curves], span)


def _timeout(title: str, run: StudyRun, span: tuple[float, float]) -> Figure:
    curves = []
    for look, (series, name) in enumerate((("retransmission timeout", "RTO"), ("round-trip time", "round-trip time"))):
        times, values = run.series(series)
        since = times - run.handover_s
        inside = (since >= span[0]) & (since <= span[1])
        curves.append(Curve(name, since[inside], values[inside], look))
    return _figure(title, "s", curves, span)


def _points(name: str, side: Side, run: StudyRun, span: tuple[float, float], origin: int, look: int) -> Curve:
    since: Floats = side.time_s - run.handover_s
    inside = (since >= span[0]) & (since <= span[1])
    return Curve(name, since[inside], (side.sequence[inside] - origin) / 1e3, look, shape="points")


def _below(curve: Curve, most: float) -> Curve:
    low = curve.y <= most
    return Curve(curve.name, curve.x[low], curve.y[low], curve.look, shape=curve.shape)


def _figure(title: str, unit: str, curves: list[Curve], span: tuple[float, float]) -> Figure:
    note = "The run with the first seed; the handover is at 0 s."
    marks = [(0.0, "handover")] if span[0] <= 0 else []
    return Figure(f"Figure {title}", "time since the handover (s)", unit, curves, note, marks)
