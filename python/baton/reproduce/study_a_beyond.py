"""What goes beyond study A: modes, coding, other TCPs, bursts, an outage, others' transports, handovers (A7 to A13)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from baton import Scenario
from baton.live.trials import Figures
from baton.report.tables import Run, run_of

from .study_a_run import ADAPTIVE, MODES, QUASI, RELIABLE, STACKS, STUDIED, Case, Scheme, Transfer, flow

#: Bit error rates of A12, in the order of its checks.
PEER_RATES = (0.0, 1e-6, 1e-5, 3.5e-5, 5e-5, 1e-4)
#: Bursts of losses in the place of bit errors.
BURSTS = ('links.air.burst_loss={ mean_good = "1 s", mean_bad = "100 ms" }',)
#: The link is gone while the source is half through.
OUTAGE_S = (1.0, 4.0)
OUTAGE = (
    f'changes=[{{ at = "{OUTAGE_S[0]} s", link = "air", state = "down" }},'
    f' {{ at = "{OUTAGE_S[1]} s", link = "air", state = "up" }}]',
)
#: When the link of `handover.toml` is back.
BACK_S = 9.0
#: Each mode, in the order of A7's checks.
ALL_MODES = (RELIABLE, MODES["near-reliable"], QUASI, MODES["connection"], MODES["datagram"])
TCP = STUDIED["tcp"]
BURSTY = (TCP, RELIABLE, ADAPTIVE, QUASI)

CASES = (
    *(Case(mode, 1e-4) for mode in ALL_MODES),
    *(Case(ADAPTIVE, rate) for rate in (0.0, 1e-4)),
    *(Case(stack, rate) for stack in STACKS.values() for rate in (3.5e-5, 1e-4)),
    *(Case(scheme, 0.0, more=BURSTS) for scheme in BURSTY),
)


def figures(runs: dict[tuple[Case, int], Transfer], seed: int) -> Figures:
    """A7 to A10, of runs over the study's path."""
    modes = [runs[Case(mode, 1e-4), seed] for mode in ALL_MODES]
    clean, worst = (runs[Case(ADAPTIVE, rate), seed] for rate in (0.0, 1e-4))
    stacks = [runs[Case(stack, rate), seed] for rate in (3.5e-5, 1e-4) for stack in STACKS.values()]
    bursts = [runs[Case(scheme, 0.0, more=BURSTS), seed] for scheme in BURSTY]
    return {
        **_lettered("A7", [run.delivered / 1e6 for run in modes] + [run.delay for run in modes]),
        "A8.a": worst.goodput / 1e6,
        "A8.b": worst.delay / clean.delay,
        "A8.c": worst.overhead,
        "A8.d": clean.overhead,
        **_lettered("A9", [run.delivered / 1e6 for run in stacks]),
        **_lettered("A10", [run.delivered / 1e6 for run in bursts] + [run.completion for run in bursts[:3]]),
    }


def runs(folder: Path, seed: int) -> Figures:
    """A11 to A13, each of a scenario of its own."""
    return {**_outages(folder, seed), **_peers(folder, seed), **_handovers(folder, seed)}


def _outages(folder: Path, seed: int) -> Figures:
    def wait(scheme: Scheme) -> float:
        settings = [*OUTAGE, "links.air.bit_error_rate=0", flow(scheme), "duration=60 s"]
        return _new_data_after(_run(folder / "transfer.toml", seed, settings), OUTAGE_S[1])

    return _lettered("A11", [wait(scheme) for scheme in (TCP, RELIABLE, STACKS["bbr"])])


def _peers(folder: Path, seed: int) -> Figures:
    def goodput(rate: float, *overrides: str) -> float:
        settings = [f"links.air.bit_error_rate={rate}", "record.packets=false", "record.series=false", *overrides]
        summary = Scenario.load(folder / "peers.toml", overrides=settings).run(seed=seed).summary
        return float(summary["flows"][0]["goodput_bps"]) / 1e6

    adaptive = [goodput(rate) for rate in PEER_RATES]
    plain = goodput(1e-4, 'flows.telemetry.aerotp={ coding = "none" }')
    return _lettered("A12", [*adaptive, min(adaptive), plain])


def _handovers(folder: Path, seed: int) -> Figures:
    told, untold = folder / "handover-told.toml", folder / "handover.toml"
    carriers: dict[str, tuple[Path, list[str]]] = {
        "A13.a": (told, []),
        "A13.b": (untold, []),
        "A13.c": (untold, ["flows.telemetry.transport=tcp", "flows.telemetry.profile=linux-6"]),
        "A13.d": (untold, ["flows.telemetry.transport=tcp", "flows.telemetry.congestion=newreno"]),
    }
    return {check: _new_data_after(_run(file, seed, keys), BACK_S) for check, (file, keys) in carriers.items()}


def _run(file: Path, seed: int, overrides: list[str]) -> Run:
    return run_of(Scenario.load(file, overrides=[*overrides, "record.packets=false"]).run(seed=seed))


def _new_data_after(run: Run, moment: float) -> float:
    """Time from a moment to the next data that the application gets; infinite if there is none."""
    series = run.find("flow telemetry", "delivered bytes")
    later = np.zeros(0) if series is None else series.time_ns[series.time_ns > moment * 1e9]
    return float(later[0]) / 1e9 - moment if len(later) else float("inf")


def _lettered(group: str, values: list[float]) -> Figures:
    """Checks of a group in the order of their letters."""
    return {f"{group}.{chr(ord('a') + place)}": value for place, value in enumerate(values)}
