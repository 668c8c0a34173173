"""Study C's two-sided numbers (C1 to C4) by each reading of its text, for sets of chosen parameters."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from baton.live.trials import Figures

from .spread import spread
from .study_c_run import LATENCIES, Delivery, gain, simulate, single

#: Readings of the end of a gain, which the text puts at standard TCP's "maximum throughput": a share of the link's
#: rate, or (more than all of it) never before the next handover.
FULL = {"80 %": 0.8, "90 %": 0.9, "95 %": 0.95, "next handover": 2.0}
#: Readings of the length of a run, in seconds, which the text does not give.
LENGTH_S = (65.0, 100.0)


def readings(folder: Path) -> dict[str, Figures]:
    """Measures the numbers with one seed, by reading."""
    longest = f"duration={max(LENGTH_S)} s"
    cases = [("upload.toml", [longest]), ("download.toml", [longest])]
    latencies = [(link, latency) for link, all_ in LATENCIES.items() for latency in all_]
    cases += [("upload.toml", [longest, *single(link, latency, 20)]) for link, latency in latencies]
    tasks = [(_run, (file, remedy, settings)) for file, settings in cases for remedy in ("eclair", "none")]
    runs = list(spread(None, folder, tasks))
    pairs = list(zip(runs[::2], runs[1::2], strict=True))
    found: dict[str, Figures] = {}
    for (name, full), length in product(FULL.items(), LENGTH_S):
        for scheme, standard in pairs:
            scheme.end = standard.end = length
            standard.full = full
        found[f"full at {name}, runs of {length:g} s"] = _figures(pairs, latencies)
    return found


def _run(folder: Path, file: str, remedy: str, settings: list[str]) -> Delivery:
    return simulate(folder / file, 1, remedy, settings)


def _figures(pairs: list[tuple[Delivery, Delivery]], latencies: list[tuple[str, float]]) -> Figures:
    figures: Figures = {}
    for group, pair in zip(("C1", "C2"), pairs, strict=False):
        for letter, number, link in zip("abc", range(3), ("satellite", "wifi", "satellite"), strict=True):
            figures[f"{group}.{letter}"] = gain(*pair, number, link)[0] / 1e6
    for group, link in (("C3", "satellite"), ("C4", "wifi")):
        gains = [gain(*pair, 0, to)[1] for pair, (to, _) in zip(pairs[2:], latencies, strict=True) if to == link]
        figures[f"{group}.a"], figures[f"{group}.b"] = min(gains), max(gains)
    return figures
