"""Two runs in the same panels: the report's diagrams of one run, drawn of both."""

from __future__ import annotations

from collections.abc import Iterator

from baton.report.describe import own_marks
from baton.report.figures import Description, FlowFigure, Panel, Trace, link_roles
from baton.report.handovers import Mark, marks
from baton.report.journeys import FlowPackets, PacketIndex
from baton.report.packet_panels import links_used
from baton.report.segments import tcp_events
from baton.report.series_panels import bin_length, finished, queue_traces, rate_of, states
from baton.report.tables import Run

from .measure import Comparison, FlowPair
from .runs import names_of

# Panels of queues, the longest; one in which never more than a packet waits shows nothing.
MOST_QUEUES, LEAST_QUEUE = 4, 2
NOT_RECORDED = "Neither run recorded the data of this diagram."


class Side:
    """One of the two runs, and its looks: the second is dashed."""

    def __init__(self, run: Run, name: str, role: str) -> None:
        self.run, self.name, self.role = run, name, role
        self.dashed = role == "second run"
        self.index = PacketIndex.of(run.packets) if run.packets is not None else None
        self.queues = queue_traces(run, link_roles(run))

    def drawn(self, trace: Trace, name: str) -> Trace:
        """Returns a trace of this run for the panels of both."""
        trace.name, trace.role, trace.dashed = f"{self.name}: {name}", self.role, self.dashed
        return trace

    def packets(self, flow: str) -> FlowPackets | None:
        """Returns the packets of a flow of this run."""
        return FlowPackets.of(self.index, flow) if self.index is not None else None


# A side of the comparison, and the flow of this run.
Flow = tuple[Side, str]


def describe(comparison: Comparison) -> Description:
    """Returns panels for each pair of flows."""
    names = names_of(comparison.a, comparison.b)
    one, other = Side(comparison.a, names[0], "first run"), Side(comparison.b, names[1], "second run")
    duration = max(comparison.a.duration_s, comparison.b.duration_s)
    found = _marks(comparison, duration, names[1])
    flows = []
    for pair in comparison.pairs:
        both = [(one, pair.a), (other, pair.b)]
        flows.append(FlowFigure(pair.name, pair.transport, [*_panels(pair, both)], own_marks(found, pair.a)))
    return Description(duration, found, flows, [], [])


def _panels(pair: FlowPair, both: list[Flow]) -> Iterator[Panel]:
    if pair.transport == "tcp":
        yield _time_sequence(both)
        yield _state(both, "Congestion window", "window", "B", ("congestion window",))
    yield _state(both, "Round-trip time", "time", "s", ("smoothed round-trip time", "round-trip time"))
    yield _goodput(both)
    yield from _queues(both)


def _time_sequence(both: list[Flow]) -> Panel:
    panel = Panel("Time\u2013sequence", "byte offset", "B", [], tall=True)
    for side, name in both:
        packets = side.packets(name)
        if packets is None:
            continue
        events = tcp_events(packets)
        end = events.offset + events.length
        for again, what, role in ((False, "segment", side.role), (True, "retransmission", f"{side.role} again")):
            rows = events.retransmission == again
            bars = events.sent_ns[rows], events.offset[rows], end[rows]
            panel.traces.append(Trace(f"{side.name}: {what}", role, "bars", *bars))
        lost = Trace(f"{side.name}: lost segment", f"{side.role} lost", "marks", events.drop_ns, events.drop_offset)
        panel.traces.append(lost)
    panel.traces = [trace for trace in panel.traces if len(trace.time_ns)]
    panel.note = "Segments as sent, losses when and where they happen." if panel.traces else NOT_RECORDED
    return panel


def _state(both: list[Flow], title: str, quantity: str, unit: str, recorded: tuple[str, ...]) -> Panel:
    """Returns the first of the `recorded` quantities that both runs have; if there is none, the first that a run
    has."""
    panel = Panel(title, quantity, unit, [])
    common = [each for each in recorded if all(states(side.run, name, {each: each}) for side, name in both)]
    for side, name in both:
        found = [trace for each in common or recorded for trace in states(side.run, name, {each: each})]
        panel.traces += [side.drawn(trace, trace.name) for trace in found[:1]]
    return _noted(panel)


def _goodput(both: list[Flow]) -> Panel:
    found = [side.run.find(f"flow {name}", "delivered bytes") for side, name in both]
    interval = max(bin_length(side.run, series) for (side, _), series in zip(both, found, strict=True))
    panel = Panel("Goodput", "rate", "bit/s", [], f"New data delivered per {interval:g} s.")
    for (side, _), delivered in zip(both, found, strict=True):
        if delivered is not None:
            rate = rate_of(side.run, delivered, interval)
            panel.traces.append(side.drawn(Trace("", "", "steps", *rate), "goodput"))
    return _noted(panel)


def _queues(both: list[Flow]) -> Iterator[Panel]:
    """Yields a panel for each direction of a link that one of the flows uses and in which a packet had to wait."""
    ways: dict[tuple[str, str], list[Trace]] = {}
    for side, name in both:
        packets = side.packets(name)
        used = links_used(packets) if packets is not None else list(side.queues)
        for link, direction in used:
            trace = side.queues.get((link, direction))
            if trace is not None and trace.value.max() >= LEAST_QUEUE:
                again = Trace("", "", "steps", trace.time_ns, trace.value)
                ways.setdefault((link, direction), []).append(side.drawn(again, "waiting"))
    most = sorted(ways.items(), key=lambda way: max(float(trace.value.max()) for trace in way[1]), reverse=True)
    for (link, direction), traces in most[:MOST_QUEUES]:
        yield Panel(f"Queue of {link}, {direction}", "waiting packets", "packets", traces)


def _noted(panel: Panel) -> Panel:
    panel = finished(panel, recorded=True)
    if not panel.traces:
        panel.note = NOT_RECORDED
    return panel


def _marks(comparison: Comparison, duration_s: float, name: str) -> list[Mark]:
    """Returns marks of both runs' handovers; one that both have within a millisecond is marked once."""
    found = marks(comparison.a.summary, duration_s)
    for mark in marks(comparison.b.summary, duration_s):
        twins = (
            place
            for place, other in enumerate(found)
            if other.label == mark.label and abs(other.at_s - mark.at_s) < 1e-3
        )
        place = next(twins, None)
        if place is None:
            found.append(mark._replace(label=f"{name}: {mark.label}"))
        else:
            twin = found[place]
            found[place] = twin._replace(from_s=min(twin.from_s, mark.from_s), to_s=max(twin.to_s, mark.to_s))
    return sorted(found, key=lambda mark: mark.at_s)
