"""Panels drawn from recorded series: window, round-trip time, queues, goodput."""

from __future__ import annotations

import numpy as np

from .figures import Panel, Trace, nice_interval, scaled, thinned
from .tables import MOST_VALUES, Run, Series

NO_SERIES = (
    "Series were not recorded (series = false in the scenario's [record]), or are more than a page can show"
    f" ({MOST_VALUES:,} values; series.parquet has them), so this diagram is missing."
)
RATIO_FOR_LOGARITHM = 200
RATIO_OF_LINKS_FOR_LOGARITHM = 50


def window(run: Run, flow: str) -> Panel:
    """Congestion window, slow-start threshold and bytes in flight."""
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
    """Samples of the round-trip time, the smoothed one and the retransmission timeout."""
    names = {"RTT sample": "round-trip time", "smoothed RTT": "smoothed round-trip time"}
    traces = states(run, flow, names | {"RTO": "retransmission timeout"})
    panel = finished(Panel("Round-trip time and timeout", "time", "s", traces), recorded=run.series is not None)
    positive = [trace.value[trace.value > 0] for trace in traces]
    least = min((float(v.min()) for v in positive if len(v)), default=0.0)
    largest = max((float(v.max()) for v in positive if len(v)), default=0.0)
    panel.logarithmic = largest > RATIO_FOR_LOGARITHM * least > 0
    return panel


def queue_traces(run: Run, roles: dict[str, str]) -> dict[tuple[str, str], Trace]:
    """The queue of each link direction in which a packet had to wait. Flows share them."""
    traces = {}
    for link, role in roles.items():
        for direction in ("down", "up"):
            series = run.find(f"link {link} {direction}", "queue packets")
            if series is not None and np.any(series.value > 0):
                kept, dashed = thinned(held(series, run)), direction == "up"
                trace = Trace(f"{link}, {direction}", role, "steps", kept.time_ns, kept.value, dashed=dashed)
                traces[link, direction] = trace
    return traces


def queues(run: Run, traces: list[Trace]) -> Panel:
    """Packets that wait in the link directions that a flow uses."""
    note = NO_SERIES if run.series is None else "" if traces else "No packet had to wait."
    return Panel("Queues", "packets that wait", "packets", traces, note)


def goodput(
    run: Run, flow: str, by_link: dict[str, tuple[np.ndarray, np.ndarray]] | None, roles: dict[str, str]
) -> Panel:
    """New data per second: what the application read, and by the link over which it reached the receiver."""
    interval = nice_interval(run.duration_s)
    panel = Panel("Goodput", "rate", "bit/s", [], f"New data per {interval:g} s, by the link that delivered it.")
    delivered = run.find(f"flow {flow}", "delivered bytes")
    if delivered is not None:
        increments = np.diff(delivered.value, prepend=0.0)
        rate = rate_in_bins(run, delivered.time_ns, increments, interval)
        panel.traces.append(Trace("read by the application", "total", "steps", *rate))
    for link, (time_ns, size) in (by_link or {}).items():
        panel.traces.append(Trace(f"over {link}", roles[link], "steps", *rate_in_bins(run, time_ns, size, interval)))
    peaks = [float(trace.value.max()) for trace in panel.traces if trace.role != "total"]
    panel.logarithmic = len(peaks) > 1 and max(peaks) > RATIO_OF_LINKS_FOR_LOGARITHM * min(peaks) > 0
    if by_link is None:
        panel.note = f"Data read by the application per {interval:g} s. By link it would need recorded packets."
    return finished(panel, recorded=run.series is not None)


def states(run: Run, flow: str, names: dict[str, str]) -> list[Trace]:
    """Traces of a flow's series, by the name that is shown; those that were not recorded are left out."""
    traces = []
    for name, quantity in names.items():
        series = run.find(f"flow {flow}", quantity)
        if series is not None:
            samples = quantity == "round-trip time"
            kept = thinned(series if samples else held(series, run))
            traces.append(Trace(name, quantity, "dots" if samples else "steps", kept.time_ns, kept.value))
    return traces


def held(series: Series, run: Run) -> Series:
    """A state, which is recorded when it changes, goes on to the end of the run."""
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
    """Bits per second in bins of `interval` seconds; the last bin counts only as far as the run went."""
    count = max(int(np.ceil(run.duration_s / interval - 1e-9)), 1)
    place = np.minimum((time_ns / (interval * 1e9)).astype(np.int64), count - 1)
    total = np.bincount(place, weights=size.astype(np.float64), minlength=count) * 8
    edges = np.minimum(np.arange(count + 1) * interval, max(run.duration_s, 1e-9))
    rate = total / np.maximum(np.diff(edges), 1e-9)
    return np.round(edges * 1e9).astype(np.int64), np.append(rate, rate[-1])
