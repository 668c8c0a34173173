"""Source of drawings: panels of the report's description, each made when it is asked for."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from pathlib import Path

from baton import Result
from baton.errors import InputError, nearest
from baton.report import series_panels
from baton.report.describe import NO_PACKETS, FlowPanels, Queues
from baton.report.figures import Panel, link_roles
from baton.report.handovers import Mark, marks
from baton.report.journeys import FlowPackets, PacketIndex
from baton.report.maps import Map, maps
from baton.report.tables import Run, read_run, run_of


class Source:
    """A run and its panels."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.marks = marks(run.summary, run.duration_s)
        self.roles = link_roles(run)
        listed = run.summary.get("flows") or []
        self._transports: dict[str, str] = {flow["name"]: flow.get("transport") or "tcp" for flow in listed}
        self.flows = list(self._transports)

    @classmethod
    def of(cls, run: Result | str | PathLike[str]) -> Source:
        """Returns the source for a result, or for its folder. Raises `InputError`."""
        if isinstance(run, Result):
            return cls(run_of(run))
        folder = Path(run)
        try:
            return cls(read_run(folder))
        except FileNotFoundError as error:
            raise InputError(f"{folder}: is not a results folder: it holds no manifest.json") from error
        except (OSError, ValueError) as error:
            raise InputError(str(error)) from error

    def mark(self, number: int) -> Mark:
        """Returns the handover with this number, from 1."""
        if 1 <= number <= len(self.marks):
            return self.marks[number - 1]
        raise InputError(
            f"there is no handover {number}; the run has {len(self.marks)}, counted from 1 (`handovers.0` is number 1)"
        )

    def map(self, link: str | None) -> Map:
        """Returns the map of a radio network."""
        found = {each.title: each for each in maps(self.run.summary)}
        if link is None and len(found) == 1:
            return next(iter(found.values()))
        if link not in found:
            asked = "which radio network?" if link is None else f"there is no radio network `{link}`;"
            raise InputError(f"{asked} {nearest(link or '', found)}" if found else "the run has no radio network")
        return found[link]

    def panel(self, kind: str, flow: str | None) -> Panel:
        """Returns a panel of a flow; `kind` is a name in `FlowPanels`. Queues of no flow are those of the whole run."""
        if kind == "queues" and flow is None:
            return series_panels.queues(self.run, list(self._queued.values()))
        name = self._flow(flow)
        if kind == "time_sequence":
            self._require_packets(name)
        panels = FlowPanels(self.run, name, self._transports[name], self._packets(name), self.roles, self._queued)
        panel: Panel = getattr(panels, kind)()
        return panel

    def _flow(self, flow: str | None) -> str:
        if flow is None:
            if len(self.flows) == 1:
                return self.flows[0]
            raise InputError(f"which flow? {nearest('', self.flows)}")
        if flow not in self.flows:
            raise InputError(f"there is no flow `{flow}`; {nearest(flow, self.flows)}")
        return flow

    @cached_property
    def _queued(self) -> Queues:
        return series_panels.queue_traces(self.run, self.roles)

    @cached_property
    def _index(self) -> PacketIndex | None:
        return PacketIndex.of(self.run.packets) if self.run.packets is not None else None

    def _packets(self, flow: str) -> FlowPackets | None:
        return FlowPackets.of(self._index, flow) if self._index is not None else None

    def _require_packets(self, flow: str) -> None:
        if self._transports[flow] != "tcp":
            raise InputError(f"flow `{flow}` is not a TCP flow: it has no sequence numbers")
        if self.run.packets is None:
            raise InputError(NO_PACKETS)
