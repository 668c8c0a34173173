"""Forward error correction by links against closed forms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from baton import Result
from validation import lab
from validation.row import Row

LENGTH, LONGEST, LOSS = 1500, 255, 1e-3
"""Bytes of a packet, of a codeword, and the loss that an adaptive code may leave."""
STEPS = ((0, 1e-4), (20, 1e-3), (40, 1e-4))
"""Bit error rates from a second on."""


def tail(length: int, parity: int, bit_error_rate: float) -> float:
    """Returns the probability that a codeword has more wrong bytes than half its parity."""
    wrong = -math.expm1(8 * math.log1p(-bit_error_rate))
    most = parity // 2
    terms = (math.comb(length, k) * wrong**k * (1 - wrong) ** (length - k) for k in range(length, most, -1))
    return math.fsum(terms)


def residual(parity: int, bit_error_rate: float) -> float:
    """Returns the loss of packets that a code leaves."""
    full, rest = divmod(LENGTH, LONGEST - parity)
    words = [LONGEST] * full + ([rest + parity] if rest else [])
    return -math.expm1(math.fsum(math.log1p(-tail(word, parity, bit_error_rate)) for word in words))


def weakest(bit_error_rate: float) -> int:
    """Returns the least parity that leaves a loss of `LOSS`."""
    return next(parity for parity in range(2, 130, 2) if residual(parity, bit_error_rate) <= LOSS)


def coded(parity: int) -> int:
    """Returns the bytes of a packet with its parity."""
    return LENGTH + math.ceil(LENGTH / (LONGEST - parity)) * parity


def run(coding: dict[str, Any], bit_error_rate: float, duration: str = "20 s", seed: int = 1, **keys: Any) -> Result:
    """Returns a run of 6.4 Mbit/s of packets over a link of 16 Mbit/s."""
    link = lab.wire(rate="16 Mbit/s", delay="10 ms", bit_error_rate=bit_error_rate, coding=coding)
    flow = lab.datagrams({"rate": "6.4 Mbit/s"}, stop="60 s")
    return lab.run(duration, link, flow, record="packets series", seed=seed, **keys)


def lost(parity: int, bit_error_rate: float, seed: int) -> float:
    """Returns the share of packets that a fixed code does not save."""
    rows = lab.packets(run({"parity": parity}, bit_error_rate, seed=seed))
    return float(np.mean(~rows["delivered"][:10_000]))


@cache
def steps() -> Result:
    """Returns a run with an adaptive code through the steps."""
    changes = [{"at": f"{at} s", "link": "l", "bit_error_rate": rate} for at, rate in STEPS[1:]]
    return run({"loss": LOSS}, STEPS[0][1], "61 s", changes=changes)


def parity(result: Result, begin: float, end: float) -> float:
    """Returns the parity that a direction had for most of a time."""
    times, values = lab.series(result, "parity", "link l down")
    lasted = np.diff(np.clip(np.append(times, end), begin, end))
    return max(set(values.tolist()), key=lambda value: float(np.sum(lasted[values == value])))


def coding() -> Iterator[Row]:
    """Yields rows on link coding."""
    page = "link-coding"
    for strength, rate in ((2, 1e-4), (8, 5e-4), (16, 1.5e-3), (32, 4e-3)):
        ours = lab.over_seeds(lambda seed, strength=strength, rate=rate: lost(strength, rate, seed))
        expected = residual(strength, rate)
        tolerance = 3 * math.sqrt((1 - expected) / expected / 1e5)
        what = f"loss with {strength} B of parity at a bit error rate of {rate:g}"
        source = "closed form: binomial tail of wrong bytes in six or seven codewords"
        reason = "three standard errors of 100,000 packets (binomial)"
        yield Row(f"coding.loss.{strength}", page, what, "", ours, expected, source, tolerance, reason)
    for rate in (2e-5, 1e-4, 1e-3, 3e-3):
        ours = parity(run({"loss": LOSS}, rate), 5, 20)
        source = "closed form: least parity with a loss of at most 1e-3"
        what = f"parity by the measured bit error rate, {rate:g}"
        reason = "a step of 2 B at 18 B; the estimate varies by some per cent"
        yield Row(f"coding.parity.{rate:g}", page, what, "B", ours, weakest(rate), source, 2 / 18, reason)
    for strength in (2, 32):
        flow = lab.datagrams({"rate": "20 Mbit/s"})
        link = lab.wire(rate="8 Mbit/s", delay="10 ms", coding={"parity": strength})
        ours = lab.goodput(lab.run("20 s", link, flow, record="series"), 1, 19)
        expected = 8e6 * (LENGTH - 28) / coded(strength)
        source = f"closed form: 8 Mbit/s · 1472 B / {coded(strength)} B"
        what = f"goodput with {strength} B of parity"
        yield Row(f"coding.goodput.{strength}", page, what, "bit/s", ours, expected, source, 1e-3, "a packet")
    rows = lab.packets(steps())
    for (begin, rate), end in zip(STEPS, (20, 40, 60), strict=True):
        within = (begin + 2 <= rows["sent"]) & (rows["sent"] < end)
        ours = float(np.mean(~rows["delivered"][within]))
        source = "no more than the loss for which the code is chosen"
        what = f"loss between {begin + 2} and {end} s, at {rate:g}"
        yield Row(f"coding.step.{begin}", page, what, "", ours, 0, source, LOSS, "that loss, 1e-3")


CASES: dict[str, Any] = {"coding": coding}
