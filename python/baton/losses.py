"""Lost packets by cause, in few words for tables: `35 link, 2 queue`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

# The causes of a summary's `lost_by`, in the order in which they are told.
CAUSES = {"link_down": "link", "queue": "queue", "channel": "channel", "buffer": "buffer", "host": "host"}


def of_flow(flow: dict[str, Any]) -> str | None:
    """Describes a flow's losses, both ways together; returns `None` for a summary without them."""
    packets = flow.get("packets")
    return in_words([way["lost_by"] for way in packets.values()]) if packets else None


def of_handover_flow(flow: dict[str, Any]) -> str | None:
    """Describes a flow's losses at a handover, both ways together; returns `None` for a summary without them."""
    lost_by = flow.get("lost_by")
    return in_words(lost_by.values()) if lost_by else None


def at_handover(flow: dict[str, Any]) -> int:
    """Counts a flow's losses at a handover, both ways together; without causes, those with the old link."""
    lost_by = flow.get("lost_by")
    return sum(sum(way.values()) for way in lost_by.values()) if lost_by else flow.get("lost_packets") or 0


def of_handover(handover: dict[str, Any]) -> str | None:
    """Describes the losses of all flows at a handover; returns `None` if no flow was there, or for a summary without
    them."""
    flows = [flow.get("lost_by") for flow in handover.get("flows") or []]
    return in_words(way for flow in flows for way in flow.values()) if flows and all(flows) else None


def in_words(lost: Iterable[dict[str, int]]) -> str:
    """Writes the sums by cause in words, without those that are zero."""
    counts = list(lost)
    sums = {words: sum(each[cause] for each in counts) for cause, words in CAUSES.items()}
    return ", ".join(f"{count:,} {words}" for words, count in sums.items() if count) or "0"
