"""Printed figures of a run and of a sweep, drawn by matplotlib from the data of the pages.

Needs matplotlib: `pip install 'baton-handover[plot]'`. Everything else is imported when a figure is drawn.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from os import PathLike
from typing import TYPE_CHECKING

from baton._baton import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from baton.report.figures import Panel
    from baton.report.handovers import Mark
    from baton.sweep import Found

__all__ = [
    "plot_bars",
    "plot_curves",
    "plot_distribution",
    "plot_goodput",
    "plot_handover",
    "plot_map",
    "plot_queue",
    "plot_round_trip",
    "plot_time_sequence",
    "plot_window",
    "style",
]

Run = Result | str | PathLike[str]


def plot_time_sequence(run: Run, flow: str | None = None) -> Figure:
    """Draws segments, acknowledgments and losses of a TCP flow as byte offsets over time.

    `run` is a result or its folder; `flow` may be left out if there is only one. These hold for all `plot_` functions,
    which raise `InputError` for a missing flow, handover or recording, and `ImportError` without matplotlib.
    """
    return _figure(run, flow, "time_sequence")


def plot_window(run: Run, flow: str | None = None) -> Figure:
    """Draws congestion window, slow-start threshold and bytes in flight of a TCP flow."""
    return _figure(run, flow, "window")


def plot_round_trip(run: Run, flow: str | None = None) -> Figure:
    """Draws round-trip times of a flow: samples, smoothed, and the retransmission timeout."""
    return _figure(run, flow, "round_trip")


def plot_queue(run: Run, flow: str | None = None) -> Figure:
    """Draws the packets that wait in the link directions that a flow uses; without a flow, in all."""
    return _figure(run, flow, "queues")


def plot_goodput(run: Run, flow: str | None = None) -> Figure:
    """Draws new data per second of a flow: read by the application, and by the link that delivered it."""
    return _figure(run, flow, "goodput")


def plot_handover(run: Run, number: int = 1, flow: str | None = None) -> Figure:
    """Draws a close-up of a handover (the first is 1): time-sequence, congestion window and round-trip time of a TCP
    flow."""
    from baton.plot.source import Source

    source = Source.of(run)
    mark = source.mark(number)
    panels = [source.panel(kind, flow) for kind in ("time_sequence", "window", "round_trip")]
    return _draw(panels, source.marks, mark)


def plot_map(run: Run, link: str | None = None) -> Figure:
    """Draws the plan view of a radio network: its cells, the tracks of mobiles by serving cell, and where handovers
    began.

    `link` may be left out if there is only one such network.
    """
    from baton.plot.source import Source

    drawn = Source.of(run).map(link)
    require_matplotlib()
    from baton.plot.draw_map import figure

    return figure(drawn)


def plot_curves(sweep: Found | str | PathLike[str], quantity: str, over: str | None = None) -> Figure:
    """Draws means of a quantity over an axis of a sweep with their 95 % intervals, a curve for each value of the other
    axes.

    `sweep` is what `baton.sweep.run` returns, or the folder of a sweep; `quantity` is a column of its table of runs,
    such as `handovers.0.flows.download.stall_s`; `over` is the key of an axis, by default the first one with numbers.
    """
    require_matplotlib()
    from baton.plot import draw_sweep, sweeps

    values = sweeps.read(sweep, quantity)
    return draw_sweep.curves(values, values.axis(over))


def plot_distribution(sweep: Found | str | PathLike[str], quantity: str) -> Figure:
    """Draws the share of a sweep's runs in which a quantity is at most a given value (CDF), a curve for each point."""
    require_matplotlib()
    from baton.plot import draw_sweep, sweeps

    return draw_sweep.distribution(sweeps.read(sweep, quantity))


def plot_bars(sweep: Found | str | PathLike[str], quantity: str) -> Figure:
    """Draws the mean of a quantity at each point of a sweep as a bar with its 95 % interval, grouped by the last
    axis."""
    require_matplotlib()
    from baton.plot import draw_sweep, sweeps

    return draw_sweep.bars(sweeps.read(sweep, quantity))


def style(*, width_mm: float = 88, font_size: float = 8) -> AbstractContextManager[object]:
    """Puts figures into publication form from now on, or only those within `with baton.style(): ...`.

    `width_mm` is that of a journal's column (88 mm for one and 180 mm for two are common), `font_size` is in points. In
    PDF and SVG, text stays text, and every curve can be told apart in greyscale.
    """
    require_matplotlib()
    from baton.plot.publication import apply

    return apply(width_mm, font_size)


def _figure(run: Run, flow: str | None, kind: str) -> Figure:
    from baton.plot.source import Source

    source = Source.of(run)
    return _draw([source.panel(kind, flow)], source.marks)


def _draw(panels: list[Panel], marks: list[Mark], closeup: Mark | None = None) -> Figure:
    require_matplotlib()
    from baton.plot.draw import figure

    return figure(panels, marks, closeup)


def require_matplotlib() -> None:
    """Raises `ImportError`, which says what to install, if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("figures need matplotlib; install it with: pip install 'baton-handover[plot]'") from error
