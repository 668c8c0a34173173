"""L-DACS1 against its frames and study D's figures: one cell, aircraft beside its base station.

A superframe of 240 ms has four multiframes. The study's rates fit 24 forward frames and 144 return tiles a multiframe,
which is what 16 aircraft leave.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton import Scenario
from validation import lab
from validation.row import Row

AIRCRAFT = [f"aircraft-{number}" for number in range(1, 17)]
BASE = {"latitude": 51.0, "longitude": 6.0}
PACKET, HEADER = 1000, 7
"""Bytes of an IP packet, and of what L-DACS1 puts before it."""
SIX_TILES = 6 * 14 - HEADER
RATES = {
    ("down", "qpsk-1/2"): 291e3,
    ("down", "64qam-3/4"): 1318e3,
    ("up", "qpsk-1/2"): 270e3,
    ("up", "64qam-3/4"): 1267e3,
}


def scenario(duration: str, aircraft: list[str], flow: dict[str, Any], **radio: Any) -> Scenario:
    """Returns the cell, and datagrams between its base station and the first aircraft."""
    cells = {"cell": {"node": "base", "position": BASE}}
    attached = {"timetable": [{"at": "0 s", "attach": "radio"}], "track": {"position": {**BASE, "altitude": "10 km"}}}
    return Scenario.build(
        name="validation",
        duration=duration,
        record={"packets": False, "series": False},
        links={"radio": {"kind": "ldacs1", "cells": cells, **radio}},
        mobiles=dict.fromkeys(aircraft, attached),
        flows=[flow],
    )


def carried(direction: str, modulation: str) -> float:
    """Returns the bits per second in the frames of a busy cell."""
    ends = {"from": "base", "to": AIRCRAFT[0]} if direction == "down" else {"from": AIRCRAFT[0], "to": "base"}
    flow = lab.datagrams({"rate": "2 Mbit/s", "packet_size": f"{PACKET - 28} B"}, stop="100 s", **ends)
    radio = {"modulation": modulation, "errors": "none", "queue": "20 kB"}
    told = lab.first(scenario("100 s", AIRCRAFT, flow, **radio).run())
    return float(told["delivered_bytes"]) / (PACKET - 28) * (PACKET + HEADER) * 8 / 100


def rates() -> Iterator[Row]:
    """Yields rows on D0."""
    for (direction, modulation), published in RATES.items():
        yield Row(
            f"ldacs1.rate.{direction}.{modulation.replace('/', '-')}",
            "ldacs1",
            f"rate of a cell with 16 aircraft, {direction}, {modulation}",
            "bit/s",
            carried(direction, modulation),
            published,
            "study D, D0",
            0.01,
            "three digits are published; the last multiframe of 100 s is cut",
        )


def lost(seed: int) -> float:
    """Returns the share of single packets of six tiles that do not arrive."""
    traffic = {"rate": "2 kbit/s", "packet_size": f"{SIX_TILES - 28} B"}
    ends = {"from": AIRCRAFT[0], "to": "base"}
    flow = lab.datagrams(traffic, acknowledged=False, stop="990 s", **ends)
    told = lab.first(scenario("1000 s", AIRCRAFT[:1], flow).run(seed=seed))
    return float(told["lost_packets"]) / float(told["segments_sent"])


def loss() -> Iterator[Row]:
    """Yields rows on D2, with the loss of a frame that the study gives."""
    yield Row(
        "ldacs1.loss.six-tiles",
        "ldacs1",
        "loss of a message of six return tiles, unacknowledged",
        "",
        lab.over_seeds(lost),
        0.322,
        "study D, D2: 1 - (1 - 0.0627)^6",
        0.02,
        "about three standard errors of 50,000 messages",
    )


def cell() -> Iterator[Row]:
    """Yields all rows on the cell."""
    yield from rates()
    yield from loss()


CASES = {"ldacs1": cell}
