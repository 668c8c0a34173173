"""What is drawn: panels of the report's description, each made when it is asked for."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from pathlib import Path

from baton import Result
from baton.errors import InputError, nearest
from baton.report import packet_panels, series_panels
from baton.report.describe import NO_PACKETS
from baton.report.figures import Panel, link_roles
from baton.report.handovers import Mark, marks
from baton.report.journeys import FlowPackets, PacketIndex
from baton.report.tables import Run, read_run, run_of


class Source:
    """A run and its panels."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.marks = marks(run.summary, run.duration_s)
        self.roles = link_roles(run)
        self.flows: list[str] = [flow["name"] for flow in run.summary.get("flows") or []]

    @classmethod
    def of(cls, run: Result | str | PathLike[str]) -> Source:
        """The source for a result, or for the folder of one. Raises `InputError`."""
        if isinstance(run, Result):
            return cls(run_of(run))
        folder = Path(run)
        try:
            return cls(read_run(folder))
        except FileNotFoundError as error:
            raise InputError(f"{folder}: is no results folder: it holds no manifest.json") from error
        except (OSError, ValueError) as error:
            raise InputError(str(error)) from error

    def mark(self, number: int) -> Mark:
        """The handover with this number, from 1."""
        if 1 <= number <= len(self.marks):
            return self.marks[number - 1]
        raise InputError(f"there is no handover {number}; the run has {len(self.marks)}")

    def panel(self, kind: str, flow: str | None) -> Panel:
        """The panel of a flow."""
        if kind == "queue":
            return self._queues(flow)
        name = self._flow(flow)
        if kind == "time sequence":
            return packet_panels.time_sequence(self._required_packets(name))
        if kind == "goodput":
            packets = self._packets(name)
            by_link = packet_panels.new_data_by_link(packets) if packets is not None else None
            return series_panels.goodput(self.run, name, by_link, self.roles)
        draw = series_panels.window if kind == "window" else series_panels.round_trip
        return draw(self.run, name)

    def _queues(self, flow: str | None) -> Panel:
        queues = series_panels.queue_traces(self.run, self.roles)
        packets = self._packets(self._flow(flow)) if flow is not None else None
        used = packet_panels.links_used(packets) if packets is not None else list(queues)
        return series_panels.queues(self.run, [queues[way] for way in used if way in queues])

    def _flow(self, flow: str | None) -> str:
        if flow is None:
            if len(self.flows) == 1:
                return self.flows[0]
            raise InputError(f"which flow? {nearest('', self.flows)}")
        if flow not in self.flows:
            raise InputError(f"there is no flow `{flow}`; {nearest(flow, self.flows)}")
        return flow

    @cached_property
    def _index(self) -> PacketIndex | None:
        return PacketIndex.of(self.run.packets) if self.run.packets is not None else None

    def _packets(self, flow: str) -> FlowPackets | None:
        return FlowPackets.of(self._index, flow) if self._index is not None else None

    def _required_packets(self, flow: str) -> FlowPackets:
        transports = {entry["name"]: entry.get("transport") for entry in self.run.summary["flows"]}
        if transports[flow] != "tcp":
            raise InputError(f"flow `{flow}` is no TCP flow: it has no sequence numbers")
        packets = self._packets(flow)
        if packets is None:
            raise InputError(NO_PACKETS)
        return packets
