"""Study A's figures 12 to 24, from the runs of its checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from baton.sweep.statistics import interval

from . import study_a_beyond as beyond
from .figures import Curve, Figure
from .study_a_run import ADAPTIVE, MODES, QUASI, RATES, STACKS, STUDIED, Case, Scheme, Transfer, quasi_reliable
from .study_a_setup import LOSSES

if TYPE_CHECKING:
    from .study_a import Runs

Value = Callable[[Transfer], float]
Scale = Literal["", "x", "y"]
#: Quantities that are drawn of a transfer: name, axis, value, and the axis with a logarithmic scale.
QUANTITIES: Sequence[tuple[str, str, Value, Scale]] = (
    ("average goodput", "goodput (Mbit/s)", lambda run: run.goodput / 1e6, ""),
    ("average delay", "delay (ms)", lambda run: 1e3 * run.delay, "y"),
    ("cumulative goodput", "delivered (MB)", lambda run: run.delivered / 1e6, ""),
    ("cumulative overhead", "overhead / first payload", lambda run: run.overhead, "y"),
)
MEANS = "Means of 20 runs with their 95 % intervals."
BIT_ERRORS = "bit error rate (1e-5)"
#: Colours go by what carries the data, dashes by what is particular about it.
LOOKS: dict[Scheme, int] = {
    STUDIED["tcp"]: 0,
    STUDIED["udp"]: 1,
    STUDIED["reliable"]: 2,
    QUASI: 3,
    ADAPTIVE: 8,
    MODES["near-reliable"]: 14,
    MODES["connection"]: 7,
    MODES["datagram"]: 13,
    STACKS["cubic"]: 4,
    STACKS["bbr"]: 5,
    STACKS["scps-vj"]: 11,
    STACKS["scps-vegas"]: 17,
}


def draw(runs: Runs, seeds: int) -> list[Figure]:
    """Draws all of them, in the study's order."""
    return [*_setup(runs, seeds), *_codes(runs, seeds), *_compared(runs, seeds)]


def curve(name: str, look: int, places: Sequence[float], samples: Sequence[Sequence[float]]) -> Curve:
    """Returns the means of finite values, with intervals if there is more than one sample."""
    mean, low, high = np.array([_mean(np.array(each)) for each in samples]).T
    known = not (np.isnan(low) | (low == high)).all()
    return Curve(name, np.array(places, float), mean, look, low if known else None, high if known else None)


def _mean(sample: np.ndarray) -> tuple[float, float, float]:
    known = sample[np.isfinite(sample)]
    if not len(known):
        return (np.nan,) * 3
    mean = float(known.mean())
    low, high, _ = interval(known)
    return mean, mean if low is None else low, mean if high is None else high


def of_rates(runs: Runs, seeds: int, scheme: Scheme, value: Value) -> Curve:
    """Returns the curve of a scheme over the bit error rates of figures 21 to 24."""
    samples = [values(runs, seeds, Case(scheme, rate), value) for rate in RATES]
    return curve(scheme.name, LOOKS[scheme], scaled(RATES), samples)


def values(runs: Runs, seeds: int, case: Case, value: Value) -> list[float]:
    """Returns one value per seed."""
    return [value(runs.transfers[case, seed]) for seed in range(1, seeds + 1)]


def scaled(rates: Sequence[float]) -> list[float]:
    """Converts bit error rates to the axis."""
    return [1e5 * rate for rate in rates]


def _setup(runs: Runs, seeds: int) -> Iterator[Figure]:
    def drawn(name: str, caller: str, look: int, factor: float) -> Curve:
        samples = [
            [factor * runs.setups[caller, loss, seed].delays.mean() for seed in range(1, seeds + 1)] for loss in LOSSES
        ]
        return curve(name, look, [100 * loss for loss in LOSSES], samples)

    title, note = "Figure 12: connection establishment delay", "20 seeds of 500 connections each."
    yield Figure(f"{title}, TCP", "packet loss (%)", "delay (s)", [drawn("TCP", "tcp", 0, 1.0)], note)
    yield Figure(f"{title}, AeroTP", "packet loss (%)", "delay (ms)", [drawn("AeroTP", "aerotp", 2, 1e3)], note)


def _codes(runs: Runs, seeds: int) -> Iterator[Figure]:
    """Draws figures 13 to 20: headers spared, as in the study's model."""
    from .study_a import CODE_RATES, WORDS

    def samples(words: int, rate: float, value: Value) -> list[float]:
        return values(runs, seeds, Case(quasi_reliable(words), rate, spared=True), value)

    for number, (name, unit, value, scale) in enumerate(QUANTITIES, 13):
        curves = [
            curve(f"{words} words", look, scaled(CODE_RATES), [samples(words, rate, value) for rate in CODE_RATES])
            for look, words in enumerate(WORDS)
        ]
        note = f"{MEANS} The channel spares headers."
        yield Figure(f"Figure {number}: {name} of quasi-reliable", BIT_ERRORS, unit, curves, note, logarithmic=scale)
    for number, (name, unit, value, scale) in enumerate(QUANTITIES, 17):
        curves = [
            curve(
                f"{np.format_float_scientific(rate, trim='-', exp_digits=1)}" if rate else "no errors",
                look,
                WORDS,
                [samples(words, rate, value) for words in WORDS],
            )
            for look, rate in enumerate(CODE_RATES)
        ]
        title = f"Figure {number}: {name} of quasi-reliable, by strength"
        note = f"{MEANS} By bit error rate; where only one curve is seen, all are the same."
        # The study says of its figure 20 that it looks exponential, which it would not on a logarithmic scale.
        linear = name.endswith("overhead")
        axis = "words of 32 bits in a packet"
        yield Figure(title, axis, unit, curves, note, logarithmic="" if linear else scale)


def _compared(runs: Runs, seeds: int) -> Iterator[Figure]:
    """Draws figures 21 to 24, every bit exposed, and in them curves that the study does not show."""
    for number, (name, unit, value, scale) in enumerate(QUANTITIES, 21):
        studied = [of_rates(runs, seeds, scheme, value) for scheme in STUDIED.values()]
        beside = [
            replace(of_rates(runs, seeds, scheme, value), aside=True, low=None, high=None) for scheme in beyond.BESIDE
        ]
        note = f"{MEANS} Every bit is exposed. Thin: means of what the study does not show."
        note += " Of runs that delivered anything." if name.endswith("delay") else ""
        yield Figure(f"Figure {number}: {name}", BIT_ERRORS, unit, [*studied, *beside], note, logarithmic=scale)
