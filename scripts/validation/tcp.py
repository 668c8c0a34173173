"""TCP's timers and start, profile by profile."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from validation import lab
from validation.row import Row

EXACT, EXACTLY = 1e-6, "deterministic"
KERNEL_SYN = "Linux documents 67 s until the last SYN (ip-sysctl: tcp_syn_retries, tcp_syn_linear_timeouts)"
LAST_SYN = {
    "rfc": (63, "RFC 9293 and RFC 6298: 1 s, doubled six times"),
    "ns2": (153, "closed form: 3 s, doubled up to a ceiling of 60 s, six times"),
    "linux-2.0.36": (309, "closed form: 3 s, doubled up to a ceiling of 120 s, within 400 s"),
    "linux-6": (67, KERNEL_SYN),
    "classic": (67, KERNEL_SYN),
}


@cache
def syn_times(profile: str) -> np.ndarray:
    """Returns the times at which an unanswered connection sends its SYNs."""
    result = lab.run(
        "400 s", lab.wire(packet_error_rate=1.0), lab.flow(transport={"profile": profile}), record="packets"
    )
    times: np.ndarray = lab.packets(result)["sent"]
    return times


def syn() -> Iterator[Row]:
    """Yields rows on repeated SYNs."""
    for profile, (oracle, source) in LAST_SYN.items():
        cause = (
            "Linux's 67 s count timeouts as set. Its timer wheel lets long ones go off up to an eighth late, and so"
            " does the profile (`timer_wheel`)."
        )
        yield Row(
            f"syn.{profile}",
            f"profile-{profile}",
            "last SYN of an unanswered connection",
            "s",
            float(syn_times(profile)[-1]),
            oracle,
            source,
            EXACT,
            EXACTLY,
            cause,
        )


@cache
def timeouts() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the moments of round-trip samples, the timeout in force after each, and RFC 6298's timeouts from the
    samples."""
    link = lab.wire(rate="2 Mbit/s", delay="30 ms", queue="30 packets", jitter="20 ms")
    result = lab.run("20 s", link, lab.flow(transport=lab.tcp(minimum_rto="1 ms")), record="series")
    times, samples = lab.series(result, "round-trip time")
    states = lab.series(result, "retransmission timeout")
    last = np.append(np.diff(times) > 0, True)  # of several samples at a moment
    ours = states[1][np.searchsorted(states[0], times, side="right") - 1]
    return times[last], ours[last], rfc6298(samples)[last]


def rfc6298(samples: np.ndarray) -> np.ndarray:
    """Returns SRTT + 4 RTTVAR after each sample (sections 2.2 and 2.3), without bounds."""
    smoothed, deviation, out = samples[0], samples[0] / 2, []
    for number, sample in enumerate(samples):
        if number:
            deviation = 0.75 * deviation + 0.25 * abs(smoothed - sample)
            smoothed = 0.875 * smoothed + 0.125 * sample
        out.append(smoothed + 4 * deviation)
    return np.array(out)


def rto() -> Iterator[Row]:
    """Yields rows on the retransmission timeout."""
    _, ours, oracle = timeouts()
    worst = float(np.max(np.abs(ours - oracle)))
    yield Row(
        "rto.rfc6298",
        "profile-rfc",
        "largest difference of the timeout over 20 s",
        "s",
        worst,
        0.0,
        "RFC 6298 worked out from the same samples",
        1e-6,
        "rounding to nanoseconds adds up",
    )
    floors = {
        "rfc": (1.0, "RFC 6298 section 2.4: at least 1 s"),
        "ns2": (0.2, "ns-2's minrto_ of 200 ms"),
        "linux-6": (0.26, "the kernel's rule: smoothed round trip + max(4 · deviation, 200 ms)"),
        "classic": (0.26, "the kernel's rule: smoothed round trip + max(4 · deviation, 200 ms)"),
    }
    for profile, (floor, source) in floors.items():
        yield Row(
            f"rto.floor.{profile}",
            f"profile-{profile}",
            "timeout at a steady round trip of 60 ms",
            "s",
            settled_timeout(profile),
            floor,
            source,
            0.01,
            "the time on the line adds to the 60 ms",
        )


def settled_timeout(profile: str) -> float:
    """Returns the timeout after 60 s of small segments that never wait."""
    link = lab.wire(rate="100 Mbit/s", delay="30 ms")
    traffic = {"kind": "constant", "rate": "8 kbit/s", "packet_size": "100 B"}
    talk = lab.flow(transport={"profile": profile, "receiver": {"delayed_ack": "off"}}, traffic=traffic)
    return float(lab.series(lab.run("60 s", link, talk, record="series"), "retransmission timeout")[1][-1])


@cache
def completion(segments: int, initial_window: int) -> float:
    """Returns the seconds for a transfer over a round trip of 100 ms."""
    link = lab.wire(rate="1 Gbit/s", delay="50 ms", queue="100000 packets")
    settings = {"initial_window": initial_window, "delayed_ack": "off", "maximum_segment_size": "1000 B"}
    settings.update(receive_buffer="64 MiB", send_buffer="64 MiB")
    result = lab.run("20 s", link, lab.flow(transport=lab.tcp(**settings), traffic={"bytes": f"{segments} kB"}))
    return float(lab.first(result)["completion_s"])


def slow_start(segments: int, initial_window: int) -> float:
    """Computes slow start: a round trip for the handshake, one for each full window, and half of one for the last."""
    rounds = math.ceil(math.log2(segments / initial_window + 1))
    return 0.1 + 0.1 * (rounds - 1) + 0.05


def start() -> Iterator[Row]:
    """Yields rows on slow start's duration."""
    for profile, window in (("ns2", 2), ("rfc", 10)):
        for segments in (30, 300, 3000):
            yield Row(
                f"slow-start.{window}.{segments}",
                f"profile-{profile}",
                f"transfer of {segments} segments, initial window {window}",
                "s",
                completion(segments, window),
                slow_start(segments, window),
                "closed form: round trips of doubling windows",
                0.02,
                "at 8 µs a segment a window takes up to 20 ms to send",
            )


CASES: dict[str, Any] = {"syn": syn, "rto": rto, "slow-start": start}
