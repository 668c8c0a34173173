"""Panels drawn from recorded series: window, round-trip time, queues, goodput."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .capacity import Capacities
from .figures import Panel, Trace, nice_interval, scaled, thinned
from .shares import Series
from .style import LINK_LOOKS, link_role
from .tables import Run

NO_SERIES = "Series were not recorded (series = false in the scenario's [record]), so this diagram is missing."
RATIO_FOR_LOGARITHM = 200
# A link's capacity is drawn up to so many times the largest goodput by link.
CAPACITY_IN_VIEW = 4
# Values of a series from which it is told how often it is written.
LEAST_VALUES = 10
# Lines of a panel that can be told apart: as many as there are colours.
MOST_LINES = LINK_LOOKS
RATIO_OF_LINKS_FOR_LOGARITHM = 50

ByLink = dict[str, tuple[np.ndarray, np.ndarray]]
"""Times in ns and bytes of the data that a link delivered."""


def window(run: Run, flow: str) -> Panel:
    """Draws congestion window, slow-start threshold and bytes in flight."""
    names = ["bytes in flight", "congestion window", "slow-start threshold"]
    panel = Panel("Congestion window", "window", "B", states(run, flow, {name: name for name in names}))
    windows = [t.value for t in panel.traces if t.role != "slow-start threshold"]
    largest = max((float(values.max()) for values in windows), default=0.0)
    for trace in panel.traces:
        if trace.role == "slow-start threshold" and largest:  # before it is set it is infinite, or as good as that
            trace.value = np.where(trace.value > 20 * largest, np.nan, trace.value)
    panel.traces = [trace for trace in panel.traces if not np.all(np.isnan(trace.value))]
    return finished(panel, recorded=run.series is not None)


def round_trip(run: Run, flow: str) -> Panel:
    """Draws samples of the round-trip time, the smoothed one and the retransmission timeout."""
    names = {"RTT sample": "round-trip time", "smoothed RTT": "smoothed round-trip time"}
    traces = states(run, flow, names | {"RTO": "retransmission timeout"})
    panel = finished(Panel("Round-trip time and timeout", "time", "s", traces), recorded=run.series is not None)
    positive = [trace.value[trace.value > 0] for trace in traces]
    least = min((float(v.min()) for v in positive if len(v)), default=0.0)
    largest = max((float(v.max()) for v in positive if len(v)), default=0.0)
    panel.logarithmic = largest > RATIO_FOR_LOGARITHM * least > 0
    return panel


def queue_traces(run: Run, roles: dict[str, str]) -> dict[tuple[str, str], Trace]:
    """Returns the queue of each link direction in which a packet had to wait. Flows share them."""
    traces = {}
    for link, role in roles.items():
        for direction in ("down", "up"):
            series = run.find(f"link {link} {direction}", "queue packets")
            if series is not None and np.any(series.value > 0):
                kept, dashed = thinned(held(series, run), run.series_limit), direction == "up"
                trace = Trace(f"{link}, {direction}", role, "steps", kept.time_ns, kept.value, dashed=dashed)
                traces[link, direction] = trace
    return traces


def queues(run: Run, traces: list[Trace]) -> Panel:
    """Draws the packets that wait in the link directions that a flow uses; of many, the longest queues."""
    note = "" if traces else _no_queues(run)
    shown = sorted(traces, key=lambda trace: float(trace.value.max()), reverse=True)[:MOST_LINES]
    if len(shown) < len(traces):
        left = len(traces) - len(shown)
        most = max(float(trace.value.max()) for trace in traces if trace not in shown)
        note = f"The {len(shown)} longest queues; in {left} others at most {most:,.0f} packets waited."
    return Panel("Queues", "waiting packets", "packets", coloured([each for each in traces if each in shown]), note)


def _no_queues(run: Run) -> str:
    """Returns the reason for which no queue is drawn."""
    if run.series is None:
        return NO_SERIES
    recorded = any(quantity == "queue packets" for _, quantity in run.series)
    return "No packet had to wait." if recorded else "Queues were not recorded (series in the scenario's [record])."


def coloured(traces: list[Trace]) -> list[Trace]:
    """Returns the traces, with colours of their own if two of so many links have the same."""
    links = list(dict.fromkeys(map(_link_of_trace, traces)))
    if len({trace.role for trace in traces}) == len(links):
        return traces
    return [replace(trace, role=link_role(links.index(_link_of_trace(trace)))) for trace in traces]


def _link_of_trace(trace: Trace) -> str:
    """Returns the link of a trace with a name such as `gsm, down` or `over gsm`."""
    return trace.name.rpartition(", ")[0] or trace.name


def goodput(
    run: Run, flow: str, transport: str, by_link: ByLink | None, roles: dict[str, str], ways: dict[str, str]
) -> Panel:
    """Draws new data per second: read by the application, and by the link over which it reached the receiver.

    `ways` are the directions in which links carried the data, whose capacity is drawn with it.
    """
    delivered = run.find(f"flow {flow}", "delivered bytes")
    interval = bin_length(run, delivered)
    note = f"New data per {interval:g} s, by the link that delivered it; where a mobile moved on the way, by its link."
    panel = Panel("Goodput", "rate", "bit/s", [], note)
    if delivered is not None:
        name = "read by the application" if transport == "tcp" else "delivered"
        panel.traces.append(Trace(name, "total", "steps", *rate_of(run, delivered, interval)))
    panel.traces += _by_link(run, by_link or {}, roles, interval)
    peaks = [float(trace.value.max()) for trace in panel.traces if trace.role != "total"]
    panel.logarithmic = len(peaks) > 1 and max(peaks) > RATIO_OF_LINKS_FOR_LOGARITHM * min(peaks) > 0
    panel.traces += _capacities(run, ways, {*(by_link or {})}, roles, interval, max(peaks, default=0.0))
    if by_link is None:
        panel.note = f"Data delivered per {interval:g} s. By link, the diagram would need all packets."
    return finished(panel, recorded=run.series is not None)


def _by_link(run: Run, by_link: ByLink, roles: dict[str, str], interval: float) -> list[Trace]:
    """Returns a line for each link that delivered; of many, for those that delivered most, and one for the others
    together."""
    most = sorted(by_link.items(), key=lambda entry: int(entry[1][1].sum()), reverse=True)
    shown = len(most) if len(most) <= MOST_LINES else MOST_LINES - 1
    names = {name for name, _ in most[:shown]}
    lines = [
        Trace(f"over {link}", roles[link], "steps", *rate_in_bins(run, *data, interval))
        for link, data in by_link.items()
        if link in names
    ]
    lines = coloured(lines)
    if shown < len(most):
        rest = [np.concatenate(parts) for parts in zip(*(data for _, data in most[shown:]), strict=True)]
        name, role = f"over {len(most) - shown} others", link_role(MOST_LINES - 1)
        lines.append(Trace(name, role, "steps", *rate_in_bins(run, rest[0], rest[1], interval), dashed=True))
    return lines


def _capacities(
    run: Run, ways: dict[str, str], delivering: set[str], roles: dict[str, str], interval: float, peak: float
) -> list[Trace]:
    """Returns the capacity of recorded links, and of others that delivered, unless it dwarfs what they delivered."""
    known, edges, found = Capacities(run), _edges(run, interval), []
    for link, direction in ways.items():
        rate = known.recorded(link, direction, edges)
        steady = known.constant(link, direction) if rate is None and link in delivering else None
        if steady is not None and steady <= CAPACITY_IN_VIEW * peak:
            rate = np.full(len(edges) - 1, steady)
        if rate is not None:
            time, name = np.round(edges * 1e9).astype(np.int64), f"capacity of {link}"
            found.append(Trace(name, roles[link], "steps", time, np.append(rate, rate[-1]), dashed=True))
    return found if len(found) <= MOST_LINES else []


def bin_length(run: Run, series: Series | None) -> float:
    """Returns the length of bins in seconds, at least the time from one value of a series to the next."""
    interval = nice_interval(run.duration_s)
    step = _step(series) / 1e9 if series is not None else 0.0
    return max(interval, nice_interval(0.95 * step, bins=1)) if step else interval


def rate_of(run: Run, delivered: Series, interval: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns bits per second in bins of `interval` seconds, of a series of bytes that grows.

    A value is written at a delivery, at most once in each step, and its data come evenly over the step. After a pause,
    that is the step before the value; for the value at the end of the run, it is the step after the previous one.
    """
    step, time, value = _step(delivered), delivered.time_ns.astype(np.float64), delivered.value
    before, had = np.append(0.0, time[:-1]), np.append(0.0, value[:-1])
    pause = time - before > 2 * step
    knots, known = np.stack((np.where(pause, time - step, before), time), axis=1), np.stack((had, value), axis=1)
    if pause[-1] and time[-1] >= (run.duration_s - 1e-3) * 1e9:
        knots[-1], known[-1, 0] = (min(before[-1] + step, time[-1]), time[-1]), value[-1]
    edges = _edges(run, interval)
    # A value at the moment at which a bin begins belongs to it; the last bin takes the value at the end, too.
    until = edges * 1e9 + np.append(np.full(len(edges) - 1, -0.5), 1.0)
    reached = np.interp(until, np.append(0.0, knots.ravel()), np.append(0.0, known.ravel()))
    rate = np.diff(reached) * 8 / np.diff(edges)
    return np.round(edges * 1e9).astype(np.int64), np.append(rate, rate[-1])


def _step(series: Series) -> float:
    """Returns the least time from one value of a series to the next, in ns, except the last; 0 for few values."""
    return float(np.diff(series.time_ns)[:-1].min()) if len(series.time_ns) >= LEAST_VALUES else 0.0


def states(run: Run, flow: str, names: dict[str, str]) -> list[Trace]:
    """Returns traces of a flow's series, by the name that is shown; those that were not recorded are left out."""
    traces = []
    for name, quantity in names.items():
        series = run.find(f"flow {flow}", quantity)
        if series is not None:
            samples = quantity == "round-trip time"
            kept = thinned(series if samples else held(series, run), run.series_limit)
            traces.append(Trace(name, quantity, "dots" if samples else "steps", kept.time_ns, kept.value))
    return traces


def held(series: Series, run: Run) -> Series:
    """Extends a state, which is recorded when it changes, to the end of the run."""
    end = max(int(run.duration_s * 1e9), int(series.time_ns[-1]))
    return Series(np.append(series.time_ns, end), np.append(series.value, series.value[-1]))


def finished(panel: Panel, *, recorded: bool) -> Panel:
    """Puts the values into a readable unit, and a note where there are none; `recorded` tells whether series were."""
    factor, panel.unit = scaled([trace.value for trace in panel.traces], panel.unit)
    for trace in panel.traces:
        trace.value = trace.value * factor
    if not panel.traces:
        panel.note = "Nothing was recorded for this flow." if recorded else NO_SERIES
    return panel


def rate_in_bins(run: Run, time_ns: np.ndarray, size: np.ndarray, interval: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns bits per second in bins of `interval` seconds, of data at some times."""
    edges = _edges(run, interval)
    place = np.minimum((time_ns / (interval * 1e9)).astype(np.int64), len(edges) - 2)
    total = np.bincount(place, weights=size.astype(np.float64), minlength=len(edges) - 1) * 8
    rate = total / np.diff(edges)
    return np.round(edges * 1e9).astype(np.int64), np.append(rate, rate[-1])


def _edges(run: Run, interval: float) -> np.ndarray:
    """Returns the ends of bins; the last one reaches to the end of the run, and has at least half the others'
    length."""
    count = max(int(run.duration_s / interval + 0.5), 1)
    return np.append(np.arange(count) * interval, max(run.duration_s, 1e-9))
