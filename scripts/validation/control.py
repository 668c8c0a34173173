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
    """Returns the goodput under random loss, as a window in segments: goodput · round trip / segment."""
    settings = {**WIDE, "recovery": recovery, "sack": recovery == "sack"}
    settings["initial_slow_start_threshold"] = f"{200 * SEGMENT} B"  # else the first loss comes late and far up
    transfer = lab.flow(transport=lab.tcp(congestion=congestion, **settings))
    link = lab.wire(**LONG, down={"packet_error_rate": loss})
    rate = lab.first(lab.run(f"{seconds} s", link, transfer, seed=seed))["goodput_bps"]
    return float(rate) * ROUND_TRIP / (SEGMENT * 8)


def square_root(loss: float) -> float:
    """Returns the square-root law of Mathis, Semke, Mahdavi and Ott 1997: C / √p with C = 1.31 for random loss and
    every segment acknowledged."""
    return 1.31 / math.sqrt(loss)


def rfc5348(loss: float, timeout: float = 1.0) -> float:
    """Returns the throughput equation of RFC 5348 section 3.1 (Padhye and others 1998), every segment acknowledged."""
    repair = ROUND_TRIP * math.sqrt(2 * loss / 3)
    waits = timeout * 3 * math.sqrt(3 * loss / 8) * loss * (1 + 32 * loss**2)
    return ROUND_TRIP / (repair + waits)


def rfc9438(loss: float) -> float:
    """Returns CUBIC's mean window under evenly spaced losses (RFC 9438 section 5.1, equation 5)."""
    scale, beta = 0.4, 0.7
    return (scale * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (ROUND_TRIP / loss) ** 0.75


def rfc9438_random(loss: float) -> float:
    """Returns CUBIC's mean window under random losses: the window function of RFC 9438 (sections 4.2, 4.3, 4.6 and
    4.7), advanced round by round by a few lines of its own, each round losing with probability 1 - (1 - p)^window."""
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


def kelly(loss: float) -> float:
    """Returns Scalable TCP's mean window under random loss. For a window that grows by a for each segment and loses the
    share b with probability p for each, the mean logarithm stands still if a · mean(1 / W) = p · ln(1 / (1 - b))."""
    return 0.01 / (loss * math.log(1 / 0.875))


def hybla_law(loss: float) -> float:
    """Returns the square-root law times the ratio of 100 ms to 25 ms: 4² segments a round trip instead of one."""
    return 4 * square_root(loss)


def bic_step(window: float, largest: float) -> float:
    """Returns BIC's growth in a round trip (Xu, Harfoush and Rhee 2004), with S_min 0.01 and S_max 32."""
    return min(max((largest - window) / 2 if window < largest else window - largest, 0.01), 32)


def bic_random(loss: float) -> float:
    """Returns BIC's mean window under random losses, advanced round by round, as in `rfc9438_random`."""
    chance = np.random.default_rng(1)
    window, largest, sent, rounds = 100.0, 100.0, 0.0, 200_000
    for _ in range(rounds):
        if chance.random() < 1 - (1 - loss) ** window:
            largest = window * (1.875 / 2 if window < largest else 1)
            window = max(0.875 * window, 2)
        else:
            window += bic_step(window, largest) if window >= 14 else 1
        sent += window
    return sent / rounds


def random_loss() -> Iterator[Row]:
    """Yields rows on mean windows under random loss."""
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
        ("scalable", "sack", 1e-3, kelly, "a / (p ln(1 / (1 - b))) (Kelly 2003)", "congestion-scalable", 0.06, ""),
        ("bic", "sack", 1e-3, bic_random, "BIC's growth (2004), advanced by the round trip", "congestion-bic", 0.1, ""),
        ("hybla", "sack", 1e-4, hybla_law, "the square-root law times 100 ms / 25 ms", "congestion-hybla", 0.1, ""),
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
    """Yields rows on a combination that no profile has: NewReno's recovery while the peer reports SACK blocks."""
    link = lab.wire(**LONG, down={"packet_error_rate": 1e-2})
    transfer = lab.flow(transport=lab.tcp(congestion="newreno", recovery="newreno", sack=True, **WIDE))
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
def snack_window(loss: float, snack: bool, seed: int, seconds: int = 200) -> float:
    """Returns the same as `constant`, for SCPS-TP's Van Jacobson variant, with or without SNACK."""
    size = SEGMENT - 12  # timestamps
    settings = {**WIDE, "snack": snack, "initial_slow_start_threshold": f"{200 * size} B"}
    transfer = lab.flow(transport={"profile": "scps-tp", "congestion": "newreno", **settings})
    link = lab.wire(**LONG, down={"packet_error_rate": loss})
    rate = lab.first(lab.run(f"{seconds} s", link, transfer, seed=seed))["goodput_bps"]
    return float(rate) * ROUND_TRIP / (size * 8)


def scps() -> Iterator[Row]:
    """Yields rows on SCPS-TP's SNACK and rate control."""
    for loss, oracle, source, tolerance in (
        (1e-3, square_root, "square-root law (Mathis and others 1997)", 0.06),
        (1e-2, rfc5348, "throughput equation of RFC 5348, timeout 1 s", 0.15),
    ):
        yield Row(
            f"scps.snack.{loss:g}",
            "profile-scps-tp",
            f"mean window at random loss {loss:g}, SNACK",
            "segments",
            lab.over_seeds(lambda seed, loss=loss: snack_window(loss, True, seed)),
            oracle(loss),
            source,
            tolerance,
            "as for the other recoveries, `loss.newreno`",
            "The equation charges timeouts to a share of the losses, as for a stack of 1998; SNACK needs few.",
        )
    transfer = lab.flow(transport={"profile": "scps-tp", "rate_limit": "2 Mbit/s", **WIDE})
    result = lab.run("60 s", lab.wire(rate="5 Mbit/s", delay="290 ms"), transfer, record="series")
    yield Row(
        "scps.rate",
        "profile-scps-tp",
        "goodput with `rate_limit` 2 Mbit/s, 10 to 60 s",
        "bit/s",
        lab.goodput(result, 10, 60),
        2e6 * 1448 / 1500,
        "closed form: the payload's share of a packet",
        0.001,
        "whole packets in 50 s",
    )


@cache
def one_loss(congestion: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Returns the congestion window in segments over time, from a single loss on, and the window at the loss."""
    settings = {**WIDE, "initial_slow_start_threshold": f"{200 * SEGMENT} B"}
    transfer = lab.flow(transport=lab.tcp(congestion=congestion, **settings))
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
    """Returns CUBIC's window by RFC 9438: C (t - K)³ + the window at the loss, in segments, t since the loss was
    repaired."""
    reach = (at_loss * 0.3 / 0.4) ** (1 / 3)
    curve: np.ndarray = 0.4 * (seconds - reach) ** 3 + at_loss
    return curve


def after_a_loss() -> Iterator[Row]:
    """Yields rows on the window after one loss."""
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


def reno_growth(seconds: np.ndarray, at_loss: float) -> np.ndarray:
    """Returns Reno's window by RFC 5681: half, then a segment each round trip."""
    grown: np.ndarray = at_loss / 2 + seconds / ROUND_TRIP
    return grown


def scalable_growth(seconds: np.ndarray, at_loss: float) -> np.ndarray:
    """Returns Scalable TCP's window by Kelly 2003: seven eighths, then a hundredth more each round trip."""
    grown: np.ndarray = 0.875 * at_loss * 1.01 ** (seconds / ROUND_TRIP)
    return grown


def bic_growth(seconds: np.ndarray, at_loss: float) -> np.ndarray:
    """Returns BIC's window by Xu, Harfoush and Rhee 2004: seven eighths, then the steps of its search, straight within
    a round trip."""
    windows = [0.875 * at_loss]
    while len(windows) < np.max(seconds) / ROUND_TRIP + 2:
        windows.append(windows[-1] + bic_step(windows[-1], at_loss))
    return np.interp(seconds / ROUND_TRIP, range(len(windows)), windows)


def hybla_growth(seconds: np.ndarray, at_loss: float) -> np.ndarray:
    """Returns Hybla's window by Caini and Firrincieli 2004: half, then (100 ms / 25 ms)² = 16 segments each round trip
    of 100 ms."""
    grown: np.ndarray = at_loss / 2 + 16 * seconds / ROUND_TRIP
    return grown


def westwood_growth(seconds: np.ndarray, at_loss: float) -> np.ndarray:
    """Returns Westwood's window by Mascolo and others 2004. On a path without a queue the threshold is the estimate of
    the window, which lags nine round trips behind one that grows by a segment in each, by its memory of nine tenths,
    and one by the measurement. Then Reno's growth."""
    grown: np.ndarray = at_loss - 10 + seconds / ROUND_TRIP
    return grown


GROWTHS = {
    "scalable": (scalable_growth, "1.01^n (Kelly 2003)"),
    "bic": (bic_growth, "binary search and probing (2004)"),
    "hybla": (hybla_growth, "(RTT / 25 ms)² segments each round trip (2004)"),
    "westwood": (westwood_growth, "bandwidth · round trip, then a segment each (2004)"),
}
"""The window a time after a loss, in segments, by the papers, and in a few words."""


def laws_after_a_loss() -> Iterator[Row]:
    """Yields rows on the windows of the other laws after one loss."""
    for congestion, (law, source) in GROWTHS.items():
        times, window, at_loss = one_loss(congestion)
        for seconds in (0, 1, 3, 10):
            yield Row(
                f"after-loss.{congestion}.{seconds}",
                f"congestion-{congestion}",
                f"window {seconds} s after one loss" if seconds else "window after one loss",
                "segments",
                lab.at(times, window, times[1] + seconds) if seconds else float(window[0]),
                float(law(np.array([float(seconds)]), at_loss)[0]),
                source,
                0.03,
                "up to a round trip from the loss to the first growth, and 12 µs more than 100 ms in each",
            )


@cache
def vegas_queue() -> tuple[np.ndarray, np.ndarray]:
    """Returns Vegas's window in segments over time, on a path of 5 Mbit/s and 100 ms whose queue it need not fill."""
    link = lab.wire(rate="5 Mbit/s", delay="50 ms", queue="250 packets")
    result = lab.run("120 s", link, lab.flow(transport=lab.tcp(congestion="vegas", **WIDE)), record="series")
    times, window = lab.series(result, "congestion window")
    return times, window / SEGMENT


VEGAS_PIPE = 5e6 * (0.1 + (1500 + 40) * 8 / 5e6) / (1500 * 8)
"""Segments that the path of `vegas_queue` holds, the one in service and its acknowledgment included."""


def vegas() -> Iterator[Row]:
    """Yields rows on Vegas's equilibrium."""
    times, window = vegas_queue()
    waiting = float(np.mean([lab.at(times, window, second) for second in range(60, 120)])) - VEGAS_PIPE
    yield Row(
        "vegas.waiting",
        "congestion-vegas",
        "segments in the queue, 60 to 120 s",
        "segments",
        waiting,
        3.0,
        "Brakmo and Peterson 1995: between alpha = 2 and beta = 4",
        0.34,
        "anywhere between alpha and beta",
    )


@cache
def in_python(congestion: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the congestion window over time on a path with losses."""
    link = lab.wire(rate="2 Mbit/s", delay="30 ms", queue="12 packets", packet_error_rate=0.002)
    return lab.series(
        lab.run("60 s", link, lab.flow(transport=lab.tcp(congestion=congestion)), record="series"), "congestion window"
    )


def python() -> Iterator[Row]:
    """Yields rows on a Reno written in Python and the built-in one."""
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
    "laws-after-loss": laws_after_a_loss,
    "vegas": vegas,
    "scps": scps,
    "python": python,
}
