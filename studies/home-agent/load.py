"""Measures the load on study D's home agent over the rate of handovers: prints a Markdown table, and draws figures.

Of each rate, means over the seeds with their 95 % intervals.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import baton
from baton import plot
from baton.reproduce.study_d_load import (
    Stream,
    bystander_latency,
    fly,
    handover_durations,
    held_packets,
    most_and_mean,
)
from baton.sweep.statistics import Statistics, describe

FOLDER = Path(__file__).parent
SEEDS = 10
PAIRS, AIRCRAFT = 10, 24
#: Seconds between the aircraft of a pair of cells. A map takes half a minute, so that at most one of 32 s and at least
#: two dozen of 1 s are under way in a pair.
APART_S = (32.0, 16.0, 8.0, 4.0, 2.0, 1.0)
#: The first registrations are over, and no aircraft has begun its handover.
FIRST_S = 30.0
#: Quantities of a run, with their units and digits.
QUANTITIES = {
    "most held": ("kB", 1),
    "held": ("kB", 1),
    "held for a handover": ("kB s", 2),
    "request waits": ("ms", 0),
    "update waits": ("ms", 0),
    "update waits, 95 %": ("ms", 0),
    "handover": ("ms", 0),
    "bystander's delay": ("ms", 0),
    "the same without buffering": ("ms", 0),
}


def measured(apart_s: float, seed: int) -> list[float]:
    """Returns the quantities of a pair of runs, with and without buffering."""
    stream = Stream(PAIRS, AIRCRAFT, apart_s)
    lasts = f"duration='{120 + apart_s * AIRCRAFT} s'"
    held, plain = (fly(FOLDER.parent / "D", seed, stream, buffers, lasts) for buffers in (True, False))
    begin, end, size = held_packets(held)
    most, mean = most_and_mean(begin, end, size)
    requests, updates = (waits_s(held, cell) for cell in ("old", "new"))
    return [
        most / 1e3,
        mean / 1e3,
        (size * (end - begin)).sum() / 1e12 / (PAIRS * AIRCRAFT),
        requests.mean() * 1e3,
        updates.mean() * 1e3,
        float(np.quantile(updates, 0.95)) * 1e3,
        handover_durations(held).mean() * 1e3,
        bystander_latency(held) * 1e3,
        bystander_latency(plain) * 1e3,
    ]


def waits_s(run: baton.Result, cell: str) -> np.ndarray:
    """Returns the times from sending to arrival of the binding updates of aircraft in cells of this kind."""
    updates = pa.table(run.signals).to_pylist()
    updates = [each for each in updates if each["name"] == "Binding Update" and each["sent_ns"] > FIRST_S * 1e9]
    updates = [each for each in updates if each["link"].split(".")[1] == cell and each["fate"] == "delivered"]
    return np.array([each["decided_ns"] - each["sent_ns"] for each in updates]) / 1e9


def line(apart_s: float) -> list[Statistics]:
    """Returns the statistics of each quantity at a rate."""
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(lambda seed: measured(apart_s, seed), range(1, SEEDS + 1)))
    return [describe(values) for values in np.array(runs).T]


def cell(of: Statistics, digits: int) -> str:
    """Returns a mean with its interval, in Markdown."""
    mean, low, high = (f"{value or 0.0:.{digits}f}" for value in (of.mean, of.low, of.high))
    return f"{mean} ({low} to {high})"


def draw(rates: list[float], found: dict[str, list[Statistics]], names: list[str], file: str) -> None:
    """Draws some quantities over the rate of handovers."""
    with plot.style():
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        for name, marker in zip(names, "os^", strict=False):
            means = np.array([each.mean for each in found[name]], dtype=float)
            ends = np.array([[each.low, each.high] for each in found[name]], dtype=float)
            axes.errorbar(rates, means, np.abs(ends - means[:, None]).T, label=name, marker=marker, capsize=2)
        axes.set_xscale("log")
        axes.set_xticks(rates, [f"{rate:.3g}" for rate in rates])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel("handovers into a cell (1/min)")
        axes.set_ylabel(QUANTITIES[names[0]][0])
        axes.legend()
        figure.savefig(FOLDER / file, metadata={"Date": None})


if __name__ == "__main__":
    lines = [line(apart_s) for apart_s in APART_S]
    rates = [60 / apart_s for apart_s in APART_S]
    found = {name: list(values) for name, values in zip(QUANTITIES, zip(*lines, strict=True), strict=True)}
    heads = (f"{rate:.3g}" for rate in rates)
    print(f"| handovers into a cell, a minute | {' | '.join(heads)} |")
    print("|---" * (len(rates) + 1) + "|")
    for name, (unit, digits) in QUANTITIES.items():
        cells = (cell(each, digits) for each in found[name])
        print(f"| {name} ({unit}) | {' | '.join(cells)} |")
    draw(rates, found, ["most held", "held"], "held.svg")
    draw(rates, found, ["request waits", "update waits", "handover"], "waits.svg")
    draw(rates, found, ["bystander's delay", "the same without buffering"], "new-cell.svg")
