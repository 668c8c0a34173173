"""Study S: a satellite and a tunnel's WiFi for high-speed trains (S1 to S9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from baton.live.trials import Figures
from baton.plan.coverage import Line, extension
from baton.sweep.engines import Engine

from . import study_s_figures as figures
from . import study_s_journey as journey
from . import study_s_mice as mice
from .checks import Reproduced, judged, put
from .spread import Task, spread
from .study_s_growth import CONTROLS, growth
from .study_s_run import (
    BEYOND,
    ENTERS,
    LEAVES,
    OVER_S,
    SEGMENT,
    STUDIED,
    Flow,
    convergence,
    equal_windows,
    jain,
    simulate,
)

#: Seeds over which comparisons are counted; a seed draws the flows' starts (ten RTTs) and the handovers' times (± one
#: RTT).
SEEDS = 20
#: Runs whose mean is compared with a number, as in the study's figures 10 to 12.
RUNS = 10
#: Runs of what goes beyond the study, of which only numbers are told.
FEW_RUNS = 5
#: Runs of a journey's recovery, which only repeats the comparison of S3.
JOURNEYS = 3
#: Of two flows with the same scheme, in the order of the checks: those whose convergence is compared, those that
#: converge slowly or never, and those beyond the study.
COMPARED = ("newreno", "method-2", "bic")
UNFAIR = ("westwood", "scalable")
MORE_PAIRS = ("forgetting", *BEYOND)
#: Two flows with packet errors.
LOSSY = ("method-2", "bic")
#: Obstacles in metres and latitudes in degrees of figure 4.
HEIGHTS, LATITUDES = np.linspace(0, 200, 41), (35.0, 40.0, 45.0, 50.0, 55.0, 60.0)

Samples = dict[str, list[float]]
#: A scheme and a seed.
Key = tuple[str, int]


@dataclass
class Runs:
    """Results of the study's runs, by scheme and seed."""

    single: dict[Key, Flow] = field(default_factory=dict)
    lossy_single: dict[Key, Flow] = field(default_factory=dict)
    pair: dict[Key, list[Flow]] = field(default_factory=dict)
    #: Two flows with NewReno for long enough that their windows become equal; by seed.
    long_pair: dict[int, list[Flow]] = field(default_factory=dict)
    lossy_pair: dict[Key, list[Flow]] = field(default_factory=dict)
    #: NewReno with method #2 in the train that meets the tunnel, BIC in the other; by seed.
    mixed: dict[int, list[Flow]] = field(default_factory=dict)
    #: Figures of S8 and S9, by their measurement and seed.
    measured: dict[Key, Figures] = field(default_factory=dict)


def reproduce(
    folder: Path,
    progress: Callable[[str], None] = lambda _: None,
    seeds: int = SEEDS,
    engine: Engine | None = None,
) -> Reproduced:
    """Makes all checks of the study, in the order of its file of expectations, and its figures."""
    grown = {control: growth(folder / "single.toml", control) for control in CONTROLS}
    runs = _simulated(folder, seeds, progress, engine)
    samples: Samples = {}
    put(samples, _coverage())
    put(samples, _growth(grown))
    for seed in range(1, seeds + 1):
        put(samples, _single(runs, seed))
        put(samples, _pairs(runs, seed))
        put(samples, _mixed(runs.mixed[seed]))
        if seed <= RUNS:
            put(samples, _means(runs, seed))
    for key in sorted(runs.measured):
        put(samples, runs.measured[key])
    return Reproduced(judged(folder, samples), figures.draw(folder, runs, grown))


def _simulated(folder: Path, seeds: int, progress: Callable[[str], None], engine: Engine | None) -> Runs:
    """Makes all runs."""
    runs = Runs()
    errors = "links.satellite.packet_error_rate={}"
    shorter = "duration=800 s"

    # Each with the place of its results, its key there besides the seed, and the number of its seeds.
    cases: list[tuple[dict[Any, Any], str | None, Task, int]] = []

    def alone(into: dict[Key, Flow], key: str, overrides: list[str], count: int) -> None:
        cases.append((into, key, (_alone, (key, overrides)), count))

    def together(into: dict[Key, list[Flow]], key: str, overrides: list[str], count: int) -> None:
        cases.append((into, key, (_together, (key, key, overrides)), count))

    cases.append((runs.mixed, None, (_together, ("method-2", "bic", [shorter])), seeds))
    long = ("newreno", "newreno", ["duration=2400 s"])
    cases.append((runs.long_pair, None, (_together, long), min(seeds, RUNS)))
    for file, measure, count in (
        ("line.toml", journey.measured, seeds),
        ("line.toml", journey.recovery, min(seeds, JOURNEYS)),
        ("mice.toml", mice.measured, min(seeds, RUNS)),
    ):
        cases.append((runs.measured, f"{file} {measure.__name__}", (_measured, (file, measure)), count))
    for key in (*STUDIED, *BEYOND):
        # Of a proxy numbers are told, of the other schemes beyond the study the window is drawn.
        count = seeds if key in STUDIED else min(seeds, RUNS) if key == "pep" else 1
        alone(runs.single, key, [], count)
        alone(runs.lossy_single, key, [shorter, errors.format(1e-3)], count)
    for keys, count in ((COMPARED, seeds), (UNFAIR, min(seeds, RUNS)), (MORE_PAIRS, min(seeds, FEW_RUNS))):
        for key in keys:
            together(runs.pair, key, [], count)
    for key in LOSSY:
        together(runs.lossy_pair, key, [shorter, errors.format(5e-4)], seeds)
    tasks = [(case, seed) for seed in range(1, seeds + 1) for case in cases if seed <= case[-1]]
    made = spread(engine, folder, [(function, (seed, *given)) for (_, _, (function, given), _), seed in tasks])
    for done, (((into, name, _, _), seed), result) in enumerate(zip(tasks, made, strict=True)):
        into[seed if name is None else (name, seed)] = result
        progress(f"run {done + 1} of {len(tasks)}")
    return runs


def _alone(folder: Path, seed: int, key: str, overrides: list[str]) -> Flow:
    (flow,) = simulate(folder / "single.toml", seed, {"download": key}, overrides)
    return flow


def _together(folder: Path, seed: int, first: str, second: str, overrides: list[str]) -> list[Flow]:
    return simulate(folder / "pair.toml", seed, {"first": first, "second": second}, overrides)


def _measured(folder: Path, seed: int, file: str, measure: Callable[[Path, int], Figures]) -> Figures:
    return measure(folder / file, seed)


def _coverage() -> Figures:
    """Computes S1: equations 1 to 7, by the code of `baton plan coverage`."""
    line = Line()
    found = [[extension(line, latitude, float(height)) for height in HEIGHTS] for latitude in LATITUDES]
    before = np.array([[each.before.extension_m for each in row] for row in found])
    after = np.array([[each.after.extension_m for each in row] for row in found])
    middle = extension(line, 45.0, 100.0)
    return {
        "S1.a": float(np.ptp(after)),
        "S1.b": float(np.mean(np.diff(before, axis=1) > 0)),
        # Without an obstacle there is no shadow, at any latitude.
        "S1.c": float(np.mean(np.diff(before[:, 1:], axis=0) > 0)),
        "S1.d": line.decision_s * line.speed_mps / line.coverage_m,
        "S1.e": 10_600 / line.speed_mps,
        "S1.f": middle.before.extension_m,
        "S1.g": middle.after.extension_m,
    }


def _growth(grown: Mapping[str, tuple[float, float]]) -> Figures:
    """Measures S2, except WiFi's pipe."""
    newreno, scalable, bic = (grown[control] for control in CONTROLS)
    return {
        # The link alone: the wired way to the gateway is that of the path by WiFi, 20 ms of the 580 ms.
        "S2.a": 5e6 * (0.58 - 0.02) / (8 * 1500),
        "S2.c": newreno[0],
        "S2.d": scalable[0],
        "S2.e": bic[0],
        "S2.f": newreno[1],
        "S2.g": scalable[1],
        "S2.h": bic[1],
        "S2.i": scalable[0] / bic[0],
        "S2.j": newreno[0] / scalable[0],
        "S2.k": min(after_handover / after_loss for after_handover, after_loss in grown.values()),
    }


def _single(runs: Runs, seed: int) -> Figures:
    """Measures S3 and S4: one flow, with each scheme."""
    flows = {key: runs.single[key, seed] for key in STUDIED}
    lossy = {key: runs.lossy_single[key, seed] for key in STUDIED}
    recovery = {key: flow.full_after(LEAVES) for key, flow in flows.items()}
    window = {key: flow.mean_window(0, 800) for key, flow in flows.items()}
    with_errors = {key: flow.mean_window(0, 800) for key, flow in lossy.items()}
    goodput = {key: flow.goodput(0, 800) for key, flow in lossy.items()}
    newreno = flows["newreno"]
    packets = newreno.goodput(ENTERS + 10, LEAVES) / (8 * SEGMENT)
    return {
        "S2.b": packets * 0.02,
        "S3.a": max(flow.mean_window(ENTERS + 10, LEAVES - 1) for flow in flows.values()),
        "S3.b": newreno.largest_in_tunnel,
        **{
            f"S3.{name}": flows[key].timeouts_in(ENTERS - 1, ENTERS + 10)
            for name, key in zip("cde", ("newreno", "method-1", "method-2"), strict=True)
        },
        "S3.f": recovery["scalable"] - recovery["bic"],
        "S3.g": recovery["method-2"] - recovery["bic"],
        "S3.h": recovery["newreno"] - recovery["scalable"],
        "S3.i": recovery["newreno"] - recovery["method-2"],
        "S3.j": recovery["westwood"] - recovery["scalable"],
        "S3.k": recovery["westwood"] - recovery["method-2"],
        "S3.m": recovery["method-1"] - recovery["method-2"],
        "S3.l": window["bic"] / max(window[key] for key in ("newreno", "method-1", "method-2")),
        "S4.a": with_errors["bic"] / max(value for key, value in with_errors.items() if key != "bic"),
        "S4.b": goodput["bic"] / max(value for key, value in goodput.items() if key != "bic"),
        "S4.c": max(with_errors[key] / window[key] for key in STUDIED),
    }


def _pairs(runs: Runs, seed: int) -> Figures:
    """Makes the comparisons of S5 and S7: two flows with the same scheme."""
    time = {key: convergence(*runs.pair[key, seed]) for key in COMPARED}
    fair = {key: fairness(runs.pair[key, seed]) for key in (*COMPARED, *UNFAIR) if (key, seed) in runs.pair}
    lossy = {key: runs.lossy_pair[key, seed] for key in LOSSY}
    goodput = {key: sum(flow.goodput(0, 800) for flow in flows) for key, flows in lossy.items()}
    return {
        "S5.g": time["newreno"] - time["method-2"],
        "S5.h": time["method-2"] - time["bic"],
        "S5.i": min(_tunnel_gain(runs.pair[key, seed]) for key in COMPARED),
        "S7.a": goodput["bic"] / goodput["method-2"],
        "S7.b": convergence(*lossy["method-2"]) - convergence(*lossy["bic"]),
        "S7.c": min(fair["bic"], fair["method-2"]) - max(map(fair.__getitem__, UNFAIR)) if seed <= RUNS else None,
    }


def _means(runs: Runs, seed: int) -> Figures:
    """Returns the numbers of S5 and S7, and those beyond the study."""
    pairs = {key: flows for (key, of), flows in runs.pair.items() if of == seed}
    found: Figures = {}
    for key, name in zip((*COMPARED, *UNFAIR, *BEYOND), "abcefjklmn", strict=True):
        found[f"S5.{name}"] = convergence(*pairs[key]) if key in pairs else None
    long = runs.long_pair[seed]
    found["S5.d"] = long[0].round_trips(LEAVES, LEAVES + equal_windows(*long))
    for key, name in zip((*COMPARED, *reversed(UNFAIR), *MORE_PAIRS), "defghijklmn", strict=True):
        found[f"S7.{name}"] = fairness(pairs[key]) if key in pairs else None
    return found | _proxy(runs, seed)


def _proxy(runs: Runs, seed: int) -> Figures:
    """Returns the figures of one flow's goodput through a proxy: ahead of the tunnel, in it, and on the satellite with
    errors."""
    pep, newreno = (runs.single[key, seed] for key in ("pep", "newreno"))
    lossy_pep, lossy_newreno = (runs.lossy_single[key, seed] for key in ("pep", "newreno"))
    before, inside = (100.0, ENTERS - 5), (ENTERS + 10, LEAVES)
    return {
        "S4.d": pep.goodput(*before) / newreno.goodput(*before),
        "S4.e": pep.goodput(*inside) / newreno.goodput(*inside),
        "S4.f": lossy_pep.goodput(*before) / lossy_newreno.goodput(*before),
    }


def _mixed(flows: list[Flow]) -> Figures:
    """Measures S6: NewReno with method #2, which meets the tunnel, beside BIC."""
    other, bic = flows
    return {
        "S6.a": bic.mean_window(LEAVES, 800) / bic.mean_window(100, ENTERS),
        "S6.b": convergence(other, bic),
        "S6.c": other.timeouts_in(0, 800),
        "S6.d": bic.goodput(LEAVES, 800) / other.goodput(LEAVES, 800),
    }


def fairness(flows: list[Flow]) -> float:
    """Returns the mean of Jain's index from the second handover to 800 s."""
    index = jain(*(flow.goodputs() for flow in flows))
    return float(index[int(LEAVES) : 800 - OVER_S].mean())


def _tunnel_gain(flows: list[Flow]) -> float:
    """Returns the goodput of both flows while one has WiFi for itself, over that before."""
    inside, before = (sum(flow.goodput(*times) for flow in flows) for times in ((ENTERS + 10, LEAVES), (200, ENTERS)))
    return inside / before
