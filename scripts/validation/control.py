"""Congestion controls against their laws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from validation import lab
from validation.row import Row

SEGMENT, ROUND_TRIP = 1460, 0.1
WIDE = {"receive_buffer": "64 MiB", "send_buffer": "64 MiB", "delayed_ack": "off"}
"""Settings under which only the congestion window limits a sender, and every segment is acknowledged."""
LONG = {"rate": "1 Gbit/s", "delay": "50 ms", "queue": "100000 packets"}


@cache
def constant(congestion: str, recovery: str, loss: float, seed: int, seconds: int = 500) -> float:
    """Goodput under random loss, as a window in segments: goodput · round trip / segment."""
    settings = {**WIDE, "recovery": recovery, "sack": recovery == "sack"}
    settings["initial_slow_start_threshold"] = f"{200 * SEGMENT} B"  # else the first loss comes late and far up
    transfer = lab.flow(congestion=congestion, tcp=settings)
    link = lab.wire(**LONG, down={"packet_error_rate": loss})
    rate = lab.first(lab.run(f"{seconds} s", link, transfer, seed=seed))["goodput_bps"]
    return float(rate) * ROUND_TRIP / (SEGMENT * 8)


def square_root(loss: float) -> float:
    """Mathis, Semke, Mahdavi and Ott 1997: C / √p with C = 1.31 for random loss and every segment acknowledged."""
    return 1.31 / math.sqrt(loss)


def rfc5348(loss: float, timeout: float = 1.0) -> float:
    """The throughput equation of RFC 5348 section 3.1 (Padhye and others 1998), every segment acknowledged."""
    repair = ROUND_TRIP * math.sqrt(2 * loss / 3)
    waits = timeout * 3 * math.sqrt(3 * loss / 8) * loss * (1 + 32 * loss**2)
    return ROUND_TRIP / (repair + waits)


def rfc9438(loss: float) -> float:
    """CUBIC's mean window under evenly spaced losses (RFC 9438 section 5.1, equation 5)."""
    scale, beta = 0.4, 0.7
    return (scale * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (ROUND_TRIP / loss) ** 0.75


def rfc9438_random(loss: float) -> float:
    """CUBIC's mean window under random losses: the window function of RFC 9438 (sections 4.2, 4.3, 4.6 and 4.7),
    advanced round by round by a few lines of its own, each round losing with probability 1 - (1 - p)^window."""
    chance = np.random.default_rng(1)
    window = largest = 100.0
    begun, sent, rounds = 0, 0.0, 200_000
    friendly = 70.0
    for now in range(rounds):
        if chance.random() < 1 - (1 - loss) ** window:
            largest = window * (1.7 / 2 if window < largest else 1)
            start = friendly = window = max(0.7 * window, 2)
            reach = ((largest - start) / 0.4) ** (1 / 3)
            begun = now
            sent += window
            continue
        if now == 0:
            start, reach = 70.0, ((largest - 70) / 0.4) ** (1 / 3)
        friendly += 3 * 0.3 / 1.7 if friendly < largest else 1
        curve = 0.4 * ((now - begun) * ROUND_TRIP - reach) ** 3 + largest
        window = max(curve, friendly, start)
        sent += window
    return sent / rounds


def random_loss() -> Iterator[Row]:
    """Mean windows under random loss."""
    law = "square-root law (Mathis and others 1997)"
    equation = "throughput equation of RFC 5348, timeout 1 s"
    above = (
        "The equation charges timeouts to a share of the losses as for a stack of 1998; selective acknowledgments"
        " repair most of them without one."
    )
    cubic = "window function of RFC 9438 under random losses, advanced by the round trip"
    cases = [
        ("reno", "sack", 1e-3, square_root, law, "profile-rfc", 0.06, ""),
        ("reno", "sack", 1e-2, rfc5348, equation, "profile-rfc", 0.15, above),
        ("reno", "sack", 5e-2, rfc5348, equation, "profile-rfc", 0.15, above),
        ("reno", "reno", 1e-3, square_root, law, "congestion-reno", 0.06, ""),
        ("reno", "reno", 1e-2, rfc5348, equation, "congestion-reno", 0.15, ""),
        ("newreno", "newreno", 1e-3, square_root, law, "congestion-newreno", 0.06, ""),
        ("newreno", "newreno", 1e-2, rfc5348, equation, "congestion-newreno", 0.15, ""),
        ("cubic", "sack", 1e-3, rfc9438_random, cubic, "congestion-cubic", 0.06, ""),
        ("cubic", "sack", 1e-4, rfc9438_random, cubic, "congestion-cubic", 0.1, ""),
    ]
    for congestion, recovery, loss, oracle, source, page, tolerance, cause in cases:
        values = lab.over_seeds(
            lambda seed, congestion=congestion, recovery=recovery, loss=loss: constant(congestion, recovery, loss, seed)
        )
        reason = "the law knows no timeouts and no round trips of recovery; three standard errors of ten runs"
        yield Row(
            f"loss.{congestion}.{recovery}.{loss:g}",
            page,
            f"mean window at random loss {loss:g}, `{recovery}` recovery",
            "segments",
            values,
            oracle(loss),
            source,
            tolerance,
            reason,
            cause,
        )


def sack_ignored() -> Iterator[Row]:
    """A combination that no profile has: NewReno's recovery while the peer reports what it has."""
    link = lab.wire(**LONG, down={"packet_error_rate": 1e-2})
    transfer = lab.flow(congestion="newreno", tcp={**WIDE, "recovery": "newreno", "sack": True})
    rate = lab.over_seeds(
        lambda seed: lab.first(lab.run("100 s", link, transfer, seed=seed))["goodput_bps"], range(1, 4)
    )
    ours = [one * ROUND_TRIP / (SEGMENT * 8) for one in rate]
    yield Row(
        "loss.sack-ignored",
        "congestion-newreno",
        "mean window at random loss 0.01, `newreno` recovery with `sack = true`",
        "segments",
        ours,
        rfc5348(1e-2),
        "throughput equation of RFC 5348, timeout 1 s",
        0.15,
        "as above",
    )


@cache
def one_loss(congestion: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Congestion window in segments over time, from a single loss on, and the window at the loss."""
    settings = {**WIDE, "initial_slow_start_threshold": f"{200 * SEGMENT} B"}
    transfer = lab.flow(congestion=congestion, tcp=settings)
    clean = lab.packets(lab.run("5 s", lab.wire(**LONG), transfer, record="packets"))
    chosen = np.flatnonzero((clean["sent"] > 4) & (clean["payload"] > 0))[0]
    left = round((clean["decided"][chosen] - 0.05) * 1e9)  # when its last bit leaves
    changes = [
        {"at": f"{left - 500} ns", "link": "l", "down": {"packet_error_rate": 1.0}},
        {"at": f"{left + 500} ns", "link": "l", "down": {"packet_error_rate": 0.0}},
    ]
    result = lab.run("30 s", lab.wire(**LONG), transfer, record="series", changes=changes)
    assert lab.first(result)["retransmitted"] == 1
    times, window = lab.series(result, "congestion window")
    flight = lab.series(result, "bytes in flight")
    drop = np.flatnonzero((np.diff(window) < 0) & (times[1:] > 4))[0] + 1
    at_loss = flight[1][np.searchsorted(flight[0], times[drop], side="left") - 1]
    after = times >= times[drop]
    return times[after], window[after] / SEGMENT, float(max(at_loss, window[drop - 1])) / SEGMENT


def cubic_window(seconds: np.ndarray, at_loss: float) -> np.ndarray:
    """RFC 9438: C (t - K)³ + the window at the loss, in segments, t since the loss was repaired."""
    reach = (at_loss * 0.3 / 0.4) ** (1 / 3)
    curve: np.ndarray = 0.4 * (seconds - reach) ** 3 + at_loss
    return curve


def after_a_loss() -> Iterator[Row]:
    """The window after one loss."""
    for congestion in ("reno", "newreno"):
        times, window, at_loss = one_loss(congestion)
        page = f"congestion-{congestion}"
        yield Row(
            f"after-loss.{congestion}.halved",
            page,
            "window after one loss",
            "segments",
            float(window[0]),
            at_loss / 2,
            "RFC 5681: half of what was in flight",
            0.01,
            "whole segments",
        )
        begin, end = times[0] + 5, times[0] + 25
        slope = (lab.at(times, window, end) - lab.at(times, window, begin)) / (20 / ROUND_TRIP)
        yield Row(
            f"after-loss.{congestion}.growth",
            page,
            "growth in congestion avoidance",
            "segments per round trip",
            slope,
            1.0,
            "RFC 5681: one segment",
            0.01,
            "whole segments, and 12 µs more than 100 ms a round trip",
        )
    times, window, at_loss = one_loss("cubic")
    for seconds in (5.6, 10, 20):
        oracle = float(cubic_window(np.array(seconds), at_loss))
        yield Row(
            f"after-loss.cubic.{seconds}",
            "congestion-cubic",
            f"window {seconds} s after one loss",
            "segments",
            lab.at(times, window, times[1] + seconds),
            oracle,
            "RFC 9438: C (t - K)³ + W_max",
            0.03,
            "the window follows the function a round trip behind",
        )


@cache
def in_python(congestion: str) -> tuple[np.ndarray, np.ndarray]:
    """Congestion window over time on a path with losses."""
    link = lab.wire(rate="2 Mbit/s", delay="30 ms", queue="12 packets", packet_error_rate=0.002)
    return lab.series(lab.run("60 s", link, lab.flow(congestion=congestion), record="series"), "congestion window")


def python() -> Iterator[Row]:
    """A Reno written in Python and the built-in one."""
    (times, ours), (same_times, oracle) = in_python("python:validation.reno.Reno"), in_python("reno")
    same = len(times) == len(same_times) and bool(np.all(times == same_times))
    worst = float(np.max(np.abs(ours - oracle))) if same else math.inf
    yield Row(
        "python.reno",
        "congestion-python",
        "largest difference of the window over 60 s",
        "B",
        worst,
        0.0,
        "built-in `reno` on the same path",
        0.0,
        "the same rules in the same engine",
    )


CASES: dict[str, Any] = {
    "random-loss": random_loss,
    "sack-ignored": sack_ignored,
    "after-loss": after_a_loss,
    "python": python,
}
