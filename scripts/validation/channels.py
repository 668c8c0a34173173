"""Effects of a channel on packets, against closed forms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from validation import lab
from validation.row import Row

BURSTS = {"mean_good": "900 ms", "mean_bad": "100 ms"}
SPACING = 0.01
"""Seconds between the packets that probe bursts."""


@cache
def lost(key: str, rate: float, seed: int) -> float:
    """Returns the share of 10,000 packets of 1500 B that a channel loses."""
    link = lab.wire(**{key: rate})
    rows = lab.packets(lab.run("10 s", link, lab.datagrams({"rate": "11.776 Mbit/s"}), record="packets", seed=seed))
    return float(np.mean(~rows["delivered"][:10_000]))


def errors_of(page: str, key: str, rates: tuple[float, ...], oracle: Any, form: str) -> Iterator[Row]:
    """Yields rows on loss at several rates of an error."""
    for rate in rates:
        ours = lab.over_seeds(lambda seed, rate=rate: lost(key, rate, seed))
        expected = oracle(rate)
        tolerance = 3 * math.sqrt((1 - expected) / expected / 1e5)
        name = page.removeprefix("channel-")
        yield Row(
            f"{name}.{rate:g}",
            page,
            f"loss at a rate of {rate:g}",
            "",
            ours,
            expected,
            f"closed form: {form}",
            tolerance,
            "three standard errors of 100,000 packets (binomial)",
        )


def packet_errors() -> Iterator[Row]:
    """Yields rows on packet errors."""
    yield from errors_of("channel-packet-errors", "packet_error_rate", (1e-3, 1e-2, 1e-1), lambda rate: rate, "p")


def packet_loss(bit_error_rate: float, wire_bytes: int = 1500) -> float:
    """Returns the loss of packets that pass only if all of their bits do."""
    return 1 - (1 - bit_error_rate) ** (8 * wire_bytes)


def bit_errors() -> Iterator[Row]:
    """Yields rows on bit errors in packets of 1500 B."""
    yield from errors_of("channel-bit-errors", "bit_error_rate", (1e-6, 1e-5, 1e-4), packet_loss, "1 - (1 - p)^12000")
    ours = lab.over_seeds(damaged_share)
    yield Row(
        "bit-errors.delivered",
        "channel-bit-errors",
        "datagrams that the receiver's checksum refuses, of those damaged",
        "",
        ours,
        1.0,
        "UDP's checksum misses one error in 65,536 at random",
        1e-3,
        "misses are rare: nearly all errors of few bits are found",
    )


def damaged_share(seed: int) -> float:
    """Returns the refused datagrams over those expected to be damaged: with `damaged = "delivered"` only a checksum
    finds them."""
    link = lab.wire(bit_error_rate=1e-4, damaged="delivered")
    flow = lab.datagrams({"rate": "11.776 Mbit/s"})
    got = lab.first(lab.run("10 s", link, flow, seed=seed))["delivered_bytes"] / 1472
    link["damaged"] = "dropped"
    intact = lab.first(lab.run("10 s", link, flow, seed=seed))["delivered_bytes"] / 1472
    sent = 10_000
    return float((sent - got) / (sent - intact))


@cache
def bursts(seed: int) -> tuple[float, float, np.ndarray]:
    """Returns the share lost, the mean length of a run of losses in packets, and all lengths, of packets 10 ms
    apart."""
    link = lab.wire(burst_loss=BURSTS)
    rows = lab.packets(
        lab.run("2000 s", link, lab.datagrams({"rate": f"{1472 * 8 / SPACING} bit/s"}), record="packets", seed=seed)
    )
    gone = np.concatenate(([0], (~rows["delivered"]).astype(int), [0]))
    starts, ends = np.flatnonzero(np.diff(gone) == 1), np.flatnonzero(np.diff(gone) == -1)
    lengths = ends - starts
    return float(np.mean(~rows["delivered"])), float(np.mean(lengths)), lengths


def stays_bad() -> float:
    """Returns the probability that the packet after a lost one is lost too: the chain of two states, watched every 10
    ms."""
    bad = 0.1
    return bad + (1 - bad) * math.exp(-SPACING * (1 / 0.9 + 1 / 0.1))


def burst_loss() -> Iterator[Row]:
    """Yields rows on Gilbert and Elliott's channel."""
    found = lab.over_seeds(bursts)
    reason = "about three standard errors of ten runs with 2,000 bursts each"
    yield Row(
        "burst-loss.share",
        "channel-burst-loss",
        "share of packets lost",
        "",
        [one[0] for one in found],
        0.1,
        "stationary state: 100 ms / (900 ms + 100 ms)",
        0.03,
        reason,
    )
    yield Row(
        "burst-loss.length",
        "channel-burst-loss",
        "mean run of losses, packets 10 ms apart",
        "packets",
        [one[1] for one in found],
        1 / (1 - stays_bad()),
        "closed form: 1 / (1 - P(bad → bad in 10 ms))",
        0.03,
        reason,
    )


@cache
def jittered(seed: int) -> np.ndarray:
    """Returns delays of packets too far apart to push each other."""
    link = lab.wire(rate="1 Gbit/s", delay="10 ms", jitter="5 ms")
    rows = lab.packets(lab.run("100 s", link, lab.datagrams({"rate": "1177600 bit/s"}), record="packets", seed=seed))
    taken: np.ndarray = (rows["decided"] - rows["sent"])[rows["delivered"]] - 12e-6
    return taken


def jitter() -> Iterator[Row]:
    """Yields rows on jitter: a uniform addition to the delay."""
    found = lab.over_seeds(jittered)
    yield Row(
        "jitter.mean",
        "channel-jitter",
        "mean delay",
        "s",
        [float(np.mean(one)) for one in found],
        0.0125,
        "closed form: 10 ms + 5 ms / 2",
        0.002,
        "three standard errors of 100,000 packets are 0.1 %",
    )
    yield Row(
        "jitter.deviation",
        "channel-jitter",
        "standard deviation of the delay",
        "s",
        [float(np.std(one)) for one in found],
        5e-3 / math.sqrt(12),
        "closed form: 5 ms / √12",
        0.01,
        "three standard errors of 100,000 packets are 0.6 %",
    )


CASES: dict[str, Any] = {
    "packet-errors": packet_errors,
    "bit-errors": bit_errors,
    "burst-loss": burst_loss,
    "jitter": jitter,
}
