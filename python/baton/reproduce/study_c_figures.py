"""Study C's figures: throughput over time with the scheme and without, and gain over latency and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from baton.verdict import Estimate

from .checks import load_expected
from .figures import Curve, Figure, columns, printed_level
from .study_c_run import ERRORS, LATENCIES, simulate
from .transfer import Floats

Samples = Mapping[str, Sequence[float]]
WAYS = {"upload": "mobile to correspondent", "download": "correspondent to mobile"}
TOWARDS = {"satellite": "to the satellite", "wifi": "to WiFi"}
#: Group of the checks of the gain over the latency.
GAINS = {"satellite": "C3", "wifi": "C4"}
SCHEME, STANDARD, DIFFERENCE, ATCP = 0, 1, 2, 3
#: Seconds over which throughput is drawn.
STEP = 0.5
_INTERVALS = "Means of all seeds with their 95 % intervals."


def draw(folder: Path, samples: Samples) -> list[Figure]:
    """Draws all of them, from the gains of the checks."""
    published = {each.id: each.published or np.nan for each in load_expected(folder / "expected.toml")}
    return [
        _throughput(folder / "upload.toml", f"Figure 10: throughput over time, {WAYS['upload']}", "takes 4 s"),
        _throughput(folder / "download.toml", f"Figure 11: throughput over time, {WAYS['download']}", "takes 4 s"),
        _throughput(
            folder / "mobility.toml", "Throughput along the line of figure 2", "takes as long as Mobile IPv6 needs"
        ),
        *(_gain(link, samples, published) for link in TOWARDS),
        *(_errors(link, samples) for link in TOWARDS),
        *(_atcp(link, samples) for link in TOWARDS),
    ]


def _throughput(file: Path, title: str, latency: str) -> Figure:
    """Draws a figure like figure 10: a run with each, and how much more the scheme delivers."""
    runs = [simulate(file, 1, remedy, []) for remedy in ("eclair", "none")]
    times = np.arange(0, runs[0].end + STEP / 2, STEP)
    scheme, standard = (np.diff(run.at(times)) * 8 / STEP / 1e6 for run in runs)
    middle = times[:-1] + STEP / 2
    return Figure(
        title,
        "time (s)",
        "Mbit/s",
        [
            Curve("with the scheme", middle, scheme, SCHEME),
            Curve("standard TCP", middle, standard, STANDARD),
            Curve("difference", middle, scheme - standard, DIFFERENCE),
        ],
        f"The run with the first seed, by {STEP:g} s. A handover {latency}.",
        [(handover["at_s"], TOWARDS[handover["to"].partition("-")[0]]) for handover in runs[0].handovers],
    )


def _gain(link: str, samples: Samples, published: Mapping[str, float]) -> Figure:
    curves = [
        _curve(name, look, LATENCIES[link], [samples[f"{way} {link} {latency}"] for latency in LATENCIES[link]])
        for look, (way, name) in enumerate(WAYS.items())
    ]
    span = (LATENCIES[link][0], LATENCIES[link][-1])
    for look, (end, letter) in enumerate((("smallest", "a"), ("largest", "b")), start=len(WAYS)):
        curves.append(printed_level(end, published[f"{GAINS[link]}.{letter}"], span, look))
    title = f"Gain over the latency of the handover, {TOWARDS[link]}"
    note = f"{_INTERVALS} The text prints the smallest and the largest gain."
    return Figure(title, "latency (s)", "gain (%)", curves, note)


def _errors(link: str, samples: Samples) -> Figure:
    curves = [
        _curve(
            f"{name}, {WAYS[way]}",
            look + (way == "download"),
            ERRORS,
            [samples[f"errors {way} {link} {rate} {remedy}"] for rate in ERRORS],
        )
        for name, look, remedy in (("the scheme", 0, "eclair"), ("standard TCP", 2, "none"))
        for way in WAYS
    ]
    number = {"satellite": 14, "wifi": 15}[link]
    title = f"Figure {number}: bytes over the packet error rate, {TOWARDS[link]}"
    note = f"In 100 s with a handover of 4 s. {_INTERVALS} The text prints no value of this figure."
    return Figure(title, "packet error rate", "delivered (MB)", curves, note, logarithmic="x")


def _atcp(link: str, samples: Samples) -> Figure:
    latencies = LATENCIES[link]
    curves = [
        _curve(name, look, latencies, [samples[f"{key} {link} {latency}"] for latency in latencies])
        for name, look, key in (("the scheme", SCHEME, "upload"), ("ATCP", ATCP, "atcp"))
    ]
    title = f"The scheme and ATCP, {WAYS['upload']}, {TOWARDS[link]}"
    return Figure(title, "latency (s)", "gain over standard TCP (%)", curves, _INTERVALS)


def _curve(name: str, look: int, places: Sequence[float], values: Sequence[Sequence[float]]) -> Curve:
    x: Floats = np.array(places)
    mean, low, high = columns([Estimate.mean(each) for each in values])
    return Curve(name, x, mean, look, low, high)
