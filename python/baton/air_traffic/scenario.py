"""The scenario of a day: cells of a plan, each with a line to the home agent, and a mobile router for each flight."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from .cells import Cell

FRAME = """\
# Written by `baton air-traffic scenario`: NEMO over L-DACS1, with buffering at the home agent.
name = "{name}"
description = "Flights over a plan of L-DACS1 cells, each a mobile router, with traffic by service class"
duration = "{duration}"

[record]
series = false
packets = false
handovers = 1000   # listed; the others are summed up
flows = 1000

[links.radio]
kind = "ldacs1"
packet_bit = true
joint_coding = true

[links.radio.cells]
{cells}

{lines}
[links.controllers]
between = ["control-centre", "home-agent"]
kind = "wired"
delay = "5 ms"

[links.airline]
between = ["operations", "home-agent"]
kind = "wired"
delay = "5 ms"

[links.cabin]
between = ["aircraft", "avionics"]
kind = "wired"
rate = "100 Mbit/s"

[home_agents.home-agent]
prefix = "2001:db8:1::/64"
duplicate_address_detection = "unique-prefix"
buffering = {{ size = "64 kB" }}

[mobiles.aircraft]
timetable = [{{ at = "0 s", attach = "radio" }}]
track = {{ flights = {flights} }}

[mobiles.aircraft.mobility]
protocol = "nemo"
home_agent = "home-agent"
network_prefix = "2001:db8:1000::/64"
duplicate_address_detection = "icao-address"
asks_for_buffering = true

# Messages of air traffic services and of airlines, at random intervals. Sizes, intervals and priorities are chosen.
{traffic}"""

FLOW = """\
[[flows]]
name = "{name}"
from = "{source}"
to = "{sink}"
transport = "udp"
traffic = {{ kind = "on-off", rate = "{bits} bit/s", packet_size = "{size} B", on = "1 ms", off = "{interval}" }}
priority = {priority}
start = "30 s"
start_jitter = "{interval}"
"""

CLASSES = (
    ("ats", "control-centre", 200, "30 s", 6),
    ("aoc", "operations", 1000, "150 s", 2),
)
"""Service classes: name, node on the ground, bytes of a message, mean time between two, priority."""


def name_of(file: str) -> str:
    """Returns a scenario's name made of a file's: its letters, digits, `-` and `_`, at most 64 of them."""
    return re.sub("[^A-Za-z0-9_-]+", "-", file).strip("-_")[:64] or "air-traffic"


def text(name: str, flights: str, cells: Sequence[Cell], duration: str) -> str:
    """Returns the scenario for a file of flights and a plan of cells."""
    places = [
        f'{c.name} = {{ node = "ground-{c.name}", radius = "{c.radius_km:g} km", '
        f"position = {{ latitude = {c.latitude}, longitude = {c.longitude} }} }}"
        for c in cells
    ]
    lines = [
        f'[links.line-{c.name}]\nbetween = ["ground-{c.name}", "home-agent"]\nkind = "wired"\ndelay = "10 ms"\n'
        for c in cells
    ]
    traffic = []
    for service, ground, size, interval, priority in CLASSES:
        for way, source, sink in (("up", ground, "avionics"), ("down", "avionics", ground)):
            made = {"name": f"{service}-{way}", "source": source, "sink": sink, "size": size, "bits": size * 8}
            traffic.append(FLOW.format(**made, interval=interval, priority=priority))
    return FRAME.format(
        name=name,
        flights=json.dumps(flights, ensure_ascii=False),
        duration=duration,
        cells="\n".join(places),
        lines="\n".join(lines),
        traffic="\n".join(traffic),
    )
