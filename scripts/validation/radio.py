"""L-DACS1 against its frames, study D's figures and other authors': one cell, aircraft beside its base station.

A superframe of 240 ms has four multiframes. The study's rates fit 24 forward frames and 144 return tiles a multiframe,
which is what 16 aircraft leave; those of RFC 9372 fit 26 and 158, which is what one leaves with one frame of control.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
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


LEAST_CONTROL = {
    ("down", "qpsk-1/2"): 315e3,
    ("down", "64qam-3/4"): 1428e3,
    ("up", "qpsk-1/2"): 294e3,
    ("up", "64qam-3/4"): 1390e3,
}
LATENCIES = {45: (127, 180), 53: (125, 187), 62: (125, 227), 204: (125, 350), 512: (125, 695)}
"""95th percentiles of one-way latency in ms, forward and return, by the number of aircraft: table 5 of Gräupl and
Ehammer, with 52 slots in the dedicated control channel, for its least load (ATS only, without A-EXEC)."""
TABLE_5 = "Gräupl and Ehammer, The LDACS1 Link Layer Design (2011), table 5"


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


def carried(direction: str, modulation: str, aircraft: list[str], **radio: Any) -> float:
    """Returns the bits per second in the frames of a busy cell."""
    ends = {"from": "base", "to": AIRCRAFT[0]} if direction == "down" else {"from": AIRCRAFT[0], "to": "base"}
    flow = lab.datagrams({"rate": "2 Mbit/s", "packet_size": f"{PACKET - 28} B"}, stop="100 s", **ends)
    radio |= {"modulation": modulation, "errors": "none", "queue": "20 kB"}
    told = lab.first(scenario("100 s", aircraft, flow, **radio).run())
    return float(told["delivered_bytes"]) / (PACKET - 28) * (PACKET + HEADER) * 8 / 100


def rates() -> Iterator[Row]:
    """Yields rows on D0 and on RFC 9372."""
    cases: list[tuple[str, str, dict[tuple[str, str], float], list[str], dict[str, Any], str]] = [
        ("rate", "16 aircraft", RATES, AIRCRAFT, {}, "study D, D0"),
        (
            "least-control",
            "one aircraft and one control frame",
            LEAST_CONTROL,
            AIRCRAFT[:1],
            {"common_control_frames": 1},
            "RFC 9372: user data rates, quoted from memory",
        ),
    ]
    for name, load, published, aircraft, radio, source in cases:
        for (direction, modulation), rate in published.items():
            yield Row(
                f"ldacs1.{name}.{direction}.{modulation.replace('/', '-')}",
                "ldacs1",
                f"rate of a cell with {load}, {direction}, {modulation}",
                "bit/s",
                carried(direction, modulation, aircraft, **radio),
                rate,
                source,
                0.01,
                "three digits are published; the last multiframe of 100 s is cut",
            )


def latencies_ms(aircraft: int, slot_delivery: bool, seed: int) -> tuple[float, float]:
    """Returns the 95th percentiles of the latency of rare small messages, forward and return.

    Messages of 100 B, one in 20 s each way for each aircraft, are chosen: the table's loads are not known, but its four
    give the same return latencies within 2 ms.
    """
    attached = {"timetable": [{"at": "0 s", "attach": "radio"}], "track": {"position": {**BASE, "altitude": "10 km"}}}
    messages = {"transport": "udp", "start_jitter": "20 s", "traffic": lab.poisson("20 s", packet_size="72 B")}
    cells = {"cell": {"node": "base", "position": BASE}}
    built = Scenario.build(
        name="validation",
        duration="400 s",
        record={"packets": False, "series": False},
        links={"radio": {"kind": "ldacs1", "errors": "none", "slot_delivery": slot_delivery, "cells": cells}},
        mobiles={"aircraft": {"count": aircraft, **attached}},
        flows=[
            {"name": "forward", "from": "base", "to": "aircraft", **messages},
            {"name": "return", "from": "aircraft", "to": "base", **messages},
        ],
    )
    found = {told["name"]: told["delay"]["p95_s"] * 1e3 for told in built.run(seed=seed).summary["classes"]}
    return found["forward"], found["return"]


def latency() -> Iterator[Row]:
    """Yields rows on the latency by the number of aircraft, at both times at which data may be handed on."""
    frames = "theirs is about a multiframe, 58 ms, more, at all numbers of aircraft and in both directions"
    turns = "here slots rotate evenly, so that each of 62 aircraft has one in 1.19 multiframes on average"
    ways = {"latency": (True, "", turns), "frame-latency": (False, " `slot_delivery = false`,", frames)}
    for name, (slot_delivery, told, cause) in ways.items():
        for aircraft, published in LATENCIES.items():
            ours = zip(*lab.over_seeds(partial(latencies_ms, aircraft, slot_delivery)), strict=True)
            for direction, values, theirs in zip(("forward", "return"), ours, published, strict=True):
                yield Row(
                    f"ldacs1.{name}.{direction}.{aircraft}",
                    "ldacs1",
                    f"95th percentile of latency,{told} {aircraft} aircraft, {direction}",
                    "ms",
                    values,
                    theirs,
                    TABLE_5,
                    0.1,
                    "the loads of the table are not known",
                    cause,
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
    yield from latency()


CASES = {"ldacs1": cell}
