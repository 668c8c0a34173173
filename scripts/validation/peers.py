"""Other implementations of the same thing: figures that were measured with them, beside ours under their settings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

from baton import Result
from validation import lab
from validation.row import Row

HOPS = {
    "links": {
        "near": {
            "between": ["s", "a"],
            "kind": "wired",
            "rate": "500 Mbit/s",
            "delay": "0.5 ms",
            "queue": "1000 packets",
        },
        "far": {
            "between": ["b", "c"],
            "kind": "wired",
            "rate": "500 Mbit/s",
            "delay": "0.5 ms",
            "queue": "1000 packets",
        },
    }
}
LARGE = {"receive_buffer": "16 MiB", "send_buffer": "16 MiB"}


@cache
def long_path(congestion: str) -> Result:
    """Runs 1000 s over three hops, the middle one with 5 Mbit/s, 288 ms and 250 packets."""
    transfer = lab.flow(transport=lab.tcp(congestion=congestion, **LARGE), **{"from": "s", "to": "c"})
    return lab.run(
        "1000 s", lab.wire(rate="5 Mbit/s", delay="288 ms", queue="250 packets"), transfer, record="series", **HOPS
    )


def ns3_transfer() -> Iterator[Row]:
    """Yields rows on steady goodput over a long path."""
    source = "ns-3 3.48, 3 hops, 5 Mbit/s, 289 ms, queue 250, MSS 1460, SACK; 100 to 1000 s"
    reason = "another implementation of recovery and another overshoot of slow start: a comparison, not an oracle"
    causes = {
        "newreno": "ns-3 has two timeouts, and its window starts anew after each. Ours has none: the window goes from"
        " 493 segments, where the queue is full, to 246, more than the path holds, so that the queue is never empty.",
        "cubic": "ns-3 has 44 timeouts, and its window starts anew after each. Ours has none: the window stays between"
        " 360 and 540 segments, and the path holds 242.",
        "bic": "ns-3 has 40 timeouts, from its loss recovery, and its window starts anew after each (S_max is 16, and"
        " it keeps four fifths). Ours has one, in the overshoot of slow start at 14 s; later the window stays between"
        " 430 and 530 segments, and the path holds 242.",
        "scalable": "ns-3 has 46 timeouts, from its loss recovery, and its window starts anew after each. Ours has one,"
        " in the overshoot of slow start at 14 s; later the window goes from 497 segments to 435 and back in 17 s.",
    }
    theirs = {"newreno": 4.576e6, "cubic": 4.609e6, "bic": 4.313e6, "scalable": 4.098e6, "westwood": 4.792e6}
    for congestion, oracle in theirs.items():
        ours = lab.goodput(long_path(congestion), 100, 1000)
        yield Row(
            f"ns3.goodput.{congestion}",
            f"congestion-{congestion}",
            "goodput over 5 Mbit/s and 289 ms",
            "bit/s",
            ours,
            oracle,
            source,
            0.05,
            reason,
            causes.get(congestion, ""),
        )


@cache
def first_bytes(loss: float, runs: int) -> list[float]:
    """Returns the seconds from opening a connection to its first byte at the other end, one per seed."""
    link = lab.wire(rate="10 Mbit/s", delay="5 ms", packet_error_rate=loss)
    settings = {"initial_rto": "3 s", "minimum_rto": "1 s", "syn_retries": 20}  # the first two are ns-3's
    case = lab.scenario("1 h", link, lab.flow(transport=lab.tcp(**settings), traffic={"bytes": "1 B"}))
    return lab.over_seeds(lambda seed: float(lab.first(case.run(seed=seed))["completion_s"]), range(1, runs + 1))


def ns3_connect() -> Iterator[Row]:
    """Yields rows on opening a connection under loss."""
    reason = "three standard errors of 5,000 runs; without loss the size of the first segment"
    cause = (
        "A listener here repeats its SYN-ACK by a timer of its own (RFC 9293), so that a lost one is repeated twice as"
        " often; ns-3's figures are those of the client's timer alone, 3 s doubled."
    )
    for loss, oracle in ((0.0, 0.0163), (0.05, 0.416), (0.1, 1.04), (0.2, 3.47)):
        ours = first_bytes(loss, 5_000 if loss else 1)
        source = "ns-3 3.48, 10 Mbit/s, 5 ms, loss both ways, 10,000 runs"
        yield Row(
            f"ns3.connect.{loss}",
            "profile-rfc",
            f"opening to first byte, loss {loss:g}",
            "s",
            ours,
            oracle,
            source,
            0.1,
            reason,
            cause,
        )


@cache
def udp_goodput(bit_error_rate: float, seed: int) -> float:
    """Returns the payload per second of 1 MB at 4.416 Mbit/s, over the time until its last byte arrives."""
    link = lab.wire(rate="5 Mbit/s", delay="10 ms", bit_error_rate=bit_error_rate)
    stream = lab.datagrams({"rate": "4.416 Mbit/s", "bytes": "1 MB"})
    rows = lab.packets(lab.run("5 s", link, stream, record="packets", seed=seed))
    there = rows["delivered"]
    return float(rows["payload"][there].sum() * 8 / rows["decided"][there].max())


def ns3_udp() -> Iterator[Row]:
    """Yields rows on UDP under bit errors."""
    for rate, oracle in ((0.0, 4.392e6), (1e-5, 3.903e6), (3.5e-5, 2.901e6), (5e-5, 2.407e6), (1e-4, 1.319e6)):
        ours = lab.over_seeds(lambda seed, rate=rate: udp_goodput(rate, seed))
        passes = (1 - rate) ** 12_000
        tolerance = 0.005 + 3 * math.sqrt((1 - passes) / passes / 680)
        yield Row(
            f"ns3.udp.{rate:g}",
            "channel-bit-errors",
            f"UDP goodput at a bit error rate of {rate:g}",
            "bit/s",
            ours,
            oracle,
            "ns-3 3.48, 1 MB at 4.416 Mbit/s over 5 Mbit/s, its own headers in error too",
            tolerance,
            "three standard errors of one run of 680 packets, as theirs may be, and 0.5 % for headers",
        )


KERNEL = "Linux 6.18, emulated 5 Mbit/s, 290 ms, queue 250, defaults, 60 s"
BBR_SLOWER = (
    "The kernel's round-trip times scatter by microseconds: it sees a new shortest now and then, and pauses three times"
    " in the minute. A simulated path repeats itself, and BBR pauses every eleven seconds; with any jitter it does as"
    " the kernel."
)
BBR_TIMEOUT = (
    "The kernel's run that is compared had none. Each of five runs over the same path that `baton fidelity` made"
    " (steady-5M-290ms) had one."
)


@cache
def kernel_run(congestion: str) -> Result:
    """Runs 60 s of the profile `linux-6` over 5 Mbit/s, 290 ms and 250 packets."""
    link = lab.wire(rate="5 Mbit/s", delay="290 ms", queue="250 packets")
    transfer = lab.flow(transport={"profile": "linux-6", "congestion": congestion})
    return lab.run("60 s", link, transfer, record="series")


def kernel_transfer() -> Iterator[Row]:
    """Yields rows on a minute over a long path."""
    measured = {
        "reno": (4.558e6, 4.827e6, 494, 985),
        "cubic": (4.558e6, 4.827e6, 343, 665),
        "bbr": (4.25e6, 4.62e6, 428, 722),
    }
    reason = "the kernel's own runs differ by some per cent (its BBR by six)"
    for congestion, (whole, late, resent, largest) in measured.items():
        result = kernel_run(congestion)
        window = lab.series(result, "congestion window")[1].max() / 1448
        rows = [
            ("goodput", "goodput, 0 to 60 s", "bit/s", lab.first(result)["goodput_bps"], whole),
            ("late", "goodput, 30 to 60 s", "bit/s", lab.goodput(result, 30, 60), late),
            ("resent", "segments sent again", "segments", lab.first(result)["retransmitted"], resent),
            ("window", "largest window", "segments", window, largest),
            ("timeouts", "timeouts", "", lab.first(result)["timeouts"], 0),
        ]
        for name, what, unit, ours, oracle in rows:
            yield Row(
                f"kernel.{congestion}.{name}",
                "congestion-bbr" if congestion == "bbr" else "profile-linux-6",
                f"{what}, `{congestion}`",
                unit,
                float(ours),
                oracle,
                KERNEL,
                0.05,
                reason,
                "" if congestion != "bbr" else BBR_TIMEOUT if name == "timeouts" else BBR_SLOWER,
            )


SLOW_KERNEL = (
    "Linux 6.18, 110 kB over 31.5 kbit/s, round trip 0.3 s, MSS 1024, window 6 kB, Reno without SACK, timestamps,"
    " RACK, TLP and F-RTO"
)


@cache
def slow_transfer(outage: float) -> Result:
    """Transfers 110 kB over a slow link that is down for a while in the middle of the transfer."""
    link = lab.wire(rate="31.5 kbit/s", delay="150 ms", queue="100 packets")
    settings = {"maximum_segment_size": "1024 B", "receive_buffer": "6144 B"}
    changes = [
        {"at": "15 s", "link": "l", "state": "down"},
        {"at": f"{15 + outage} s", "link": "l", "state": "up"},
    ]
    transfer = lab.flow(transport={"profile": "classic", "congestion": "reno", **settings}, traffic={"bytes": "110 kB"})
    return lab.run("120 s", link, transfer, record="series packets", changes=changes if outage else [])


def kernel_slow() -> Iterator[Row]:
    """Yields rows on a small window over a slow link, whole and broken."""
    reason = "where in the transfer the link broke was not recorded to the second"
    for outage, oracle in ((0.0, 29.71), (0.8, 33.0), (2.2, 33.0)):
        ours = float(lab.first(slow_transfer(outage))["completion_s"])
        what = f"with an outage of {outage:g} s" if outage else "undisturbed"
        yield Row(
            f"kernel.slow.{outage:g}",
            "profile-classic",
            f"110 kB, {what}",
            "s",
            ours,
            oracle,
            SLOW_KERNEL,
            0.05,
            reason,
        )
    timeout = lab.at(*lab.series(slow_transfer(0.0), "retransmission timeout"), 15)
    yield Row(
        "kernel.slow.rto",
        "profile-classic",
        "retransmission timeout in mid-transfer",
        "s",
        timeout,
        2.48,
        SLOW_KERNEL,
        0.05,
        "the round trip swings by a segment's time, 0.27 s of 1.6 s",
    )


NS3: dict[str, Any] = {"ns3-transfer": ns3_transfer, "ns3-connect": ns3_connect, "ns3-udp": ns3_udp}
KERNEL_CASES: dict[str, Any] = {"kernel-transfer": kernel_transfer, "kernel-slow": kernel_slow}
