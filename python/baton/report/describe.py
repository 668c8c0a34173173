"""Description of each flow's panels, made for the page, or one by one for printed figures."""

from typing import NamedTuple

from baton.cells import CellNames

from . import packet_panels, series_panels
from .figures import Description, FlowFigure, Panel, Trace, link_roles
from .handovers import Mark, links_moved_between, marks
from .journeys import FlowPackets, PacketIndex
from .ladders import ladders
from .maps import maps
from .tables import Run

Queues = dict[tuple[str, str], Trace]
NO_PACKETS = "Packets were not recorded (packets = false in the scenario's [record]), so this diagram is missing."


class FlowPanels(NamedTuple):
    """The panels of a flow, each made when it is asked for."""

    run: Run
    name: str
    transport: str
    packets: FlowPackets | None
    roles: dict[str, str]
    queued: Queues

    def time_sequence(self) -> Panel:
        """Returns the time-sequence panel; only for a TCP flow."""
        if self.packets is None:
            return Panel("Time\u2013sequence", "byte offset", "B", [], NO_PACKETS)
        return packet_panels.time_sequence(self.packets)

    def window(self) -> Panel:
        """Returns the panel of the window; only for a TCP flow."""
        return series_panels.window(self.run, self.name)

    def round_trip(self) -> Panel:
        """Returns the panel of the round-trip time; only for a flow that measures it."""
        return series_panels.round_trip(self.run, self.name)

    def queues(self) -> Panel:
        """Returns the queues of the link directions that the flow uses; of all, if packets do not tell."""
        used = packet_panels.links_used(self.packets) if self.packets is not None else list(self.queued)
        return series_panels.queues(self.run, [self.queued[way] for way in used if way in self.queued])

    def goodput(self) -> Panel:
        """Returns the panel of goodput; by link only if all packets are known."""
        by_link = None
        if self.packets is not None and self._whole:
            by_link = packet_panels.new_data_by_link(self.packets, links_moved_between(self.run.summary, self.name))
        ways = packet_panels.data_ways(self.packets) if self.packets is not None else {}
        return series_panels.goodput(self.run, self.name, self.transport, by_link, self.roles, ways)

    def datagrams(self) -> list[Panel]:
        """Returns delays and numbers of a flow without TCP."""
        if self.packets is None:
            return [Panel("One-way delay", "delay", "s", [], NO_PACKETS)]
        return [packet_panels.delay(self.packets), *([packet_panels.numbers(self.packets)] if self._whole else [])]

    def all(self) -> list[Panel]:
        """Returns the panels of the page."""
        if self.transport == "tcp":
            first = [self.time_sequence(), self.window(), self.round_trip()]
            if self.packets is not None:
                first.append(packet_panels.delay(self.packets, tall=False))
        else:
            first = self.datagrams()
            if self.run.find(f"flow {self.name}", "round-trip time") is not None:
                first.append(self.round_trip())
        last = [packet_panels.distribution(self.packets)] if self.packets is not None else []
        return [*first, self.queues(), self.goodput(), *last]

    @property
    def _whole(self) -> bool:
        return self.packets is not None and self.packets.packets.every == 1


def describe(run: Run) -> Description:
    """Returns panels of every flow of a run, in the order of the summary, then of flows that only the packets know."""
    index = PacketIndex.of(run.packets) if run.packets is not None else None
    transports = {flow["name"]: flow.get("transport") or "tcp" for flow in run.summary.get("flows") or []}
    for name, rows in (index.rows if index is not None and not run.left_out else {}).items():
        if len(rows) and run.packets is not None:
            protocol = run.packets.names["protocol"]
            transports.setdefault(name, protocol.values[protocol.codes[rows[0]]])
    roles = link_roles(run)
    queues = series_panels.queue_traces(run, roles)
    handovers = marks(run.summary, run.duration_s)
    flows = []
    for name, transport in transports.items():
        packets = FlowPackets.of(index, name) if index is not None else None
        panels = FlowPanels(run, name, transport, packets, roles, queues)
        flows.append(FlowFigure(name, transport, panels.all(), own_marks(handovers, name)))
    _name_cells(flows, CellNames.of(run.summary))
    return Description(run.duration_s, handovers, flows, ladders(run.signals, run.summary), maps(run.summary))


def own_marks(handovers: list[Mark], flow: str) -> list[int]:
    """Returns places of the handovers of a flow's mobile, and of those with unknown flows."""
    return [place for place, mark in enumerate(handovers) if not mark.flows or flow in mark.flows]


def _name_cells(flows: list[FlowFigure], names: CellNames) -> None:
    """Names links by their cells. Flows share traces; a second renaming does no harm, since a cell's name stays as it
    is."""
    for panel in (panel for flow in flows for panel in flow.panels):
        for trace in panel.traces:
            trace.name = names.shown(trace.name)
            trace.labels = [names.shown(label) for label in trace.labels]
