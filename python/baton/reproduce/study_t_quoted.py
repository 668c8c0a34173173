"""Gains of remedies that study T quotes from other papers (section 4, T11), each in a scenario of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from baton import Scenario
from baton.live.trials import Figures

#: Chosen: packets of the sweep of EBSN, in bytes with their headers of 40 B, between the least and the greatest of the
#: quoted paper.
PACKETS = (128, 256, 512, 768, 1024, 1536)
#: Chosen: time between attempts of the base station, which goes on until a packet arrives.
PAUSE = "50 ms"
#: Chosen: bit error rates from one at which both do alike, doubled each time, up to the quoted paper's one in 64 kbit.
BIT_ERRORS = (5e-7, 1e-6, 2e-6, 4e-6, 8e-6, 1.5e-5)
#: Chosen: the delay to a host of the local area. BSD's segments to it are full.
LOCAL = ["links.internet.delay=1 ms", "flows.download.transport.maximum_segment_size=1460 B"]


def quoted(folder: Path, seed: int) -> Figures:
    """Measures T11 with one seed."""
    return {**_ebsn(folder, seed), **_snoop(folder, seed), **_split(folder, seed), **_addresses(folder, seed)}


def _flow(file: Path, seed: int, overrides: Sequence[str]) -> dict[str, Any]:
    """Returns the summary of the only flow of a scenario."""
    flow: dict[str, Any] = Scenario.load(str(file), overrides=list(overrides)).run(seed=seed).summary["flows"][0]
    return flow


def _ebsn(folder: Path, seed: int) -> Figures:
    file = folder / "quoted-ebsn.toml"
    retransmission = f'links.radio.retransmission={{ attempts = 1000, pause = "{PAUSE}" }}'
    gains, alone, timeouts = [], [], 0
    for packet in PACKETS:
        size = f"flows.download.transport.maximum_segment_size={packet - 40} B"
        steady, plain, repeated, told = (
            _flow(file, seed, [size, *own])
            for own in (["changes=[]"], [], [retransmission], [retransmission, "flows.download.remedies=ebsn"])
        )
        gains.append(100 * (told["delivered_bytes"] / plain["delivered_bytes"] - 1))
        alone.append(100 * (repeated["delivered_bytes"] / plain["delivered_bytes"] - 1))
        # Without a bad state, too, the first full packets outlast a timeout that comes from the handshake.
        timeouts += told["timeouts"] - steady["timeouts"]
    return {"T11.a": max(gains), "T11.b": max(alone), "T11.c": timeouts}


def _ratio(file: Path, seed: int, settings: Sequence[str], remedy: str) -> float:
    """Returns what a download delivers with a remedy over what it delivers without."""
    plain, helped = (_flow(file, seed, [*settings, f"flows.download.remedies={each}"]) for each in ("none", remedy))
    return float(helped["delivered_bytes"] / plain["delivered_bytes"])


def _snoop(folder: Path, seed: int) -> Figures:
    file = folder / "quoted-snoop.toml"
    ratios = [_ratio(file, seed, [f"links.wavelan.bit_error_rate={rate}"], "snoop") for rate in BIT_ERRORS]
    return {"T11.d": max(ratios), "T11.e": ratios[0]}


def _split(folder: Path, seed: int) -> Figures:
    file = folder / "quoted-split.toml"
    return {"T11.f": max(_ratio(file, seed, area, "split-connection") for area in (LOCAL, []))}


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
