"""Gains of remedies that study T quotes from other papers (section 4, T11), each in a scenario of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from baton import Scenario
from baton.live.trials import Figures

#: Chosen: segments of the sweep, in bytes; 32 of the smallest fit the window, two of the largest.
SEGMENTS = (128, 512, 1024, 1460)
#: Chosen: retransmission by the base station until a packet arrives, 50 ms after each attempt.
RETRANSMISSION = 'links.radio.retransmission={ attempts = 1000, pause = "50 ms" }'
#: Chosen: bit error rates from one at which both do alike, doubled each time, to a loss of a sixth of all full packets.
BIT_ERRORS = (5e-7, 1e-6, 2e-6, 4e-6, 8e-6, 1.6e-5)
#: Chosen: delays of the wide area one way, in ms.
DISTANCES = (10, 50, 100, 200)


def quoted(folder: Path, seed: int) -> Figures:
    """Measures T11 with one seed."""
    return {**_ebsn(folder, seed), **_snoop(folder, seed), **_split(folder, seed), **_addresses(folder, seed)}


def _flow(file: Path, seed: int, overrides: Sequence[str]) -> dict[str, Any]:
    """Returns the summary of the only flow of a scenario."""
    flow: dict[str, Any] = Scenario.load(str(file), overrides=list(overrides)).run(seed=seed).summary["flows"][0]
    return flow


def _ebsn(folder: Path, seed: int) -> Figures:
    gains, alone, timeouts = [], [], 0
    for segment in SEGMENTS:
        size = f"flows.download.transport.maximum_segment_size={segment} B"
        plain, repeated, told = (
            _flow(folder / "quoted-ebsn.toml", seed, [size, *own])
            for own in ([], [RETRANSMISSION], [RETRANSMISSION, "flows.download.remedies=ebsn"])
        )
        gains.append(100 * (told["delivered_bytes"] / plain["delivered_bytes"] - 1))
        alone.append(100 * (repeated["delivered_bytes"] / plain["delivered_bytes"] - 1))
        timeouts += told["timeouts"]
    return {"T11.a": max(gains), "T11.b": max(alone), "T11.c": timeouts}


def _ratio(file: Path, seed: int, setting: str, remedy: str) -> float:
    """Returns what a download delivers with a remedy over what it delivers without."""
    plain, helped = (
        _flow(file, seed, [setting, f"flows.download.remedies={each}"])["delivered_bytes"] for each in ("none", remedy)
    )
    return float(helped / plain)


def _snoop(folder: Path, seed: int) -> Figures:
    file = folder / "quoted-snoop.toml"
    ratios = [_ratio(file, seed, f"links.wavelan.bit_error_rate={rate}", "snoop") for rate in BIT_ERRORS]
    return {"T11.d": max(ratios), "T11.e": ratios[0]}


def _split(folder: Path, seed: int) -> Figures:
    file = folder / "quoted-split.toml"
    delays = [f"links.internet.delay={delay_ms} ms" for delay_ms in DISTANCES]
    return {"T11.f": max(_ratio(file, seed, delay, "split-connection") for delay in delays)}


def _addresses(folder: Path, seed: int) -> Figures:
    """Measures handovers to WaveLAN with an address by DHCP, from the timetable's time to the registration reply."""

    def delay(check: str) -> float:
        mobility = [
            f"mobiles.mobile.mobility.{setting}" for setting in ("care_of_address=dhcp", f"conflict_check={check}")
        ]
        run = Scenario.load(str(folder / "download-back.toml"), overrides=mobility).run(seed=seed)
        handover = run.summary["handovers"][0]
        return float(handover["completed_s"] - handover["at_s"])

    return {"T11.g": 100 * (1 - delay("background") / delay("before"))}
