"""Which panels a flow gets."""

from __future__ import annotations

from . import packet_panels, series_panels
from .figures import Description, FlowFigure, Panel, Trace, link_roles
from .handovers import marks
from .journeys import FlowPackets, PacketIndex
from .tables import Run

Queues = dict[tuple[str, str], Trace]
NO_PACKETS = "Packets were not recorded (packets = false in the scenario's [record]), so this diagram is missing."


def describe(run: Run) -> Description:
    """Panels of every flow of a run, in the order of the summary; then flows that only the packets know."""
    index = PacketIndex.of(run.packets) if run.packets is not None else None
    transports = {flow["name"]: flow.get("transport") or "tcp" for flow in run.summary.get("flows") or []}
    for name, rows in (index.rows if index is not None and not run.left_out else {}).items():
        if len(rows) and run.packets is not None:
            protocol = run.packets.names["protocol"]
            transports.setdefault(name, protocol.values[protocol.codes[rows[0]]])
    roles = link_roles(run)
    queues = series_panels.queue_traces(run, roles)
    flows = []
    for name, transport in transports.items():
        packets = FlowPackets.of(index, name) if index is not None else None
        flow = FlowFigure(name, transport, [])
        flow.panels = _panels(run, packets, flow, roles, queues)
        flows.append(flow)
    return Description(run.duration_s, marks(run.summary, run.duration_s), flows)


def _panels(
    run: Run, packets: FlowPackets | None, flow: FlowFigure, roles: dict[str, str], queues: Queues
) -> list[Panel]:
    name = flow.name
    used = packet_panels.links_used(packets) if packets is not None else list(queues)
    waiting = [queues[way] for way in used if way in queues]
    whole = packets is not None and packets.packets.every == 1
    by_link = packet_panels.new_data_by_link(packets) if packets is not None and whole else None
    shared = [series_panels.queues(run, waiting), series_panels.goodput(run, name, by_link, roles)]
    if flow.transport == "tcp":
        title, draw = "Time\u2013sequence", packet_panels.time_sequence
        first = [draw(packets) if packets is not None else Panel(title, "byte offset", "B", [], NO_PACKETS)]
        return [*first, series_panels.window(run, name), series_panels.round_trip(run, name), *shared]
    if packets is not None:
        first = [packet_panels.delay(packets), *([packet_panels.numbers(packets)] if whole else [])]
    else:
        first = [Panel("One-way delay", "delay", "s", [], NO_PACKETS)]
    if run.find(f"flow {name}", "round-trip time") is not None:
        first.append(series_panels.round_trip(run, name))
    return [*first, *shared]
