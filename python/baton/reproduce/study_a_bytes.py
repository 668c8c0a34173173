"""Study A with errors counted by the byte, as ns-3's error model does unless told otherwise (A14)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from baton.live.trials import Figures

from .study_a_run import LARGE_TCP, RELIABLE, STUDIED, Case, Scheme, Transfer

#: Byte error rates, the highest last.
BYTE_RATES = (0.0, 1e-5, 3e-5, 3.5e-5, 5e-5, 1e-4)
#: Chosen: five times what the source alone needs. With segments that fill a packet, as ns-3's application has them.
DURATION = ("duration=10 s",)
_SCHEMES = {"tcp": LARGE_TCP, "reliable": RELIABLE, "udp": STUDIED["udp"]}


def by_byte(scheme: Scheme, rate: float) -> Case:
    """Returns a case in which this share of bytes is wrong: each of their bits with the same probability."""
    return Case(scheme, 1 - (1 - rate) ** (1 / 8), more=DURATION)


CASES = [by_byte(scheme, rate) for scheme in _SCHEMES.values() for rate in BYTE_RATES]


def figures(runs: Mapping[tuple[Case, int], Transfer], seed: int) -> Figures:
    """Measures A14."""
    tcp, reliable, udp = (
        {rate: runs[by_byte(scheme, rate), seed] for rate in BYTE_RATES} for scheme in _SCHEMES.values()
    )
    worst = BYTE_RATES[-1]

    def decades(runs: Mapping[float, Transfer]) -> float | None:
        return math.log10(runs[worst].delay / runs[0.0].delay) if runs[worst].delivered else None

    return {
        "A14.a": min(tcp[rate].delivered for rate in BYTE_RATES if rate <= 3e-5) / 1e6,
        "A14.b": tcp[worst].delivered / 1e6,
        "A14.c": reliable[worst].delivered / 1e6,
        "A14.d": min(reliable[rate].goodput / max(tcp[rate].goodput, 1) for rate in BYTE_RATES[1:]),
        "A14.e": decades(tcp),
        "A14.f": decades(reliable),
        "A14.g": tcp[worst].overhead / reliable[worst].overhead if tcp[worst].delivered else None,
        "A14.h": udp[worst].loss / (1 - (1 - worst) ** udp[worst].packet),
        "A14.i": udp[worst].loss,
    }
