"""Links against closed forms and published figures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from validation import lab
from validation.row import Row

TRACES = Path(__file__).resolve().parents[2] / "scenarios" / "traces"
EXACT, EXACTLY = 1e-6, "deterministic; times are rounded to nanoseconds"
DIFS, SLOT, EXCHANGE_GAP, EIFS = 50e-6, 20e-6, 10e-6, 364e-6


def serialisation() -> Iterator[Row]:
    """Yields rows on a packet's way over a cable with framing."""
    link = lab.wire(rate="1 Mbit/s", delay="10 ms", framing={"bytes_per_packet": 38})
    rows = lab.packets(lab.run("1 s", link, lab.datagrams({"rate": "100 kbit/s"}), record="packets"))
    ours = float(np.mean((rows["decided"] - rows["sent"])[rows["delivered"]]))
    source = "closed form: (1500 + 38) B · 8 / 1 Mbit/s + 10 ms"
    yield Row("wired.serialisation", "wired", "time over a cable", "s", ours, 0.022304, source, EXACT, EXACTLY)


@cache
def waiting_time(load: float, seed: int) -> float:
    """Returns the mean time that Poisson arrivals of 1500 B wait for a link of 12 Mbit/s, on which one takes a
    millisecond."""
    arrivals = lab.datagrams(lab.poisson(f"{1 / load} ms"))
    result = lab.run("100 s", lab.wire(rate="12 Mbit/s", queue="10000 packets"), arrivals, record="packets", seed=seed)
    rows = lab.packets(result)
    taken = (rows["decided"] - rows["sent"])[rows["delivered"] & (rows["sent"] > 1)]
    return float(np.mean(taken)) - 2e-3  # the delay of 1 ms, and its own time on the line


def md1(load: float) -> float:
    """Returns Pollaczek and Khinchine's mean waiting time for a service time of 1 ms."""
    return 1e-3 * load / (2 * (1 - load))


def waiting() -> Iterator[Row]:
    """Yields rows on the M/D/1 queue."""
    for load, tolerance in ((0.5, 0.01), (0.8, 0.02), (0.9, 0.04)):
        ours = lab.over_seeds(lambda seed, load=load: waiting_time(load, seed))
        source = f"M/D/1 queue at load {load} (Pollaczek and Khinchine)"
        reason = "about three standard errors of ten runs of 100 s; they grow with the load"
        yield Row(
            f"wired.waiting.{load}", "wired", "mean waiting time", "s", ours, md1(load), source, tolerance, reason
        )


def geo() -> Iterator[Row]:
    """Yields rows on a ping over the satellite."""
    result = lab.run("10 s", lab.wire(kind="geo"), lab.flow(transport="icmp", traffic="ping"), record="series")
    ours = float(np.mean(lab.series(result, "round-trip time")[1]))
    closed = 2 * (0.29 + 84 * 8 / 5e6)
    yield Row(
        "geo.ping.form",
        "geo",
        "round-trip time of a ping",
        "s",
        ours,
        closed,
        "closed form: 2 (290 ms + 84 B · 8 / 5 Mbit/s)",
        EXACT,
        EXACTLY,
    )
    yield Row(
        "geo.ping.study",
        "geo",
        "round-trip time of a ping",
        "s",
        ours,
        0.58,
        "study S: 580 ms",
        0.01,
        "two digits are published",
    )


DEMAND = {"kind": "geo", "queue": "10000 packets", "up": {"rate": "1472 kbit/s"}}
"""A return carrier of 50 slots of 184 B in a superframe of 50 ms: a slot takes 1 ms."""
SLOT_RATE = 184 * 8 / 0.05
"""Rate of one slot in each superframe, in bit/s."""
SATURATION = {"rate": "2 Mbit/s", "packet_size": "156 B"}
"""Datagrams of a slot, at more than the carrier's rate."""


def up(name: str, begin: str, **traffic: Any) -> dict[str, Any]:
    """Returns a flow of datagrams from the satellite's terminal."""
    return lab.datagrams({**SATURATION, **traffic}, **{"from": name, "to": "a", "name": name, "start": begin})


def arrived(arrivals: dict[str, np.ndarray], begin: float, end: float) -> float:
    """Returns the bit rate of arriving slots between two times."""
    came = arrivals["decided"][arrivals["delivered"]]
    return float(np.sum((begin <= came) & (came < end))) * 184 * 8 / (end - begin)


def demand() -> Iterator[Row]:
    """Yields rows on capacity on demand."""
    page = "demand-assignment"
    for name, keys, loop, hops in (
        ("vbdc", {}, 0.6, "600 ms for the request and the plan in whole superframes"),
        ("cra", {"cra": "29440 bit/s", "vbdc": False}, 0, "no request"),
    ):
        flow = {**up("b", "1.01 s", rate="1248 bit/s"), "stop": "1.02 s"}
        came = lab.packets(lab.run("4 s", lab.wire(**DEMAND, demand=keys), flow, record="packets"), "up")["decided"]
        source = f"closed form: 40 ms to the next superframe, {hops}, a slot of 1 ms, 290 ms"
        closed = 0.04 + loop + 0.001 + 0.29
        what = f"way of a packet after silence, {name.upper()}"
        yield Row(f"demand.first.{name}", page, what, "s", float(came[0]) - 1.01, closed, source, EXACT, EXACTLY)
    for name, keys, rate in (
        ("cra", {"cra": "64 kbit/s", "vbdc": False}, 64e3),
        ("rbdc", {"rbdc": "150 kbit/s", "vbdc": False}, 5 * SLOT_RATE),
        ("vbdc", {}, 50 * SLOT_RATE),
    ):
        result = lab.run("22 s", lab.wire(**DEMAND, demand=keys), up("b", "0 s"), record="packets")
        ours = arrived(lab.packets(result, "up"), 2, 22)
        source = "the assigned rate; for RBDC in whole slots"
        reason = "a slot at either end of the 20 s"
        what = f"rate in saturation, {name.upper()}"
        yield Row(f"demand.rate.{name}", page, what, "bit/s", ours, rate, source, 2 * 73.6 / rate, reason)
    shared = {"kind": "geo", "queue": "10000 packets", "demand": {"shares": "l"}}
    others = {name: {"between": ["a", name], **shared} for name in ("c", "d")}
    flows = [up("b", "0 s", rate=f"{4 * SLOT_RATE * 156 / 184} bit/s"), up("c", "0 s"), up("d", "0 s")]
    result = lab.run("22 s", lab.wire(**DEMAND, demand={}), *flows, links=others, record="packets")
    for link, slots in (("l", 4), ("c", 23), ("d", 23)):
        ours = arrived(lab.packets(result, "up", link), 12, 22)
        source = "max-min fair: demands of 4, 80 and 80 slots share 50 as 4, 23 and 23"
        what = f"share of terminal {link} of a carrier"
        reason = "packets of a superframe at either end of the 10 s"
        yield Row(f"demand.share.{link}", page, what, "bit/s", ours, slots * SLOT_RATE, source, 0.005, reason)
    transfer = lab.flow(
        **{"from": "b", "to": "a", "transport": lab.tcp(initial_rto="3 s"), "traffic": {"bytes": "50 kB"}}
    )
    times = [
        float(lab.first(lab.run("60 s", lab.wire(**DEMAND, demand=keys), transfer))["completion_s"])
        for keys in ({"cra": "1472 kbit/s", "vbdc": False}, {})
    ]
    source = "closed form: the handshake and three windows wait 600 ms and half a superframe each"
    reason = "each wait for a superframe is between zero and 50 ms"
    what = "50 kB by TCP: time more by VBDC than by CRA"
    yield Row("demand.tcp", page, what, "s", times[1] - times[0], 4 * 0.625, source, 0.04, reason)


SPEED = 320 / 3.6
"""Speed of study S's train, in m/s; its tunnel is 10.6 km long."""


def train(duration: str, seed: int = 1, **link: Any) -> np.ndarray:
    """Returns the times at which datagrams of 1500 B, sent every 10 ms, come to a train over a link along a line."""
    keys = {
        "lines": {"valley": {"tunnels": [{"from": "1 km", "to": "11.6 km"}]}},
        "mobiles": {
            "b": {
                "timetable": [{"at": "0 s", "attach": "l"}],
                "track": {"along": "valley", "speed": "320 km/h"},
            }
        },
    }
    result = lab.run(
        duration, lab.wire(**link), lab.datagrams({"rate": "1177.6 kbit/s"}), record="packets", seed=seed, **keys
    )
    rows = lab.packets(result)
    return rows["decided"][rows["delivered"]]


def shadowed(seed: int) -> float:
    """Returns the share of datagrams lost to shadows of 100 ms every 2.1 s."""
    shadows = {"mean_clear": "2 s", "mean_shadow": "100 ms"}
    flow = lab.datagrams({"rate": "1177.6 kbit/s"})
    sent = lab.first(lab.run("1000 s", lab.wire(kind="geo", shadowing=shadows), flow, seed=seed))
    return float(sent["lost_packets"]) / float(sent["segments_sent"])


def line() -> Iterator[Row]:
    """Yields rows on a tunnel, access points and shadows, for a train at 320 km/h."""
    silence = float(np.max(np.diff(train("200 s", kind="geo", line_of_sight={}))))
    closed = 10_600 / SPEED + 0.55 + 0.29 + 12e3 / 5e6
    source = "closed form: 10.6 km / 320 km/h, 550 ms until the antenna is ready, 292.4 ms until a packet arrives"
    reason = "datagrams are 10 ms apart"
    yield Row("line.tunnel", "geo", "silence around a tunnel", "s", silence, closed, source, 1e-4, reason)
    inside = silence - 0.55 - 0.2924
    yield Row(
        "line.tunnel.study",
        "geo",
        "time in the tunnel",
        "s",
        inside,
        120,
        "study S: about 120 s",
        0.01,
        "published as about 120 s",
    )
    came = train("60 s", kind="wifi", coverage={"from": "2 km"})
    reached = float(came[-1] - came[0] + 0.05) * SPEED
    closed = 2 * 1.5 * 10**2.5
    source = "closed form: 100 dB of loss on two rays, antennas of 1.5 m"
    yield Row("line.range", "wifi", "both sides of an access point", "m", reached, closed, source, 0.002, reason)
    ours = lab.over_seeds(shadowed)
    source = "closed form: 0.1 / 2.1"
    reason = "three standard errors of 4760 shadows"
    yield Row("line.shadows", "geo", "loss in shadows", "", ours, 0.1 / 2.1, source, 0.06, reason)


@cache
def gsm_ping(payload: int) -> float:
    """Returns the round-trip time of a ping over GSM."""
    ping = lab.flow(transport="icmp", traffic={"kind": "ping", "size": f"{payload} B", "interval": "10 s"})
    result = lab.run("30 s", lab.wire(kind="gsm"), ping, record="series")
    return float(np.mean(lab.series(result, "round-trip time")[1]))


def gsm() -> Iterator[Row]:
    """Yields rows on serialisation at 960 B/s, and the testbed's round-trip time."""
    yield Row(
        "gsm.ping.form",
        "gsm",
        "round-trip time of a ping of 84 B",
        "s",
        gsm_ping(56),
        2 * (0.25 + 92 / 960),
        "closed form: 2 (250 ms + (84 + 8) B / 960 B/s)",
        EXACT,
        EXACTLY,
    )
    reason = "the study gives about 700 ms; the delay was chosen for it"
    yield Row(
        "gsm.ping.study",
        "gsm",
        "round-trip time of a ping of 84 B",
        "s",
        gsm_ping(56),
        0.7,
        "study T: about 700 ms",
        0.02,
        reason,
    )
    result = lab.run(
        "400 s", lab.wire(kind="gsm"), lab.flow(transport=lab.tcp(receive_buffer="20 kB")), record="series"
    )
    source = "closed form: 960 B/s · 1460 / 1508"
    yield Row(
        "gsm.goodput",
        "gsm",
        "TCP goodput",
        "bit/s",
        lab.goodput(result, 100, 400),
        7680 * 1460 / 1508,
        source,
        0.005,
        "a segment more or less in 300 s is 0.5 %",
    )


@cache
def saturation(payload: int, preamble: str, seed: int) -> float:
    """Returns the UDP payload per second that one 802.11b station gets through, in bit/s."""
    datagrams = lab.datagrams({"rate": "12 Mbit/s", "packet_size": f"{payload} B"})
    result = lab.run("20 s", lab.wire(kind="wifi", preamble=preamble), datagrams, seed=seed)
    return float(lab.first(result)["delivered_bytes"]) * 8 / 20


def exchange_times(payload: int, preamble: float) -> tuple[float, float]:
    """Returns the seconds for a data frame of a UDP payload, and for the acknowledgment."""
    return preamble + (payload + 28 + 36) * 8 / 11e6, preamble + 112 / 2e6


def theoretical_maximum(payload: int, preamble: float) -> float:
    """Returns the maximum of Jun, Peddabachagari and Sichitiu 2003: DIFS, a mean backoff of 15.5 slots, frame, SIFS,
    acknowledgment."""
    data, acknowledgment = exchange_times(payload, preamble)
    return payload * 8 / (DIFS + 15.5 * SLOT + data + EXCHANGE_GAP + acknowledgment)


def bianchi(payload: int, preamble: float) -> float:
    """Returns the joint throughput, in bit/s, of two saturated stations with 7 attempts per frame, by Bianchi 2000."""
    windows = [min(32 * 2**stage, 1024) for stage in range(7)]
    low, high = 0.0, 1.0
    for _ in range(60):  # the share of slots in which a station sends is also how often the other one collides
        share = (low + high) / 2
        weights = [share**stage for stage in range(7)]
        found = sum(weights) / sum(weight * (window + 1) / 2 for weight, window in zip(weights, windows, strict=True))
        low, high = (share, high) if found > share else (low, share)
    data, acknowledgment = exchange_times(payload, preamble)
    success, collision = 2 * share * (1 - share), share**2
    slot = (1 - share) ** 2 * SLOT + success * (data + EXCHANGE_GAP + acknowledgment + DIFS) + collision * (data + EIFS)
    return success * payload * 8 / slot


def both_ways(seed: int) -> float:
    """Returns the payload per second of two saturated stations, in bit/s."""
    flows = [
        lab.datagrams({"rate": "12 Mbit/s"}),
        lab.datagrams({"rate": "12 Mbit/s"}, name="g", **{"from": "b", "to": "a"}),
    ]
    result = lab.run("60 s", lab.wire(kind="wifi"), *flows, seed=seed)
    return float(sum(one["delivered_bytes"] for one in result.summary["flows"])) * 8 / 60


def residual_loss(seed: int) -> float:
    """Returns the share of packets lost after seven attempts that each fail with probability 1/2."""
    link = lab.wire(kind="wifi", packet_error_rate=0.5)
    rows = lab.packets(lab.run("100 s", link, lab.datagrams({"rate": "1 Mbit/s"}), record="packets", seed=seed))
    return float(np.mean(~rows["delivered"][:-1]))


def wifi() -> Iterator[Row]:
    """Yields rows on medium access of 802.11b."""
    for preamble, seconds in (("long", 192e-6), ("short", 96e-6)):
        ours = lab.over_seeds(lambda seed, preamble=preamble: saturation(1472, preamble, seed))
        source = f"theoretical maximum, {preamble} preamble (Jun and others 2003)"
        reason = "a backoff's deviation of 185 µs over 10,000 exchanges a run is 0.03 %"
        yield Row(
            f"wifi.one-way.{preamble}",
            "wifi",
            "UDP payload, one station",
            "bit/s",
            ours,
            theoretical_maximum(1472, seconds),
            source,
            0.002,
            reason,
        )
    ours = lab.over_seeds(both_ways)
    reason = "the formula takes collisions as independent of the past, which two stations are not"
    yield Row(
        "wifi.both-ways",
        "wifi",
        "UDP payload, two stations",
        "bit/s",
        ours,
        bianchi(1472, 192e-6),
        "Bianchi 2000, 7 attempts a frame",
        0.03,
        reason,
    )
    ours = lab.over_seeds(residual_loss)
    yield Row(
        "wifi.retries",
        "wifi",
        "loss with frames damaged half of the time",
        "",
        ours,
        0.5**7,
        "closed form: p⁷",
        0.1,
        "three standard errors of 85,000 packets",
    )


@cache
def replayed(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the moments at which 1500 B had left the link of a mahimahi file, and those of the file, in s."""
    opportunities = np.loadtxt(TRACES / name) / 1e3
    end = opportunities[-1]
    recording = {"kind": "mahimahi", "file": f"traces/{name}"}
    link = lab.wire(kind="trace", delay="20 ms", queue="100000 packets", recording=recording)
    datagrams = lab.datagrams({"rate": "50 Mbit/s"})
    result = lab.run(f"{end + 0.02} s", link, datagrams, record="packets", directory=str(TRACES.parent))
    rows = lab.packets(result)
    return rows["decided"][rows["delivered"]] - 0.02, opportunities


def trace() -> Iterator[Row]:
    """Yields the rows about packets that recordings let through."""
    left, opportunities = replayed("lte-drive.down")
    yield Row(
        "trace.opportunities",
        "trace",
        "packets of 1500 B in one length of `lte-drive.down`",
        "packets",
        len(left),
        len(opportunities),
        "lines of the file",
        1e-3,
        "the first opportunity may come before the first packet",
    )
    lag = float(
        np.max(
            np.abs(left[: len(opportunities) - 1] - opportunities[-len(left) :][: len(left)][: len(opportunities) - 1])
        )
    )
    yield Row(
        "trace.moments",
        "trace",
        "largest distance from the file's moments",
        "s",
        lag,
        0.0,
        "times in the file",
        1e-9,
        "no chance in it",
    )
    seconds, rates, *_ = np.loadtxt(TRACES / "rail.down.csv", delimiter=",", skiprows=1).T
    link = lab.wire(kind="trace", queue="1000000 packets", recording={"kind": "csv", "file": "traces/rail.down.csv"})
    length = 2 * seconds[-1] - seconds[-2]
    result = lab.run(
        f"{length} s", link, lab.datagrams({"rate": "20 Mbit/s"}), record="packets", directory=str(TRACES.parent)
    )
    rows = lab.packets(result)
    served = float(np.sum(rows["bytes"][~np.isnan(rows["decided"])])) * 8
    capacity = float(np.sum(rates * np.diff(np.append(seconds, length))))
    yield Row(
        "trace.rates",
        "trace",
        "bits served in one length of `rail.down.csv`",
        "bit",
        served,
        capacity,
        "sum of rate · time over the file",
        1e-3,
        "what is on its way at the end, about 90 ms of 600 s",
    )


def gap(kind: str) -> tuple[float, int]:
    """Returns the longest time without an arrival around a handover between two equal links, and the number of packets
    that never came."""
    entry = {"at": "5 s", "attach": "m", "handover": kind, **({"outage": "2 s"} if kind == "hard" else {})}
    links = {"m": lab.wire(rate="12 Mbit/s", delay="10 ms")}
    mobiles = {"b": {"timetable": [{"at": "0 s", "attach": "l"}, entry]}}
    case = lab.run(
        "10 s",
        lab.wire(rate="12 Mbit/s", delay="10 ms"),
        lab.datagrams({"rate": "1177600 bit/s"}),
        record="packets",
        links=links,
        mobiles=mobiles,
    )
    both = [lab.packets(case, link=link) for link in ("l", "m")]
    arrivals = np.sort(np.concatenate([rows["decided"][rows["delivered"]] for rows in both]))
    return float(np.max(np.diff(arrivals))), int(case.summary["handovers"][0]["lost_packets"])


def handover() -> Iterator[Row]:
    """Yields rows on handovers, hard and soft, under a packet each 10 ms."""
    (hard, lost), (soft, none) = gap("hard"), gap("soft")
    yield Row(
        "handover.hard.gap",
        "handover",
        "silence around an outage of 2 s",
        "s",
        hard,
        2.02,
        "closed form: what leaves from 4.99 s on is lost, what leaves at 7 s arrives",
        1e-6,
        EXACTLY,
    )
    yield Row(
        "handover.hard.lost",
        "handover",
        "packets lost in an outage of 2 s",
        "packets",
        lost,
        201,
        "closed form: those of 4.99 s to 6.99 s",
        1e-6,
        EXACTLY,
    )
    yield Row(
        "handover.soft.gap",
        "handover",
        "silence around a soft handover",
        "s",
        soft,
        0.01,
        "closed form: the distance of the packets",
        EXACT,
        EXACTLY,
    )
    yield Row(
        "handover.soft.lost",
        "handover",
        "packets lost in a soft handover",
        "packets",
        none,
        0,
        "closed form",
        0,
        EXACTLY,
    )


CASES: dict[str, Any] = {
    "wired": serialisation,
    "wired-waiting": waiting,
    "geo": geo,
    "demand": demand,
    "line": line,
    "gsm": gsm,
    "wifi": wifi,
    "trace": trace,
    "handover": handover,
}
