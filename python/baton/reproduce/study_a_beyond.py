"""Checks beyond study A: modes, coding, other TCPs, bursts, outages, others' transports, handovers (A7 to A13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from baton import Scenario
from baton.live.trials import Figures
from baton.report.tables import Run, run_of

from .study_a_run import ADAPTIVE, MODES, QUASI, RATES, RELIABLE, STACKS, STUDIED, Case, Scheme, Transfer, flow
from .transfer import Floats

TCP, CUBIC, BBR = STUDIED["tcp"], STACKS["cubic"], STACKS["bbr"]
#: Schemes that the study does not show in its figures 21 to 24.
BESIDE = (ADAPTIVE, *MODES.values(), *STACKS.values())
#: Bit error rates of A12, in the order of its checks.
PEER_RATES = (0.0, 1e-6, 1e-5, 3.5e-5, 5e-5, 1e-4)
#: Goodput of others at these rates in Mbit/s, measured beforehand: 4 MB over the path of `peers.toml`, with quinn 0.11,
#: kcp-go 5.6 (a window of 128, no congestion control) and UDT 4.11.
PEERS = {
    "QUIC, CUBIC": (4.75, 4.40, 1.48, 0.51, 0.34, 0.07),
    "QUIC, BBR": (4.64, 4.60, 4.12, 2.70, 2.16, 0.84),
    "KCP": (3.15, 3.44, 3.43, 2.60, 1.95, 1.12),
    "KCP, FEC 10+3": (3.43, 2.60, 2.56, 2.04, 1.65, 0.96),
    "UDT": (3.09, 2.19, 0.39, 0.09, 0.05, 0.01),
}
#: Transports that A12 simulates, as overrides.
SIMULATED = {
    "adaptive": 'flows.telemetry.transport.coding="adaptive"',
    "none": 'flows.telemetry.transport.coding="none"',
    "TP++": 'flows.telemetry.transport={ kind = "tp++", blocks = { data = 8, repair = 2 } }',
}
#: Bursts in which all is lost, in the place of bit errors: their mean length, and means of the time between them.
BURST_S = 0.1
BETWEEN_S = (10.0, 4.0, 2.0, 1.0, 0.5)
BURSTY = (TCP, RELIABLE, QUASI, ADAPTIVE, CUBIC, BBR)
#: The link is gone from the first moment on, for so many seconds; A11 has one of them.
GONE_S, OUTAGES_S, OUTAGE_S = 1.0, tuple(np.arange(0.5, 6.5, 0.5).tolist()), 3.0
OUTAGE_SCHEMES = (TCP, RELIABLE, CUBIC, BBR)
#: Times at which the link of `handover.toml` is gone and back.
HANDOVER_S = (5.0, 9.0)
_UNTOLD, _TOLD = "handover.toml", "handover-told.toml"
#: Schemes that go through the handover, in the order of A13's checks: a scenario and overrides each.
CARRIERS: dict[str, tuple[str, Sequence[str]]] = {
    "AeroTP, told": (_TOLD, ()),
    "AeroTP, not told": (_UNTOLD, ()),
    "TCP CUBIC": (_UNTOLD, ("flows.telemetry.transport=tcp", "flows.telemetry.transport.profile=linux-6")),
    "TCP NewReno": (_UNTOLD, ("flows.telemetry.transport=tcp", "flows.telemetry.transport.congestion=newreno")),
    "TCP BBR": (
        _UNTOLD,
        ('flows.telemetry.transport={ profile = "linux-6", congestion = "bbr" }',),
    ),
}
#: Each mode, in the order of A7's checks.
ALL_MODES = (RELIABLE, MODES["near-reliable"], QUASI, MODES["connection"], MODES["datagram"])


def bursts(between_s: float) -> Sequence[str]:
    """Returns overrides for a link with bursts at this mean distance."""
    return (f'links.air.burst_loss={{ mean_good = "{between_s} s", mean_bad = "{BURST_S} s" }}',)


CASES = (
    *(Case(mode, 1e-4) for mode in ALL_MODES),
    *(Case(scheme, rate) for scheme in BESIDE for rate in RATES),
    *(Case(scheme, 0.0, more=bursts(between)) for scheme in BURSTY for between in BETWEEN_S),
)


@dataclass(frozen=True)
class Others:
    """Results of one seed outside the study's path."""

    #: Goodput in Mbit/s at the rates of A12, by simulated transport.
    goodputs: dict[str, list[float]]
    #: From an outage's end to new data in seconds, by scheme and length of the outage.
    outages: dict[tuple[Scheme, float], float]
    #: From the end of the handover to new data in seconds, by carrier.
    handovers: dict[str, float]

    def figures(self) -> Figures:
        """Returns the values of A11 to A13."""
        adaptive = self.goodputs["adaptive"]
        outages = [self.outages[scheme, OUTAGE_S] for scheme in (TCP, RELIABLE, BBR)]
        return {
            **_lettered("A11", outages),
            **_lettered("A12", [*adaptive, min(adaptive), self.goodputs["none"][-1], *self.goodputs["TP++"]]),
            **_lettered("A13", [self.handovers[carrier] for carrier in CARRIERS]),
        }


def figures(runs: dict[tuple[Case, int], Transfer], seed: int) -> Figures:
    """Measures A7 to A10 in runs over the study's path."""
    modes = [runs[Case(mode, 1e-4), seed] for mode in ALL_MODES]
    clean, worst = (runs[Case(ADAPTIVE, rate), seed] for rate in (0.0, 1e-4))
    stacks = [runs[Case(stack, rate), seed] for rate in (3.5e-5, 1e-4) for stack in STACKS.values()]
    found = [runs[Case(scheme, 0.0, more=bursts(1.0)), seed] for scheme in (TCP, RELIABLE, ADAPTIVE, QUASI)]
    return {
        **_lettered("A7", [run.delivered / 1e6 for run in modes] + [run.delay for run in modes]),
        "A8.a": worst.goodput / 1e6,
        "A8.b": worst.delay / clean.delay,
        "A8.c": worst.overhead,
        "A8.d": clean.overhead,
        **_lettered("A9", [run.delivered / 1e6 for run in stacks]),
        **_lettered("A10", [run.delivered / 1e6 for run in found] + [run.completion for run in found[:3]]),
    }


def runs(folder: Path, seed: int) -> Others:
    """Makes all runs outside the study's path, each of a scenario of its own."""

    def goodput(transport: str, rate: float) -> float:
        keys = [f"links.air.bit_error_rate={rate}", transport, "record.packets=false", "record.series=false"]
        summary = Scenario.load(folder / "peers.toml", overrides=keys).run(seed=seed).summary
        return float(summary["flows"][0]["goodput_bps"]) / 1e6

    def wait(scheme: Scheme, length: float) -> float:
        back = GONE_S + length
        changes = (
            f'{{ at = "{GONE_S} s", link = "air", state = "down" }}, {{ at = "{back} s", link = "air", state = "up" }}'
        )
        settings = [f"changes=[{changes}]", "links.air.bit_error_rate=0", flow(scheme)]
        return _new_data_after(_run(folder / "transfer.toml", seed, settings), back)

    return Others(
        {name: [goodput(transport, rate) for rate in PEER_RATES] for name, transport in SIMULATED.items()},
        {(scheme, length): wait(scheme, length) for scheme in OUTAGE_SCHEMES for length in OUTAGES_S},
        {
            carrier: _new_data_after(_run(folder / file, seed, keys), HANDOVER_S[1])
            for carrier, (file, keys) in CARRIERS.items()
        },
    )


def across_the_handover(folder: Path) -> dict[str, tuple[Floats, Floats]]:
    """Returns the deliveries over time in the first seed's handovers, in seconds and bytes."""
    return {carrier: _delivered(_run(folder / file, 1, keys)) for carrier, (file, keys) in CARRIERS.items()}


def _run(file: Path, seed: int, overrides: Sequence[str]) -> Run:
    return run_of(Scenario.load(file, overrides=[*overrides, "record.packets=false"]).run(seed=seed))


def _delivered(run: Run) -> tuple[Floats, Floats]:
    series = run.find("flow telemetry", "delivered bytes")
    return (np.zeros(0), np.zeros(0)) if series is None else (series.time_ns / 1e9, series.value)


def _new_data_after(run: Run, moment: float) -> float:
    """Returns the time from a moment to the next data that the application gets; infinite if there is none."""
    times, _ = _delivered(run)
    later = times[times > moment]
    return float(later[0]) - moment if len(later) else float("inf")


def _lettered(group: str, values: list[float]) -> Figures:
    """Returns checks of a group in the order of their letters."""
    return {f"{group}.{chr(ord('a') + place)}": value for place, value in enumerate(values)}
