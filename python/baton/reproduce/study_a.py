"""Study A: AeroTP, a transport for airborne telemetry, beside TCP and UDP (A0 to A14)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from baton.live.trials import Figures
from baton.sweep.engines import Engine

from . import study_a_beyond as beyond
from . import study_a_beyond_figures as drawn_beyond
from . import study_a_bytes as by_byte
from . import study_a_figures as drawn
from . import study_a_setup as setup
from .checks import Reproduced, judged, put
from .spread import Task, spread
from .study_a_run import (
    AEROTP,
    CHECK,
    LARGE_TCP,
    QUASI,
    RATE,
    RATES,
    RELIABLE,
    SMALL,
    SMALL_TCP,
    STUDIED,
    Case,
    Scheme,
    Transfer,
    aggregating,
    quasi_reliable,
)
from .study_a_run import simulate as simulated
from .transfer import Floats

#: Runs of each case, as in the study; the seed draws the channel and the flow's start (ten round trips).
RUNS = 20
#: Bit error rates of figures 13 to 20.
CODE_RATES = (0.0, 1e-5, 2e-5, 5e-5, 1e-4)
#: Words of redundancy in a packet (figures 13 to 20), and those that are run with every bit exposed.
WORDS = (0, 8, 16, 32, 64, 96, 128, 256)
EXPOSED = (0, 8, 16)
#: The error rate from which on the study's TCP collapses, and the highest.
KNEE, WORST = 3.5e-5, 1e-4
#: Packets that a MACK is for (A4).
AGGREGATED = (1, 4, 16, 64)
#: "10 s" as the text has it.
SLOW = ("links.air.delay=10 s",)
#: Error rates of the reading of 3000 packets a second.
SMALL_RATES = (0.0, 1e-5, 3e-5, WORST)
#: As if the study had waited less, or longer.
SHORTER, LONGER = ("duration=20 s",), ("duration=200 s",)
HEADER_TOO = quasi_reliable(16, header=True)
TCP, UDP = STUDIED["tcp"], STUDIED["udp"]


@dataclass
class Runs:
    """Results of the study's runs."""

    transfers: dict[tuple[Case, int], Transfer] = field(default_factory=dict)
    setups: dict[tuple[str, float, int], setup.Setups] = field(default_factory=dict)
    others: dict[int, beyond.Others] = field(default_factory=dict)
    #: Times and bytes delivered across the first seed's handovers.
    handovers: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)


def reproduce(
    folder: Path,
    progress: Callable[[str], None] = lambda _: None,
    seeds: int = RUNS,
    engine: Engine | None = None,
) -> Reproduced:
    """Makes all checks of the study, in the order of its file of expectations, and its figures."""
    runs = _simulated(folder, seeds, progress, engine)
    samples: dict[str, list[float]] = {}
    put(samples, {"A0.a": RATE / (8 * 1500), "A0.b": RATE / (8 * 3000), "A5.u": one_bit_a_word(96, WORST)})
    for seed in range(1, seeds + 1):
        for part in (_slips, _comparison, _small_packets, _codes, _floors, _at_worst):
            put(samples, part(runs.transfers, seed))
        put(samples, setup.figures(runs.setups, seed))
        put(samples, beyond.figures(runs.transfers, seed))
        put(samples, by_byte.figures(runs.transfers, seed))
        put(samples, runs.others[seed].figures())
    put(samples, setup.spread(runs.setups, seeds))
    put(samples, _of_all_seeds(runs.transfers, seeds))
    return Reproduced(judged(folder, samples), [*drawn.draw(runs, seeds), *drawn_beyond.draw(runs, seeds)])


def cases() -> list[Case]:
    """Returns all cases of the study's path."""
    return [
        *(Case(scheme, rate) for scheme in (TCP, UDP, RELIABLE, QUASI) for rate in RATES),
        *(Case(scheme, rate, block=SMALL) for scheme in (SMALL_TCP, UDP, RELIABLE) for rate in SMALL_RATES),
        *(Case(LARGE_TCP, 3e-5, more=more) for more in ((), LONGER)),
        Case(TCP, 3e-5, more=SHORTER),
        *(Case(scheme, 0.0, more=SLOW) for scheme in (TCP, UDP)),
        *(Case(aggregating(packets), KNEE) for packets in AGGREGATED),
        *(Case(quasi_reliable(words), rate, spared=True) for words in WORDS for rate in CODE_RATES),
        *(Case(quasi_reliable(words), rate) for words in EXPOSED for rate in CODE_RATES),
        Case(HEADER_TOO, WORST),
        *beyond.CASES,
        *by_byte.CASES,
    ]


def _simulated(folder: Path, seeds: int, progress: Callable[[str], None], engine: Engine | None) -> Runs:
    """Makes all runs."""
    runs = Runs(handovers=beyond.across_the_handover(folder))
    calls = [(caller, loss) for caller in ("tcp", "aerotp") for loss in setup.LOSSES] + [("repeating", 0.2)]
    # Each with the place of its result.
    tasks: list[tuple[dict[Any, Any], Any, Task]] = []
    for seed in range(1, seeds + 1):
        tasks.append((runs.others, seed, (beyond.runs, (seed,))))
        tasks += [(runs.transfers, (case, seed), (_transfer, (seed, case))) for case in dict.fromkeys(cases())]
        tasks += [(runs.setups, (*call, seed), (setup.simulate, (seed, *call))) for call in calls]
    made = spread(engine, folder, [task for _, _, task in tasks])
    for done, ((results, key, _), result) in enumerate(zip(tasks, made, strict=True)):
        results[key] = result
        progress(f"run {done + 1} of {len(tasks)}")
    return runs


def _transfer(folder: Path, seed: int, case: Case) -> Transfer:
    return simulated(folder / "transfer.toml", seed, case)


Transfers = Mapping[tuple[Case, int], Transfer]


def _slips(runs: Transfers, seed: int) -> Figures:
    """Computes A0: the effect of a latency of 10 s."""
    return {
        "A0.c": runs[Case(TCP, 0.0, more=SLOW), seed].delivered / 1e6,
        "A0.d": runs[Case(UDP, 0.0, more=SLOW), seed].delay,
    }


def _comparison(runs: Transfers, seed: int) -> Figures:
    """Measures A2 and A3: TCP and reliable AeroTP."""
    tcp, reliable = ({rate: runs[Case(scheme, rate), seed] for rate in RATES} for scheme in (TCP, RELIABLE))
    below = [rate for rate in RATES if rate < KNEE]
    return {
        "A2.a": min(tcp[rate].delivered for rate in below) / 1e6,
        "A2.b": min(reliable[rate].delivered for rate in below) / 1e6,
        "A2.c": tcp[WORST].delivered / 1e6,
        "A2.d": reliable[WORST].delivered / 1e6,
        "A2.e": min(reliable[rate].goodput / max(tcp[rate].goodput, 1) for rate in RATES[1:]),
        "A2.k": runs[Case(LARGE_TCP, 3e-5), seed].delivered / 1e6,
        "A2.l": runs[Case(TCP, 3e-5, more=SHORTER), seed].delivered / 1e6,
        "A2.m": runs[Case(LARGE_TCP, 3e-5, more=LONGER), seed].delivered / 1e6,
        "A3.a": decades(tcp[WORST], tcp[0.0]),
        "A3.b": decades(reliable[WORST], reliable[0.0]),
        "A3.c": tcp[WORST].delay if tcp[WORST].delivered else None,
        "A3.d": reliable[WORST].delay,
        "A3.g": decades(reliable[5e-5], reliable[0.0]),
    }


def decades(one: Transfer, other: Transfer) -> float | None:
    """Returns the orders of magnitude between the delays of two transfers, if both delivered anything."""
    return math.log10(one.delay / other.delay) if one.delivered and other.delivered else None


def _small_packets(runs: Transfers, seed: int) -> Figures:
    """Measures A2 and A3 in the reading of 3000 packets a second."""

    def at(scheme: Scheme, rate: float) -> Transfer:
        return runs[Case(scheme, rate, block=SMALL), seed]

    return {
        "A2.h": min(at(SMALL_TCP, rate).delivered for rate in SMALL_RATES[:3]) / 1e6,
        "A2.i": at(SMALL_TCP, WORST).delivered / 1e6,
        "A2.j": at(RELIABLE, WORST).delivered / 1e6,
        "A3.e": decades(at(SMALL_TCP, WORST), at(SMALL_TCP, 0.0)),
        "A3.f": decades(at(RELIABLE, WORST), at(RELIABLE, 0.0)),
        "A6.l": at(UDP, WORST).loss,
        "A6.p": at(SMALL_TCP, WORST).overhead / at(RELIABLE, WORST).overhead,
    }


def _codes(runs: Transfers, seed: int) -> Figures:
    """Measures A5 with headers spared, seed by seed."""

    def at(words: int, rate: float) -> Transfer:
        return runs[Case(quasi_reliable(words), rate, spared=True), seed]

    plain = at(0, WORST)
    overheads = [at(words, 0.0).overhead for words in WORDS]
    return {
        "A5.b": plain.loss / lost(8 * (plain.payload + CHECK), WORST),
        **{
            f"A5.{letter}": max(at(words, rate).loss for rate in CODE_RATES)
            for letter, words in zip("cde", WORDS[5:], strict=True)
        },
        "A5.g": at(128, WORST).goodput / at(128, 0.0).goodput,
        "A5.h": at(256, WORST).goodput / at(256, 0.0).goodput,
        **{
            f"A5.{letter}": at(words, 0.0).goodput / at(0, 0.0).goodput
            for letter, words in zip("ijk", (128, 256, 64), strict=True)
        },
        "A5.l": plain.delay / at(0, 0.0).delay,
        "A5.m": at(96, WORST).delay / at(96, 0.0).delay,
        "A5.n": at(256, 0.0).delay / at(0, 0.0).delay,
        "A5.o": at(96, WORST).overhead / at(96, 0.0).overhead,
        "A5.p": float(np.mean(np.diff(overheads) > 0)),
    }


def _floors(runs: Transfers, seed: int) -> Figures:
    """Computes A5 with every bit exposed."""

    def over_floor(words: int) -> float:
        run = runs[Case(quasi_reliable(words), WORST), seed]
        return run.loss / lost(run.header_bits(words), WORST)

    return {
        "A5.q": over_floor(96),
        "A5.r": over_floor(16),
        "A5.s": runs[Case(quasi_reliable(8), WORST), seed].loss,
        "A5.t": runs[Case(HEADER_TOO, WORST), seed].loss,
    }


def lost(bits: int, rate: float) -> float:
    """Returns the probability that any of this many bits is wrong."""
    return 1 - (1 - rate) ** bits


def one_bit_a_word(words: int, rate: float) -> float:
    """Computes the loss of packets with a code that corrects one bit a word, each in its share of data, check and
    words."""
    bits = 8 * (AEROTP + CHECK) / words
    whole = (1 - rate) ** bits
    return float(1 - (whole + bits * rate * (1 - rate) ** (bits - 1)) ** words)


def _at_worst(runs: Transfers, seed: int) -> Figures:
    """Measures A6: the highest error rate."""
    tcp, udp, reliable, quasi = (runs[Case(scheme, WORST), seed] for scheme in (TCP, UDP, RELIABLE, QUASI))
    clean = runs[Case(QUASI, 0.0), seed]
    peers = {rate: runs[Case(UDP, rate), seed].goodput / 1e6 for rate in (0.0, 1e-5, KNEE, 5e-5, WORST)}
    return {
        "A6.a": udp.loss / quasi.loss,
        "A6.b": udp.loss / lost(8 * udp.packet, WORST),
        "A6.c": tcp.overhead / reliable.overhead if tcp.delivered else None,
        "A6.d": clean.overhead / runs[Case(RELIABLE, 0.0), seed].overhead,
        "A6.e": quasi.overhead / clean.overhead,
        "A6.f": quasi.delay / clean.delay,
        **{f"A6.{letter}": goodput for letter, goodput in zip("ghijk", peers.values(), strict=True)},
        "A6.m": tcp.overhead if tcp.delivered else None,
        "A6.n": reliable.overhead,
        "A6.o": quasi.overhead,
    }


def _of_all_seeds(runs: Transfers, seeds: int) -> Figures:
    """Returns the figures about the means of all runs, or about their spread."""

    def each(case: Case, quantity: str) -> np.ndarray:
        return np.array([getattr(runs[case, seed], quantity) for seed in range(1, seeds + 1)])

    def variation(scheme: Case) -> float:
        goodput = each(scheme, "goodput")
        return float(goodput.std() / goodput.mean())

    full = [rate for rate in RATES if each(Case(TCP, rate), "delivered").min() >= 1e6]
    spreads = {}
    for letter, quantity in zip("abc", ("goodput", "delay", "delivered"), strict=True):
        means = [each(Case(aggregating(packets), KNEE), quantity).mean() for packets in AGGREGATED]
        spreads[f"A4.{letter}"] = max(means) / min(means)
    losses = {
        words: [each(Case(quasi_reliable(words), rate, spared=True), "loss").mean() for rate in CODE_RATES]
        for words in WORDS
    }
    return {
        "A2.f": variation(Case(TCP, KNEE)) / variation(Case(RELIABLE, KNEE)) if seeds > 1 else None,
        "A2.g": max(full),
        **spreads,
        "A5.a": float(np.mean(np.diff(losses[0]) > 0)),
        "A5.f": min(words for words in WORDS if max(losses[words]) == 0),
    }
