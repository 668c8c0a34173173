"""Study T's figures 7-1 to 7-11: segments and acknowledgments over time, and the retransmission timeout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .figures import Curve, Figure, printed
from .study_run import GSM_RATE, StudyRun, simulate, window
from .transfer import Floats, Side

SENT, ACKS, LINK, PRINTED = 0, 1, 2, 3
#: Bytes of the text's exchanges over GSM: 680 B/s over 116 s.
PRINTED_BYTES = 680 * 116
#: Places in a figure: seconds since the handover, and the value there.
Places = Sequence[tuple[float, float]]


def draw(folder: Path) -> list[Figure]:
    """Draws all of them, each of the first seed's run."""
    forth = simulate(folder / "download.toml", 1, [])
    small, smaller = (simulate(folder / "download.toml", 1, window(name)) for name in ("4k", "small"))
    back = simulate(folder / "download-back.toml", 1, [])
    upload = simulate(folder / "upload.toml", 1, [], "upload")
    return [
        _segments("7-1: a handover from WaveLAN to GSM", forth, (-12, 118)),
        _segments("7-2: after the handover to GSM", forth, (0, 60)),
        _segments("7-3: the whole exchange after the handover", forth, (0, 118), rate=True, at_end=680),
        _timeout("7-3: the timeout meanwhile", forth, (-2, 118), [(116, 20)], [(116, 11)]),
        _segments("7-4: a window of 4096 B, segments of 1024 B", small, (0, 118), rate=True, at_end=790),
        _segments("7-5: a window of 2144 B, segments of 536 B", smaller, (0, 118), rate=True, at_end=700),
        _segments("7-6: an upload right after the handover", upload, (0, 15)),
        _segments("7-7: an upload after the handover", upload, (0, 118), rate=True),
        _segments("7-8: a handover from GSM to WaveLAN", back, (-20, 20)),
        _arrivals("7-9: arrivals on both links after the handover", back, (-2, 18)),
        _timeout("7-10: the timeout over GSM", back, (-65, 18), [(0, 20), (16, 50)]),
        _timeout("7-11: the timeout over WaveLAN", back, (15, 18), [(18, 0.2)]),
    ]


def _segments(
    title: str, run: StudyRun, span: tuple[float, float], *, rate: bool = False, at_end: float | None = None
) -> Figure:
    """Draws segments as they leave the sender and acknowledgments as they reach it, by first byte and by number;
    `at_end` is the printed mean rate of the exchange, in bytes a second."""
    origin = run.first_on("gsm")[0] if span[0] == 0 else 0
    curves = [
        _points("segments sent", run.transfer.sent, run, span, origin, SENT),
        _points("acknowledgments", run.transfer.acks, run, span, origin, ACKS),
    ]
    if rate:
        at = np.array([0.0, span[1]])
        curves.append(Curve("rate of the link", at, at * GSM_RATE / 1e3, LINK, aside=True))
    if at_end is not None:
        curves.append(printed("end of the exchange", [(PRINTED_BYTES / at_end, PRINTED_BYTES / 1e3)], PRINTED))
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


def _timeout(title: str, run: StudyRun, span: tuple[float, float], rto: Places = (), round_trip: Places = ()) -> Figure:
    """Draws timeout and round-trip time, with the places that the text prints."""
    curves = []
    for look, (series, name) in enumerate((("retransmission timeout", "RTO"), ("round-trip time", "round-trip time"))):
        times, values = run.series(series)
        since = times - run.handover_s
        inside = (since >= span[0]) & (since <= span[1])
        curves.append(Curve(name, since[inside], values[inside], look))
    for name, places in (("RTO", rto), ("round-trip time", round_trip)):
        if places:
            curves.append(printed(name, places, len(curves)))
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
