"""The scenario of a day: cells of a plan, each with a line to the home agent, and a mobile router for each flight."""

from __future__ import annotations

from collections.abc import Iterable

from .cells import Cell

FRAME = """\
# Written by `baton air-traffic scenario`: NEMO over L-DACS1, with buffering at the home agent.
name = "{name}"
description = "Flights over a plan of L-DACS1 cells, each a mobile router, with traffic by service class"
duration = "{duration:g} s"

[record]
series = false
packets = false

[links.radio]
kind = "ldacs1"
user_rate = "158 kbit/s"
packet_bit = true
joint_coding = true

[links.radio.cells]
{cells}

{lines}
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
track = {{ flights = "{flights}" }}

[mobiles.aircraft.mobility]
protocol = "nemo"
home_agent = "home-agent"
network_prefix = "2001:db8:1000::/64"
duplicate_address_detection = "icao-address"
asks_for_buffering = true

# Sizes, intervals and priorities are chosen: short and urgent for air traffic services, long and patient for airlines.
{traffic}"""

FLOW = """\
[[flows]]
name = "{name}"
from = "{source}"
to = "{sink}"
transport = "udp"
traffic = {{ kind = "on-off", rate = "{size} bit/s", packet_size = "{bytes} B", on = "1 ms", off = "{interval}" }}
priority = {priority}
start_jitter = "30 s"
"""

CLASSES = (
    # Name, bytes of a message, mean interval, priority.
    ("ats", 200, "60 s", 6),
    ("aoc", 1000, "300 s", 2),
)


def text(name: str, flights: str, cells: Iterable[Cell], duration_s: float) -> str:
    """Returns the scenario for a file of flights and a plan of cells."""
    plan = list(cells)
    places = [
        f'{c.name} = {{ node = "ground-{c.name}", radius = "{c.radius_km:g} km", '
        f"position = {{ latitude = {c.latitude}, longitude = {c.longitude} }} }}"
        for c in plan
    ]
    lines = [
        f'[links.line-{c.name}]\nbetween = ["ground-{c.name}", "home-agent"]\nkind = "wired"\ndelay = "10 ms"\n'
        for c in plan
    ]
    traffic = []
    for service, size, interval, priority in CLASSES:
        for way, ends in (("down", ("operations", "avionics")), ("up", ("avionics", "operations"))):
            source, sink = ends
            made = FLOW.format(
                name=f"{service}-{way}",
                source=source,
                sink=sink,
                size=size * 8,
                bytes=size,
                interval=interval,
                priority=priority,
            )
            traffic.append(made)
    return FRAME.format(
        name=name,
        flights=flights,
        duration=duration_s,
        cells="\n".join(places),
        lines="\n".join(lines),
        traffic="\n".join(traffic),
    )
