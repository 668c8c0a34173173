"""Figures beyond study A's: exposed headers, bursts, outages, a handover, others' transports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from . import study_a_beyond as beyond
from .figures import Curve, Figure
from .study_a_figures import BIT_ERRORS, LOOKS, MEANS, QUANTITIES, curve, scaled, values
from .study_a_run import AEROTP, QUASI, Case, Scheme, Transfer, quasi_reliable

if TYPE_CHECKING:
    from .study_a import Runs

#: The end of the handover's figure.
SHOWN_S = 16.0


def draw(runs: Runs, seeds: int) -> list[Figure]:
    """Draws all of them."""
    return [
        _exposed(runs, seeds),
        *_bursts(runs, seeds),
        _outages(runs, seeds),
        _handover(runs),
        _peers(runs, seeds),
    ]


def _exposed(runs: Runs, seeds: int) -> Figure:
    """Draws figure 19 beyond the study: headers are exposed too."""
    from .study_a import CODE_RATES, EXPOSED, lost

    def share(run: Transfer) -> float:
        return 100 * run.loss

    rates = CODE_RATES[1:]
    curves = [
        curve(
            f"{words} words",
            look,
            scaled(rates),
            [values(runs, seeds, Case(quasi_reliable(words), rate), share) for rate in rates],
        )
        for look, words in enumerate((*EXPOSED, 96))
    ]
    bits = runs.transfers[Case(QUASI, 1e-4), 1].header_bits(96)
    floor = [100 * lost(bits, rate) for rate in rates]
    curves.append(Curve("floor of the headers", np.array(scaled(rates)), np.array(floor), 10))
    note = f"{MEANS} No code helps a packet whose header is wrong: {bits} bits."
    title = "Beyond figure 19: loss of quasi-reliable with every bit exposed"
    return Figure(title, BIT_ERRORS, "lost (%)", curves, note, logarithmic="y")


def _bursts(runs: Runs, seeds: int) -> Iterator[Figure]:
    """Draws goodput, delay and delivered data with bursts in place of bit errors."""
    length = beyond.BURST_S
    shares = [0.0, *(100 * length / (between + length) for between in beyond.BETWEEN_S)]

    def case(scheme: Scheme, between: float | None) -> Case:
        return Case(scheme, 0.0, more=() if between is None else beyond.bursts(between))

    for number, (name, unit, value, scale) in enumerate(QUANTITIES[:3], 21):
        curves = [
            curve(
                scheme.name,
                LOOKS[scheme],
                shares,
                [values(runs, seeds, case(scheme, between), value) for between in (None, *beyond.BETWEEN_S)],
            )
            for scheme in beyond.BURSTY
        ]
        title = f"Beyond figure {number}: {name} with bursts in which all is lost"
        note = f"{MEANS} Bursts last {1e3 * length:.0f} ms in the mean; no bit errors besides."
        yield Figure(title, "time in bursts (%)", unit, curves, note, logarithmic=scale)


def _outages(runs: Runs, seeds: int) -> Figure:
    curves = [
        curve(
            scheme.name,
            LOOKS[scheme],
            beyond.OUTAGES_S,
            [
                [runs.others[seed].outages[scheme, length] for seed in range(1, seeds + 1)]
                for length in beyond.OUTAGES_S
            ],
        )
        for scheme in beyond.OUTAGE_SCHEMES
    ]
    note = f"{MEANS} The link is gone from 1 s on; nobody tells the sender, which TCP's timers wait for."
    title = "Beyond: from the end of an outage to new data"
    return Figure(title, "length of the outage (s)", "until new data (s)", curves, note)


def _handover(runs: Runs) -> Figure:
    """Draws the bytes across the handover of A13."""
    gone, back = beyond.HANDOVER_S
    curves = []
    for look, (carrier, (times, delivered)) in zip((2, 8, 4, 0, 5), runs.handovers.items(), strict=True):
        before = np.searchsorted(times, gone, side="right") - 1
        shown = (times >= gone) & (times <= SHOWN_S)
        curves.append(Curve(carrier, times[shown], (delivered[shown] - delivered[before]) / 1e6, look))
    note = "Seed 1: 2 Mbit/s and 10 ms, nothing for 4 s with everything in flight lost, then 1 Mbit/s and 250 ms."
    marks = [(gone, "link gone"), (back, "link back")]
    return Figure("Beyond: a hard handover", "time (s)", "delivered since then (MB)", curves, note, marks)


def _peers(runs: Runs, seeds: int) -> Figure:
    """Draws A12: 4 MB, beside others' transports."""
    from .study_a import lost

    rates = beyond.PEER_RATES
    curves = [
        curve(
            name,
            look,
            scaled(rates),
            [
                [runs.others[seed].goodputs[simulated][place] for seed in range(1, seeds + 1)]
                for place in range(len(rates))
            ],
        )
        for name, simulated, look in (
            ("AeroTP, adaptive coding", "adaptive", 8),
            ("AeroTP without coding", "none", 2),
            ("TP++, 8+2", "TP++", 4),
        )
    ]
    limit = [5 * (AEROTP + 8) / 1500 * (1 - lost(12_000, rate)) for rate in rates]
    curves.append(Curve("limit of repeating whole packets", np.array(scaled(rates)), np.array(limit), 17, aside=True))
    curves += [
        Curve(name, np.array(scaled(rates)), np.array(goodput), look)
        for look, (name, goodput) in zip((0, 6, 1, 7, 3), beyond.PEERS.items(), strict=True)
    ]
    note = (
        "4 MB over 5 Mbit/s and 10 ms with a queue of 250 packets. AeroTP and TP++ simulated, means of 20 runs; others"
        " measured."
    )
    return Figure("Beyond: goodput beside others' transports", BIT_ERRORS, "goodput (Mbit/s)", curves, note)
