"""The summary of a run, as `baton run --json` prints it."""

from __future__ import annotations

from typing import Any, TypedDict

# A summary as it comes from the run. Keys are those of `Summary`; a newer engine may add some.
Json = dict[str, Any]


class FlowSummary(TypedDict):
    """What became of a flow."""

    name: str
    transport: str
    delivered_bytes: int
    """Payload that the application got, in order."""
    completion_s: float | None
    """When its last byte was delivered, from the start of the flow; null if it did not end."""
    goodput_bps: float
    segments_sent: int
    retransmitted: int
    spurious_retransmitted: int
    """Retransmissions of data that had arrived or still arrived."""
    timeouts: int
    longest_stall_s: float


HandoverSummary = TypedDict(
    "HandoverSummary",
    {
        "at_s": float,
        "from": str | None,
        "to": str | None,
        "kind": str,
        "completed_s": float | None,
        "lost_packets": int,
    },
)
"""What a handover did. `from` and `to` are names of links, null for none."""


class Summary(TypedDict):
    """What became of a run."""

    scenario: str
    seed: int
    simulated_s: float
    wall_s: float
    events: int
    flows: list[FlowSummary]
    handovers: list[HandoverSummary]
