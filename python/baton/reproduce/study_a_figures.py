"""Study A's figures 12 to 24, of the runs that its checks are made of, and beyond them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from . import study_a_beyond as beyond
from .checks import mean_interval
from .figures import Curve, Figure
from .study_a_run import ADAPTIVE, QUASI, RELIABLE, STACKS, STUDIED, Case, Transfer, quasi_reliable
from .study_a_setup import LOSSES

if TYPE_CHECKING:
    from .study_a import Runs

#: What is drawn of a transfer: name, axis, value, and whether the axis is logarithmic.
Quantity = tuple[str, str, Callable[[Transfer], float], bool]
QUANTITIES: Sequence[Quantity] = (
    ("Average goodput", "Mbit/s", lambda run: run.goodput / 1e6, False),
    ("Average delay", "ms", lambda run: 1e3 * run.delay, True),
    ("Cumulative goodput", "MB delivered", lambda run: run.delivered / 1e6, False),
    ("Cumulative overhead", "of first payload", lambda run: run.overhead, True),
)
MEANS = "Means of 20 runs with their 95 % intervals."
_RATE = "bit error rate (1e-5)"


def draw(runs: Runs, seeds: int) -> list[Figure]:
    """All of them, in the study's order."""
    return [
        *_setup(runs, seeds),
        *_codes(runs, seeds),
        *_compared(runs, seeds),
        *_exposed(runs, seeds),
        *_beyond(runs, seeds),
    ]


def _curve(
    name: str,
    look: int,
    places: Sequence[float],
    samples: Sequence[Sequence[float]],
    shape: Literal["line", "points"] = "line",
) -> Curve:
    """Means with intervals, where there are as many samples as that needs; nothing where one is infinite."""
    found = [mean_interval([value for value in each if np.isfinite(value)]) for each in samples]
    mean, low, high = (
        np.array([np.nan if value is None else value for value in column]) for column in zip(*found, strict=True)
    )
    known = not np.isnan(low).any()
    return Curve(name, np.array(places, float), mean, look, low if known else None, high if known else None, shape)


def _setup(runs: Runs, seeds: int) -> Iterator[Figure]:
    def curve(name: str, caller: str, look: int, factor: float) -> Curve:
        samples = [
            [factor * runs.setups[caller, loss, seed].delays.mean() for seed in range(1, seeds + 1)] for loss in LOSSES
        ]
        return _curve(name, look, [100 * loss for loss in LOSSES], samples)

    title, note = "Figure 12: connection establishment delay", "20 seeds of 500 connections each."
    yield Figure(f"{title}, TCP", "packet loss (%)", "s", [curve("TCP", "tcp", 0, 1.0)], note)
    yield Figure(f"{title}, AeroTP", "packet loss (%)", "ms", [curve("AeroTP", "aerotp", 2, 1e3)], note)


def _codes(runs: Runs, seeds: int) -> Iterator[Figure]:
    """Figures 13 to 20: headers spared, as in the study's model."""
    from .study_a import CODE_RATES, WORDS

    def values(words: int, rate: float, value: Callable[[Transfer], float]) -> list[float]:
        case = Case(quasi_reliable(words), rate, spared=True)
        return [value(runs.transfers[case, seed]) for seed in range(1, seeds + 1)]

    for number, (name, unit, value, logarithmic) in enumerate(QUANTITIES, 13):
        curves = [
            _curve(f"{words} words", look, _scaled(CODE_RATES), [values(words, rate, value) for rate in CODE_RATES])
            for look, words in enumerate(WORDS)
        ]
        title = f"Figure {number}: {name.lower()} of quasi-reliable"
        yield Figure(title, _RATE, unit, curves, f"{MEANS} The channel spares headers.", logarithmic=logarithmic)
    for number, (name, unit, value, logarithmic) in enumerate(QUANTITIES, 17):
        curves = [
            _curve(f"{rate:g}", look, WORDS, [values(words, rate, value) for words in WORDS])
            for look, rate in enumerate(CODE_RATES)
        ]
        title = f"Figure {number}: {name.lower()} of quasi-reliable, by strength"
        yield Figure(
            title,
            "words of 32 bits in a packet",
            unit,
            curves,
            f"{MEANS} Curves: bit error rates.",
            logarithmic=logarithmic,
        )


def _scaled(rates: Sequence[float]) -> list[float]:
    return [1e5 * rate for rate in rates]


def _compared(runs: Runs, seeds: int) -> Iterator[Figure]:
    """Figures 21 to 24: every bit exposed."""
    from .study_a import RATES

    for number, (name, unit, value, logarithmic) in enumerate(QUANTITIES, 21):
        curves = [
            _curve(
                scheme.name, look, _scaled(RATES), [_values(runs, seeds, Case(scheme, rate), value) for rate in RATES]
            )
            for look, scheme in enumerate(STUDIED.values())
        ]
        note = f"{MEANS} Every bit is exposed." + (" Of runs that delivered anything." if unit == "ms" else "")
        yield Figure(f"Figure {number}: {name.lower()}", _RATE, unit, curves, note, logarithmic=logarithmic)


def _exposed(runs: Runs, seeds: int) -> Iterator[Figure]:
    """What figure 19 does not show: headers are hit too."""
    from .study_a import CODE_RATES, EXPOSED, lost

    def share(run: Transfer) -> float:
        return 100 * run.loss

    strengths = (*EXPOSED, 96)
    curves = [
        _curve(
            f"{words} words",
            look,
            _scaled(CODE_RATES),
            [_values(runs, seeds, Case(quasi_reliable(words), rate), share) for rate in CODE_RATES],
        )
        for look, words in enumerate(strengths)
    ]
    bits = runs.transfers[Case(QUASI, 1e-4), 1].header_bits(96)
    floor = [100 * lost(bits, rate) for rate in CODE_RATES]
    curves.append(Curve("floor of the headers", np.array(_scaled(CODE_RATES)), np.array(floor), 10))
    yield Figure(
        "Beyond figure 19: loss of quasi-reliable with every bit exposed",
        _RATE,
        "% lost",
        curves,
        f"{MEANS} No code helps a packet whose header is wrong: {bits} bits.",
    )


def _beyond(runs: Runs, seeds: int) -> Iterator[Figure]:
    """The same quantities of modes and stacks that the study names and does not show."""
    modes = (*beyond.ALL_MODES, ADAPTIVE)
    yield _places("Beyond figure 23: delivered at 1e-4, by mode", runs, seeds, [Case(mode, 1e-4) for mode in modes])
    rates = (3.5e-5, 1e-4)
    schemes = (STUDIED["tcp"], *STACKS.values(), RELIABLE)
    curves = [
        _curve(
            f"{rate:g}",
            look,
            range(len(schemes)),
            [_values(runs, seeds, Case(scheme, rate), lambda run: run.delivered / 1e6) for scheme in schemes],
            "points",
        )
        for look, rate in enumerate(rates)
    ]
    names = [scheme.name for scheme in schemes]
    yield Figure("Beyond figure 23: other TCPs", "", "MB delivered", curves, f"{MEANS} By bit error rate.", names=names)
    bursts = [Case(scheme, 0.0, more=beyond.BURSTS) for scheme in beyond.BURSTY]
    yield _places("Beyond: losses in bursts of 100 ms, a second apart", runs, seeds, bursts)


def _places(title: str, runs: Runs, seeds: int, cases: Sequence[Case]) -> Figure:
    samples = [_values(runs, seeds, case, lambda run: run.delivered / 1e6) for case in cases]
    curve = _curve("delivered", 0, range(len(cases)), samples, "points")
    return Figure(title, "", "MB delivered", [curve], MEANS, names=[case.scheme.name for case in cases])


def _values(runs: Runs, seeds: int, case: Case, value: Callable[[Transfer], float]) -> list[float]:
    return [value(runs.transfers[case, seed]) for seed in range(1, seeds + 1)]
