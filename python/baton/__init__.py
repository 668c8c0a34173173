"""Baton: a laboratory and a toolkit for transport protocols across handovers."""

from baton import aerotp, crosslayer, sweep, tcp
from baton._baton import (
    BatonError,
    FolderError,
    PacketError,
    Result,
    RunError,
    Scenario,
    ScenarioError,
    Table,
    json_schema,
)
from baton.errors import InputError
from baton.plot import (
    plot_bars,
    plot_curves,
    plot_distribution,
    plot_goodput,
    plot_handover,
    plot_map,
    plot_queue,
    plot_round_trip,
    plot_time_sequence,
    plot_window,
    style,
)
from baton.results import write_report

__all__ = [
    "BatonError",
    "FolderError",
    "InputError",
    "PacketError",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Table",
    "aerotp",
    "crosslayer",
    "json_schema",
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
    "sweep",
    "tcp",
    "write_report",
]
