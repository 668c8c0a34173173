"""Shapers and policers as the cross sets them: each connection gets an equal part of an access link."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from baton import Scenario

from .paths import AccessPath, Table

REGULATORS = ("shapers", "policers")
"""Keys of links that regulate flows."""


def regulators(path: AccessPath, link: str, entries: Sequence[Table], flows: Sequence[Table]) -> list[Table]:
    """Returns the study's `entries` for a link, with its connections, their equal part of what it carries to the
    mobile, and the direction of their data. The queue is as large as the link's own, if the path's file gives its size.

    For a link of unknown rate the part is zero, which the engine refuses.
    """
    connections = [flow for flow in flows if flow.get("transport") != "udp"]
    about = path.all_links[link]
    filled = {
        "flows": [flow["name"] for flow in connections],
        "rate": f"{(_rates(path.file)[link] or 0) // len(connections)} bit/s",
        "direction": "down" if (about["between"][1] == path.mobile) == (connections[0]["to"] == path.mobile) else "up",
    }
    room = {"queue": about["queue"]} if "queue" in about else {}
    return [entry | filled | (room if "queue" in entry else {}) for entry in entries]


@cache
def _rates(file: Path) -> dict[str, int | None]:
    """Returns the rate of full packets on each access link, in bit/s. Framing and medium access take their part, so
    that only a run of the path tells it.
    """
    found: dict[str, int | None] = {}
    for handover in Scenario.load(file).run(seed=1).summary["handovers"]:
        found |= {handover["from"]: handover["old_rate_bps"], handover["to"]: handover["new_rate_bps"]}
    return found
