"""Queues and their managers against closed forms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from validation import lab
from validation.row import Row

RATE = "12 Mbit/s"
"""Rate at which a packet of 1500 B takes a millisecond."""
WAITING_PLACES = 4


@cache
def refused(load: float, seed: int) -> float:
    """Returns the share of Poisson arrivals that find four waiting."""
    link = lab.wire(rate=RATE, queue=f"{WAITING_PLACES} packets")
    result = lab.run("200 s", link, lab.datagrams(lab.poisson(f"{1 / load} ms")), record="packets", seed=seed)
    return float(np.mean(~lab.packets(result)["delivered"]))


def md1k_loss(load: float, places: int = WAITING_PLACES) -> float:
    """Returns the loss of the M/D/1/K queue, from the chain of the packets that each departure leaves behind."""
    size = places + 1
    arrivals = [math.exp(-load) * load**n / math.factorial(n) for n in range(size)]
    chain = np.zeros((size, size))
    for left in range(size):
        start = max(left - 1, 0)
        for n in range(size - start):
            chain[left, start + n] += arrivals[n]
        chain[left, size - 1] += 1 - chain[left].sum()
    stay = np.linalg.lstsq(
        np.vstack((chain.T - np.eye(size), np.ones(size))), np.append(np.zeros(size), 1), rcond=None
    )[0]
    return 1 - 1 / float(stay[0] + load)


def drop_tail() -> Iterator[Row]:
    """Yields rows on the M/D/1/K queue."""
    for load in (0.5, 0.8, 1.2):
        ours = lab.over_seeds(lambda seed, load=load: refused(load, seed))
        source = f"M/D/1/K queue with {WAITING_PLACES} places at load {load} (embedded Markov chain)"
        tolerance = {0.5: 0.06, 0.8: 0.02, 1.2: 0.01}[load]
        yield Row(
            f"drop-tail.loss.{load}",
            "queue-drop-tail",
            "share of packets refused",
            "",
            ours,
            md1k_loss(load),
            source,
            tolerance,
            "about three standard errors; they fall with the number of losses",
        )


RED = {"limit": "1000 packets", "management": "red", "minimum_threshold": 50, "maximum_threshold": 150, "weight": 0.002}


@cache
def red_queue(overload: float, seed: int) -> float:
    """Returns the mean queue under a load that does not react."""
    arrivals = lab.datagrams(lab.poisson(f"{1 / overload} ms"))
    result = lab.run("100 s", lab.wire(rate=RATE, queue=RED), arrivals, record="series", seed=seed)
    return lab.time_average(*lab.series(result, "queue packets", "link l down"), 30, 100)


def red_equilibrium(overload: float) -> float:
    """Returns the average queue at which RED drops the excess. By its pseudocode the gap between drops is uniform from
    1 to 1/p - 1 packets, so that the share dropped is 2p, and p rises by the line from 50 to 150 packets, and from
    there to 300."""
    probability = (1 - 1 / overload) / 2
    if probability <= 0.1:
        return 50 + 100 * probability / 0.1
    return 150 + 150 * (probability - 0.1) / 0.9


def red() -> Iterator[Row]:
    """Yields rows on RED's curve, by the queue at which it balances an overload."""
    for overload in (1.05, 1.1, 1.15, 1.4, 2.0):
        ours = lab.over_seeds(lambda seed, load=overload: red_queue(load, seed), range(1, 6))
        part = "gentle part" if overload > 1.25 else "first line"
        source = f"drop probability of Floyd and Jacobson 1993 ({part}) at load {overload}"
        yield Row(
            f"red.queue.{overload}",
            "queue-red",
            "mean queue",
            "packets",
            ours,
            red_equilibrium(overload),
            source,
            0.03,
            "the average follows the queue with a lag, and the line has a bend: a few packets",
        )


@cache
def codel_drops() -> np.ndarray:
    """Returns the moments at which CoDel drops under an overload that does not react."""
    link = lab.wire(rate=RATE, queue={"limit": "100000 packets", "management": "codel"})
    rows = lab.packets(lab.run("5 s", link, lab.datagrams({"rate": "24 Mbit/s"}), record="packets"))
    moments: np.ndarray = np.sort(rows["decided"][rows["managed"]])
    return moments


def control_law(count: int) -> np.ndarray:
    """Returns the times between drops by RFC 8289: the interval over the square root of the number of drops."""
    return 0.1 / np.sqrt(np.arange(1, count + 1))


def codel() -> Iterator[Row]:
    """Yields rows on CoDel's control law."""
    drops = codel_drops()
    # The target of 5 ms is passed a little after the start; an interval later the first packet goes.
    for count in (10, 100):
        ours = float(drops[count] - drops[0])
        oracle = float(control_law(count).sum())
        yield Row(
            f"codel.drops.{count}",
            "queue-codel",
            f"from the first drop to number {count + 1}",
            "s",
            ours,
            oracle,
            "control law of RFC 8289: sum of 100 ms / √n",
            1.5e-3 / oracle,
            "a packet of 1 ms is under way when a drop is due",
        )


PRECEDENCES = {"5": (46, 200, 0.2), "1": (8, 1500, 0.4), "0": (0, 1500, 0.4)}
"""The highest first: its code point, the bytes of its packets, and its share of the load."""


def service(size: int) -> float:
    """Returns the seconds that a packet takes at 12 Mbit/s."""
    return size * 8 / 12e6


@cache
def priority_waiting(load: float, seed: int) -> dict[str, float]:
    """Returns the mean time that Poisson arrivals of each precedence wait for a link that they share."""
    flows = [
        lab.datagrams(
            lab.poisson(f"{service(size) / (load * share)} s", packet_size=f"{size - 28} B"),
            name=name,
            code_point=code_point,
        )
        for name, (code_point, size, share) in PRECEDENCES.items()
    ]
    link = lab.wire(rate=RATE, queue={"limit": "10000 packets", "management": "priority"})
    result = lab.run("100 s", link, *flows, record="packets", seed=seed)
    waited = {}
    for name, (_, size, _) in PRECEDENCES.items():
        rows = lab.packets(result, flow=name)
        taken = (rows["decided"] - rows["sent"])[rows["delivered"] & (rows["sent"] > 1)]
        waited[name] = float(np.mean(taken)) - 1e-3 - service(size)  # the delay of 1 ms, and its own time on the line
    return waited


def cobham(load: float) -> dict[str, float]:
    """Returns the mean waiting times of a queue with priorities without preemption (Cobham 1954): the rest of the
    packet under way, over the shares of time that higher classes, and higher and equal classes, leave."""
    left = sum(load * share * service(size) / 2 for _, size, share in PRECEDENCES.values())
    waiting, before = {}, 0.0
    for name, (_, _, share) in PRECEDENCES.items():
        beside = before + load * share
        waiting[name] = left / ((1 - before) * (1 - beside))
        before = beside
    return waiting


def priority() -> Iterator[Row]:
    """Yields rows on the M/D/1 queue with priorities."""
    for load, tolerances in ((0.5, (0.01, 0.01, 0.02)), (0.8, (0.01, 0.015, 0.04))):
        ours = lab.over_seeds(lambda seed, load=load: priority_waiting(load, seed))
        for (name, closed), tolerance in zip(cobham(load).items(), tolerances, strict=True):
            yield Row(
                f"priority.waiting.{load}.{name}",
                "queue-priority",
                f"mean waiting time of precedence {name}",
                "s",
                [each[name] for each in ours],
                closed,
                f"M/D/1 queue at load {load} with priorities that interrupt nobody (Cobham 1954)",
                tolerance,
                "about three standard errors of ten runs of 100 s; they grow with the load of those before and beside",
            )


FLOW_QUEUES = {"limit": "1000 packets", "management": "fq-codel"}


LEAST = 1500 / 1472
"""Megabits a second on the link of a flow of 1 Mbit/s of payload."""
FAIR_SHARE = (12 - LEAST) / 2
"""Megabits a second of each of two flows beside it that ask for more."""


def shares() -> dict[str, float]:
    """Returns the megabits per second of two flows that ask for more than their share, and of one that asks for
    less."""
    flows = [lab.datagrams({"rate": f"{rate} Mbit/s"}, name=name) for name, rate in (("a", 9), ("b", 7), ("c", 1))]
    result = lab.run("60 s", lab.wire(rate=RATE, queue=FLOW_QUEUES), *flows, record="packets")
    carried = {}
    for name in ("a", "b", "c"):
        rows = lab.packets(result, flow=name)
        carried[name] = float(np.sum(rows["delivered"] & (rows["decided"] > 10))) * 1500 * 8 / 50e6
    return carried


def sparse_wait(seed: int) -> float:
    """Returns the mean wait of packets of 60 B that come at random beside a flow that fills its queue."""
    bulk = lab.datagrams({"rate": "15 Mbit/s"}, name="bulk")
    sparse = lab.datagrams(lab.poisson("100 ms", packet_size="32 B"), name="sparse")
    result = lab.run("100 s", lab.wire(rate=RATE, queue=FLOW_QUEUES), bulk, sparse, record="packets", seed=seed)
    rows = lab.packets(result, flow="sparse")
    taken = (rows["decided"] - rows["sent"])[rows["delivered"] & (rows["sent"] > 5)]
    return float(np.mean(taken)) - 1e-3 - service(60)  # the delay of 1 ms, and its own time on the line


def fq_codel() -> Iterator[Row]:
    """Yields rows on FQ-CoDel's shares, and the wait of a sparse flow."""
    found = shares()
    for name, share in {"a": FAIR_SHARE, "b": FAIR_SHARE, "c": LEAST}.items():
        yield Row(
            f"fq-codel.share.{name}",
            "queue-fq-codel",
            f"rate of flow {name}, of 9, 7 and 1 Mbit/s on offer over 12 Mbit/s",
            "Mbit/s",
            found[name],
            share,
            "max-min fairness: a flow that asks for less than a share gets it, the others share the rest",
            0.001,
            "a quantum and the packet under way at the ends of the time of measurement",
        )
    yield Row(
        "fq-codel.wait",
        "queue-fq-codel",
        "mean wait of random packets of 60 B beside a full queue",
        "s",
        lab.over_seeds(sparse_wait),
        0.5e-3,
        "half of the packet under way, of 1 ms: a sparse flow is served before those that wait",
        0.02,
        "about two standard errors of ten runs with 950 packets each",
    )


@cache
def pie_rows(seed: int) -> Any:
    """Returns the packets of a load of 1.25 that does not react."""
    link = lab.wire(rate=RATE, queue={"limit": "1000 packets", "management": "pie"})
    load = lab.datagrams(lab.poisson("0.8 ms"))
    return lab.packets(lab.run("300 s", link, load, record="packets", seed=seed))


def pie_waits(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns when packets that passed were sent, and how long they waited."""
    rows = pie_rows(seed)
    passed = rows["delivered"]
    return rows["sent"][passed], (rows["decided"] - rows["sent"])[passed] - 2e-3  # the delay, and its own time


def pie_equilibrium(seed: int) -> dict[str, float]:
    """Returns the mean wait and the share of drops, once PIE has settled."""
    sent, waited = pie_waits(seed)
    rows = pie_rows(seed)
    return {
        "wait": float(np.mean(waited[sent > 100])),
        "drops": float(np.mean(rows["managed"][rows["sent"] > 100])),
    }


def pie() -> Iterator[Row]:
    """Yields rows on PIE's equilibrium: an integral control has no offset."""
    found = lab.over_seeds(pie_equilibrium)
    yield Row(
        "pie.drops",
        "queue-pie",
        "share of packets dropped at a load of 1.25",
        "",
        [each["drops"] for each in found],
        1 - 1 / 1.248,
        "what exceeds the link, (load - 1)/load; a packet of 1.2 µs at the source follows each pause of 0.8 ms",
        0.03,
        "the queue, of 15 packets on average, is empty for half a per cent of the time",
    )
    yield Row(
        "pie.wait",
        "queue-pie",
        "mean wait at a load of 1.25",
        "s",
        [each["wait"] for each in found],
        0.015,
        "the target: the probability rests only where the delay is on target",
        0.1,
        "the delay that counts is that of packets at updates; drops are not symmetric around the target",
    )


CASES: dict[str, Any] = {
    "drop-tail": drop_tail,
    "red": red,
    "codel": codel,
    "fq-codel": fq_codel,
    "pie": pie,
    "priority": priority,
}
