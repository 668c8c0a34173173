"""Study S's figures 4 to 12, from the runs of its checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from baton.plan.coverage import Line, extension
from baton.verdict import Estimate

from .checks import Expected, load_expected
from .figures import Curve, Figure, columns
from .study_s_growth import CONTROLS
from .study_s_run import BEYOND, ENTERS, LEAVES, SCHEMES, STUDIED, Flow, convergence, jain
from .transfer import Floats

if TYPE_CHECKING:
    from .study_s import Key, Runs

#: Each scheme looks the same in all figures.
LOOKS = {key: place for place, key in enumerate(SCHEMES)}
TUNNEL = ((ENTERS, "satellite down"), (LEAVES, "satellite up"))
#: Seconds over which goodput and Jain's index are drawn.
STEP = 10
#: Of the six schemes the study draws these in its figure 6; the others would hide them.
OVERVIEW = ("newreno", "method-1", "method-2", "bic")
#: A proxy's sender has a window for a path of 2 ms, which says nothing.
WINDOWS_BEYOND = BEYOND[:-1]


def draw(folder: Path, runs: Runs, grown: Mapping[str, tuple[float, float]]) -> list[Figure]:
    """Draws all of them, in the study's order."""
    published = {each.id: each for each in load_expected(folder / "expected.toml")}
    return [
        coverage(),
        _growth(grown, published),
        *_windows(runs),
        _goodputs("Figure 10: mean goodput of two flows, of which #1 meets a tunnel", runs.pair),
        _convergence(runs, published),
        _fairness("Figure 11: Jain's index of two flows", runs, ("newreno", "method-2", "bic", "scalable", "westwood")),
        _fairness("Beyond figure 11: the same of other schemes", runs, ("forgetting", *BEYOND)),
        _goodputs("Figure 12: mean goodput of two flows, packet error rate 5e-4", runs.lossy_pair),
    ]


def coverage() -> Figure:
    """Draws figure 4."""
    heights = np.linspace(0, 200, 41)

    def side(name: str, latitude: float) -> Floats:
        found = [extension(Line(), latitude, float(height)) for height in heights]
        return np.array([getattr(each, name).extension_m for each in found])

    curves = [
        Curve(f"before, {latitude:g}°", heights, side("before", latitude), look)
        for look, latitude in enumerate((35.0, 40.0, 45.0, 50.0, 55.0))
    ]
    return Figure(
        "Figure 4: WiFi's coverage outside the tunnel",
        "height of the obstacle (m)",
        "coverage (m)",
        [*curves, Curve("after, any latitude", heights, side("after", 45.0), 5)],
        "A train that runs from north to south. By the corrected equation 1.",
    )


def _growth(grown: Mapping[str, tuple[float, float]], published: Mapping[str, Expected]) -> Figure:
    names = [f"{SCHEMES[control].name}, after {what}" for what in ("the handover", "a loss") for control in CONTROLS]
    places = np.arange(len(names), dtype=np.float64)
    measured = [grown[control][what] for what in (0, 1) for control in CONTROLS]
    forms = [published[f"S2.{letter}"].published or np.nan for letter in "cdefgh"]
    return Figure(
        "Figure 5: growth of the window",
        "",
        "round trips",
        [
            Curve("closed form, corrected", places, np.array(forms), 0, shape="points"),
            Curve("simulated", places, np.array(measured), 7, shape="points"),
        ],
        "From what a loss on WiFi leaves to all that the satellite and its queue take, and back there after a loss.",
        names=names,
    )


def _windows(runs: Runs) -> Iterator[Figure]:
    single, lossy = "one flow", "one flow, packet error rate 1e-3"
    soon = (LEAVES - 5, 650)
    yield _window(f"Figure 6: window, {single}", runs.single, OVERVIEW)
    yield _window(f"Beyond figure 6: window, {single}, other schemes", runs.single, WINDOWS_BEYOND)
    yield _window("Figure 7: the same soon after the handover to the satellite", runs.single, STUDIED, soon)
    yield _window("Beyond figure 7: other schemes", runs.single, WINDOWS_BEYOND, soon)
    yield _window(f"Figure 8: window, {lossy}", runs.lossy_single, STUDIED)
    yield _window(f"Beyond figure 8: window, {lossy}, other schemes", runs.lossy_single, WINDOWS_BEYOND)
    moving, staying = runs.mixed[1]
    both = (("NewReno with method #2, which meets the tunnel", moving, "method-2"), ("BIC", staying, "bic"))
    yield _figure(
        "Figure 9: window of two flows on two trains",
        "packets",
        [Curve(name, *_second(flow.window, (0, 800)), LOOKS[key]) for name, flow, key in both],
    )


def _window(
    title: str, found: Mapping[Key, Flow], keys: Sequence[str], times: tuple[float, float] = (0, 800)
) -> Figure:
    curves = [Curve(SCHEMES[key].name, *_second(found[key, 1].window, times), LOOKS[key]) for key in keys]
    return _figure(title, "packets", curves)


def _second(values: Floats, times: tuple[float, float]) -> tuple[Floats, Floats]:
    """Returns a quantity of each second of a stretch of time, and the seconds."""
    seconds = np.arange(int(times[0]), min(int(times[1]) + 1, len(values)))
    return seconds.astype(np.float64), values[seconds]


def _goodputs(title: str, found: Mapping[Key, list[Flow]]) -> Figure:
    curves = []
    for key in ("method-2", "bic"):
        for number in (0, 1):
            name, look = f"{SCHEMES[key].name}, flow #{number + 1}", LOOKS[key] + 6 * number
            curves.append(_mean(name, look, [_rate(flows[number]) / 1e6 for flows in _first_ten(found, key)]))
    return _figure(
        title, "Mbit/s", curves, "Means of the first ten seeds with their 95 % intervals; each point is of ten seconds."
    )


def _fairness(title: str, runs: Runs, keys: Sequence[str]) -> Figure:
    curves = [
        _mean(
            SCHEMES[key].name,
            LOOKS[key],
            [jain(_rate(one), _rate(other)) for one, other in _first_ten(runs.pair, key)],
        )
        for key in keys
    ]
    return _figure(title, "Jain's index", curves, "Means of the first ten seeds with their 95 % intervals.")


def _rate(flow: Flow) -> Floats:
    """Returns a rate in bit/s, for each ten seconds."""
    return np.diff(flow.delivered[::STEP]) * 8 / STEP


def _first_ten(found: Mapping[Key, list[Flow]], key: str) -> list[list[Flow]]:
    """Returns a scheme's runs with as many seeds as a figure of the study has."""
    return [flows for (scheme, seed), flows in found.items() if scheme == key and seed <= 10]


def _mean(name: str, look: int, values: Sequence[Floats]) -> Curve:
    """Returns the mean of a quantity over several runs, for each ten seconds."""
    mean, low, high = columns([Estimate.mean(moment) for moment in zip(*values, strict=True)])
    times = STEP * np.arange(0.5, len(mean), dtype=np.float64)
    return Curve(name, times, mean, look, low, high)


def _convergence(runs: Runs, published: Mapping[str, Expected]) -> Figure:
    letters = {"newreno": "a", "method-2": "b", "bic": "c", "westwood": "e", "scalable": "f"}
    keys = (*letters, "forgetting", *BEYOND)
    found = [Estimate.mean([convergence(*flows) for flows in _first_ten(runs.pair, key)]) for key in keys]
    places = np.arange(len(keys), dtype=np.float64)
    mean, low, high = columns(found)
    told = [published[f"S5.{letters[key]}"].published if key in letters else None for key in keys]
    return Figure(
        "Convergence times of two flows (section 8)",
        "",
        "s",
        [
            Curve("simulated", places, mean, 0, low, high, "points"),
            Curve(
                "published (of Westwood+ and Scalable: at least)",
                places,
                np.array(told, dtype=np.float64),
                7,
                shape="points",
            ),
        ],
        "Means of the first ten seeds with their 95 % intervals. The run ends 675 s after the handover.",
        names=[SCHEMES[key].name for key in keys],
    )


def _figure(title: str, unit: str, curves: Sequence[Curve], note: str = "") -> Figure:
    within = [mark for mark in TUNNEL if curves[0].x[0] <= mark[0] <= curves[0].x[-1]]
    return Figure(title, "time (s)", unit, curves, note, within)
