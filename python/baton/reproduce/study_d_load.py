"""Section 7 of study D: the load on a home agent that buffers for thousands of aircraft."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from baton import Result, Scenario
from baton.live.trials import Figures

from .study_d_beyond import TCP
from .study_run import ratio

#: Chosen: pairs of cells, aircraft that fly from one to the other, and seconds between these. The home agent gets
#: 3.3 handovers a second, as from 5,250 aircraft that cross 350 km, the distance between the cells, in 26 minutes.
PAIRS, STREAM, APART_S = 20, 25, 6.0
#: As in the study's scenarios: start of the leading aircraft, and its flow 17 s before it changes cells.
FIRST_LATITUDE, FIRST_FLOW_S = 51.4539, 43.0
#: Degrees of latitude that an aircraft flies in a second: 800 km/h, 350 km between the cells.
DEGREES_A_SECOND = 3.14762 / 350e3 * 800 / 3.6
#: Six segments of 1024 B with the headers of TCP and IPv6: the receive window, which bounds what is held.
WINDOW_BYTES = 6 * (1024 + 20 + 40)


@dataclass(frozen=True)
class Stream:
    """Pairs of cells, the aircraft that fly from one to the other of each, and the seconds between these."""

    pairs: int
    aircraft: int
    apart_s: float = APART_S


def load(folder: Path, seed: int) -> Figures:
    """Measures D19: a stream of aircraft in each of twenty pairs of cells, with and without buffering."""
    lone = fly(folder, seed, Stream(1, 1), buffers=True)
    held, plain = (fly(folder, seed, Stream(PAIRS, STREAM), buffers) for buffers in (True, False))
    agent = next(agent for agent in held.summary["agents"] if agent["agent"] == "home agent")
    completion, alone, unheld = (_maps(run, "completion_s") for run in (held, lone, plain))
    durations = handover_durations(held)
    most, mean = most_and_mean(*held_packets(held))
    return {
        "D19.a": agent["overflowed"] + agent["expired"],
        "D19.b": float(completion.mean() / alone.mean()),
        "D19.c": float(durations.mean() / handover_durations(lone).mean()),
        "D19.d": float(np.quantile(durations, 0.95)),
        "D19.e": float(_maps(held, "timeouts").mean()),
        "D19.f": float(unheld.mean() - completion.mean()),
        "D19.g": agent["most_bytes"] / WINDOW_BYTES,
        "D19.h": most / 1e3,
        "D19.i": mean / 1e3,
        "D19.j": ratio(bystander_latency(held), bystander_latency(plain)),
    }


def fly(folder: Path, seed: int, stream: Stream, buffers: bool, *given: str) -> Result:
    """Runs pairs of cells with a stream each; with buffering also the table of packets, for what is held when. `given`
    are further overrides."""
    text = (folder / "load.toml").read_text(encoding="utf-8") + "".join(_cells(stream, buffers))
    overrides = ["home_agents.home-agent.buffering={}", "record.packets=true"] if buffers else []
    overrides += given
    return Scenario.parse(text, folder, overrides=overrides).run(seed=seed)


def _cells(stream: Stream, buffers: bool) -> Iterator[str]:
    """Returns the pairs of cells, a listener who stands in each new cell, and the aircraft, each with its flow."""
    for pair in range(stream.pairs):
        yield (
            f'\n[links.radio-{pair}]\nkind = "ldacs1"\nuser_rate = "31.5 kbit/s"\npacket_bit = {str(buffers).lower()}\n'
        )
        for cell, latitude in (("old", 50.0), ("new", 53.14762)):
            yield (
                f'[links.radio-{pair}.cells.{cell}]\nnode = "{cell}-{pair}"\nradius = "225 km"\n'
                'force_below = "-93.8 dBm"\n'
                f"position = {{ latitude = {latitude}, longitude = 5.0 }}\n"
                f'[links.{cell}-ground-{pair}]\nbetween = ["{cell}-{pair}", "backbone"]\nkind = "wired"\n'
                'rate = "10 Mbit/s"\ndelay = "1 ms"\n'
            )
        yield _mobile(f"listener-{pair}", pair, "position = { latitude = 53.0, longitude = 5.0, altitude = '10 km' }")
        yield (
            f'[[flows]]\nname = "datagrams-{pair}"\nfrom = "operations"\nto = "listener-{pair}"\ntransport = "udp"\n'
            'traffic = { kind = "constant", rate = "2400 bit/s", packet_size = "300 B" }\n'
            'start = "20 s"\nstart_jitter = "1 s"\n'
        )
        for place in range(stream.aircraft):
            # The streams are not in step.
            late = stream.apart_s * (place + pair / stream.pairs)
            ends = (FIRST_LATITUDE - late * DEGREES_A_SECOND, 52.0)
            legs = ", ".join(f"{{ latitude = {end:.6f}, longitude = 5.0, altitude = '10 km' }}" for end in ends)
            name, number = f"{pair}-{place}", stream.aircraft * pair + place
            yield _mobile(
                f"aircraft-{name}",
                pair,
                f"legs = [{legs}], speed = '800 km/h', begin_jitter = '750 ms'",
                f'network_prefix = "2001:db8:2:{number:x}::/64"\nasks_for_buffering = {str(buffers).lower()}\n',
            )
            yield (
                f'[links.cabin-{name}]\nbetween = ["aircraft-{name}", "display-{name}"]\nkind = "wired"\n'
                'rate = "100 Mbit/s"\ndelay = "0.1 ms"\n'
                f'[[flows]]\nname = "map-{name}"\nfrom = "operations"\nto = "display-{name}"\n'
                f'traffic.bytes = "110 kB"\nstart = "{FIRST_FLOW_S + late} s"\nstart_jitter = "3750 ms"\n'
                f"transport = {TCP}\n"
            )


def _mobile(name: str, pair: int, track: str, router: str = "") -> str:
    """Returns a mobile, which is a router if it has a network's keys."""
    return (
        f'\n[mobiles.{name}]\ntimetable = [{{ at = "0 s", attach = "radio-{pair}" }}]\ntrack = {{ {track} }}\n'
        f'[mobiles.{name}.mobility]\nprotocol = "{"nemo" if router else "mobile-ipv6"}"\nhome_agent = "home-agent"\n'
        f'duplicate_address_detection = "icao-address"\n{router}'
    )


def _maps(run: Result, key: str) -> np.ndarray:
    """Returns a number of each map's flow; infinite where the map has not arrived."""
    values = (flow[key] for flow in run.summary["flows"] if flow["name"].startswith("map"))
    return np.array([np.inf if value is None else value for value in values])


def handover_durations(run: Result) -> np.ndarray:
    """Returns the seconds from each handover's beginning to the home agent's answer."""
    handovers = run.summary["handovers"]
    return np.array([np.inf if one["completed_s"] is None else one["completed_s"] - one["at_s"] for one in handovers])


def bystander_latency(run: Result) -> float:
    """Returns the mean over the listeners of the 99th percentile of their datagrams' delay, in seconds."""
    flows = run.summary["flows"]
    return float(np.mean([flow["delay"]["p99_s"] for flow in flows if flow["name"].startswith("datagrams")]))


def held_packets(run: Result) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns beginnings, ends and bytes of the packets that the home agent holds: each from its arrival on the agent's
    link to its departure, which is the same moment unless it is held."""
    table = pa.table(run.packets)
    columns = {
        name: np.array(table[name]) for name in ("link", "direction", "packet", "sent_ns", "decided_ns", "wire_bytes")
    }
    here = columns["link"] == "agency"
    came, left = (np.flatnonzero(here & (columns["direction"] == way)) for way in ("up", "down"))
    _, first, second = np.intersect1d(columns["packet"][came], columns["packet"][left], return_indices=True)
    begin, end = columns["decided_ns"][came[first]], columns["sent_ns"][left[second]]
    waits = end > begin
    return begin[waits], end[waits], columns["wire_bytes"][came[first]][waits].astype(float)


def most_and_mean(begin: np.ndarray, end: np.ndarray, size: np.ndarray) -> tuple[float, float]:
    """Returns the largest sum of sizes at one time, and the mean sum from the first beginning to the last end."""
    times = np.concatenate((begin, end))
    # An end comes before a beginning at the same time.
    order = np.lexsort((np.concatenate((np.ones(len(begin)), np.zeros(len(end)))), times))
    sums = np.concatenate((size, -size))[order].cumsum()
    return float(sums.max()), float((size * (end - begin)).sum() / (times.max() - times.min()))
