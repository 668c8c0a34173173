"""Baton: a laboratory and a toolkit for transport protocols across handovers."""

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

__all__ = [
    "BatonError",
    "FolderError",
    "PacketError",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Table",
    "json_schema",
]
