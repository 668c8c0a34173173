"""Loads of the path: one passenger, a second one without the remedy, or a hundred who all have it."""

from __future__ import annotations

from collections.abc import Iterator

from .paths import AccessPath, Table
from .study import Situation

LOADS = {
    "1": "one passenger",
    "1 of 2": "two passengers, one of them with the remedy",
    "100": "100 passengers, all with the remedy",
}
DOWNLOAD, UPLOAD = "download", "upload"
DIRECTIONS = {DOWNLOAD: "the mobile receives", UPLOAD: "the mobile sends"}
"""Directions of the data."""
TRANSFER, OTHER, PAGE, CALL = "transfer", "other", "page-", "call-"
"""Names of flows: the transfers with the remedy, the one without, and what begins so."""

DOWNLOADS, PAGES, CALLS = 20, 70, 10
"""Activities of 100 passengers. Chosen: most read, some transfer all the time, some speak."""
PAGE_BYTES = "100 kB"
VOICE = {"kind": "constant", "rate": "8 kbit/s", "packet_size": "20 B"}
"""A G.729 codec: 20 B each 20 ms (ITU-T G.729, two frames a packet)."""
FIRST_S, LAST_S = 5.0, 15.0
"""Time after the start, and before the end, in which no pages are requested."""


def flows(path: AccessPath, situation: Situation, stack: Table, remedy: str) -> list[Table]:
    """Returns the flows of a situation: the path's own, reversed for uploads and multiplied, with stack and remedy."""
    load = situation.load
    plain = path.flow | {"name": TRANSFER} | stack
    if situation.direction == UPLOAD:
        plain |= {"from": path.flow["to"], "to": path.flow["from"]}
    plain["transport"] = path.flow.get("transport", {}) | stack.get("transport", {})
    treated = plain | {"remedies": remedy}
    if load == "1":
        return [treated]
    if load == "1 of 2":
        return [treated, plain | {"name": OTHER}]
    return [*_passengers(path, treated)]


def _passengers(path: AccessPath, treated: Table) -> Iterator[Table]:
    for number in range(1, DOWNLOADS + 1):
        yield treated | {"name": f"{TRANSFER}-{number}"}
    step = (path.duration_s - FIRST_S - LAST_S) / PAGES
    for number in range(1, PAGES + 1):
        start = f"{FIRST_S + (number - 1) * step:.3f} s"
        page = {"traffic": {"kind": "pages", "page": PAGE_BYTES, "count": 1}, "start": start}
        yield treated | page | {"name": f"{PAGE}{number}"}
    ends = {key: treated[key] for key in ("from", "to", "start", "start_jitter") if key in treated}
    for number in range(1, CALLS + 1):
        yield ends | {"name": f"{CALL}{number}", "transport": "udp", "traffic": VOICE}
