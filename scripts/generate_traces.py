"""Generates the example traces in scenarios/traces: python scripts/generate_traces.py [FOLDER].

They are patterns, not recordings, and fitted to none: they have enough of such links' difficulties to show a
transport's behaviour. The same bytes come out on every machine: one seed per file, and nothing but additions,
multiplications, square roots and comparisons of numbers from `random.random()`, whose sequence Python keeps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from math import sqrt
from pathlib import Path
from random import Random

FOLDER = Path(__file__).resolve().parent.parent / "scenarios" / "traces"
OPPORTUNITY_BITS = 1500 * 8

LEO_SECONDS = 60
LEO_INTERVAL = 15_000
"""Milliseconds between reconfigurations: satellites are assigned to terminals anew every 15 s."""

LTE_SECONDS = 90
LTE_LEVELS = [0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]
"""Mbit/s between which a drive wanders."""

FLIGHT_STEP = 10
"""Seconds between the positions of a flight, as receivers of its reports keep them."""
FLIGHT_WAYPOINTS = [
    (0, 50.95, 6.20, 6_100.0),
    (420, 50.90, 7.55, 9_800.0),
    (600, 50.93, 8.15, 10_700.0),
    (1260, 51.02, 10.30, 10_700.0),
    (1800, 50.75, 12.00, 10_700.0),
    (2280, 50.35, 13.40, 10_100.0),
    (2700, 50.14, 14.20, 5_800.0),
]
"""Seconds, degrees and metres from Maastricht to Prague: climb, cruise at 230 m/s, beginning of descent."""

AIRPORTS = [
    (50.03, 8.54),
    (48.35, 11.79),
    (51.29, 6.77),
    (53.63, 9.99),
    (52.36, 13.50),
    (50.10, 14.26),
    (47.46, 8.55),
    (48.11, 16.57),
]
"""Frankfurt, Munich, Düsseldorf, Hamburg, Berlin, Prague, Zürich and Vienna, in degrees."""
AIR_TRAFFIC_FLIGHTS, AIR_TRAFFIC_SECONDS = 50, 5400
"""Flights, and the time in which they depart."""
CRUISE_M_S, CRUISE_M, CLIMB_M = 225, 11_000, 80_000
METRES_A_DEGREE = (111_200, 70_500)
"""Northwards, and eastwards at 50.7 degrees."""

RAIL_SECONDS = 600
RAIL_TUNNELS = [(95, 125), (250, 262), (430, 490)]
RAIL_CELL_SECONDS = 38
RAIL_STEP = 0.5


def main() -> None:
    """Writes every file."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in traces().items():
        (folder / name).write_text(text, encoding="ascii", newline="\n")
        print(f"{folder / name}: {len(text)} bytes")


def traces() -> dict[str, str]:
    """Returns the text of every file by its name."""
    return {
        **leo(),
        "lte-drive.down": lte(Random(21), 1.0),
        "lte-drive.up": lte(Random(22), 0.4),
        "rail.down.csv": rail(Random(31), 20e6),
        "rail.up.csv": rail(Random(32), 6e6),
        "flight.csv": flight(Random(41)),
        "air-traffic.csv": air_traffic(Random(51)),
    }


def between(random: Random, low: float, high: float) -> float:
    """Returns a draw from [low, high)."""
    return low + (high - low) * random.random()


def flight(random: Random) -> str:
    """Returns the flight of an airliner from Maastricht to Prague: straight between its waypoints, with a few metres of
    error."""
    lines = ["time,latitude,longitude,altitude"]
    for (begin, *here), (end, *there) in pairwise(FLIGHT_WAYPOINTS):
        last = end == FLIGHT_WAYPOINTS[-1][0]
        for at in range(begin, end + (FLIGHT_STEP if last else 0), FLIGHT_STEP):
            share = (at - begin) / (end - begin)
            latitude, longitude, altitude = (a + (b - a) * share for a, b in zip(here, there, strict=True))
            latitude += between(random, -0.0002, 0.0002)
            longitude += between(random, -0.0003, 0.0003)
            altitude += between(random, -8.0, 8.0)
            lines.append(f"{at},{latitude:.4f},{longitude:.4f},{altitude:.0f}")
    return "\n".join(lines) + "\n"


def air_traffic(random: Random) -> str:
    """Returns flights between airports, straight, with an even climb and descent, in the order of their departures."""
    lines = ["flight,time,latitude,longitude,altitude"]
    departures = sorted(between(random, 0, AIR_TRAFFIC_SECONDS) for _ in range(AIR_TRAFFIC_FLIGHTS))
    for number, departure in enumerate(departures, start=1):
        here = int(between(random, 0, len(AIRPORTS)))
        there = (here + int(between(random, 1, len(AIRPORTS)))) % len(AIRPORTS)
        ends = list(zip(AIRPORTS[here], AIRPORTS[there], strict=True))
        north, east = ((b - a) * metres for (a, b), metres in zip(ends, METRES_A_DEGREE, strict=True))
        length = sqrt(north * north + east * east)
        for way, altitude in ((0, 0), (CLIMB_M, CRUISE_M), (length - CLIMB_M, CRUISE_M), (length, 0)):
            latitude, longitude = (a + (b - a) * way / length for a, b in ends)
            at = departure + way / CRUISE_M_S
            lines.append(f"f{number},{at:.1f},{latitude:.4f},{longitude:.4f},{altitude}")
    return "\n".join(lines) + "\n"


def leo() -> dict[str, str]:
    """Returns a terminal's share of a LEO satellite as a LeoReplayer pair: every 15 s an outage of 60 to 160 ms, then
    another delay and another rate. Rates are those of a busy cell, so that the file stays small."""
    random = Random(11)
    bandwidth, delays = [], []
    for start in range(0, LEO_SECONDS * 1000, LEO_INTERVAL):
        outage = between(random, 60, 160) if start else 0
        rate, drift = between(random, 1.8, 3.6), between(random, -0.3, 0.3)
        delay, slope = between(random, 18, 34), between(random, -3, 3)

        def mbps(time: float, outage: float = outage, rate: float = rate, drift: float = drift) -> float:
            return 0.0 if time < outage else rate * (1 + drift * time / LEO_INTERVAL)

        bandwidth += opportunities(random, start, LEO_INTERVAL, mbps)
        for time in range(0, LEO_INTERVAL, 10):
            waiting = outage - time if time < outage else 0  # what arrives in an outage is sent after it
            moment = delay + slope * time / LEO_INTERVAL + between(random, 0, 3) + waiting
            delays.append(f"{int(moment)}\n")
    bandwidth.append(LEO_SECONDS * 1000)  # the last line is also the file's length
    return {"leo.bw": lines(bandwidth), "leo.delay": "".join(delays)}


def lte(random: Random, scale: float) -> str:
    """Returns the trace of a cellular link from a moving car in mahimahi's format: a walk over levels, a step every 400
    ms, and every 12 to 25 s a handover that stops it for 150 to 500 ms."""
    end = LTE_SECONDS * 1000
    level, found = 4, []
    handover = between(random, 12_000, 25_000)
    pause = between(random, 150, 500)
    for start in range(0, end, 400):
        level = min(max(level + int(between(random, 0, 3)) - 1, 0), len(LTE_LEVELS) - 1)
        rate = LTE_LEVELS[level] * scale

        def mbps(
            time: float, start: int = start, rate: float = rate, at: float = handover, off: float = pause
        ) -> float:
            return 0.0 if at <= start + time < at + off else rate

        found += opportunities(random, start, min(400, end - start), mbps)
        if start >= handover + pause:
            handover = start + between(random, 12_000, 25_000)
            pause = between(random, 150, 500)
    return lines([*found, end])


def opportunities(random: Random, start: int, length: int, mbps: Callable[[float], float]) -> list[int]:
    """Returns the milliseconds at which 1500 B may pass, at a rate given for milliseconds since `start`."""
    found, credit = [], 0.0
    for time in range(length):
        credit += mbps(time) * 1000 * between(random, 0.5, 1.5)
        while credit >= OPPORTUNITY_BITS:
            credit -= OPPORTUNITY_BITS
            found.append(start + time + 1)
    return found


def lines(times: list[int]) -> str:
    """Returns a mahimahi file."""
    return "".join(f"{time}\n" for time in times)


def rail(random: Random, open_rate: float) -> str:
    """Returns the trace of a train on a cellular network, csv with rate, delay and loss: cells of 38 s that are weak at
    their edges, half a second without service at each change of cell, and tunnels, in which nothing passes."""
    rows = ["time_s,rate_bps,delay_ms,loss\n"]
    for step in range(int(RAIL_SECONDS / RAIL_STEP)):
        time = step * RAIL_STEP
        within = time % RAIL_CELL_SECONDS / RAIL_CELL_SECONDS
        cell = 1 - (2 * within - 1) * (2 * within - 1) * 0.8  # 1 in the middle of a cell, 0.2 at its edges
        quality = cell * tunnel(time) * between(random, 0.7, 1.0)
        changing = time >= RAIL_CELL_SECONDS and time % RAIL_CELL_SECONDS < RAIL_STEP
        rate = 0 if changing or quality < 0.02 else int(open_rate * quality / 1000) * 1000
        delay = 35 + 60 * (1 - quality) + between(random, 0, 8)
        loss = 0.0 if quality > 0.3 else 0.1 * (0.3 - quality)
        rows.append(f"{time:.1f},{rate},{delay:.1f},{loss:.4f}\n")
    return "".join(rows)


def tunnel(time: float) -> float:
    """Returns 1 in the open, 0 in a tunnel, and a slope of two seconds at its mouths."""
    quality = 1.0
    for enter, leave in RAIL_TUNNELS:
        if enter <= time <= leave:
            quality = 0.0
        else:
            distance = enter - time if time < enter else time - leave
            quality = min(quality, distance / 2)
    return quality


if __name__ == "__main__":
    main()
