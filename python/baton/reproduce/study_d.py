"""Study D: network mobility over L-DACS1, with buffering by the home agent (D0 to D19)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from baton._baton import json_radio_figures
from baton.live.trials import Figures
from baton.sweep.engines import Engine

from . import study_d_beyond as beyond
from . import study_d_figures as drawing
from .checks import Reproduced, judged, put
from .spread import spread
from .study_d_load import load
from .study_d_run import FAST, GROUND, HOME, REQUESTED, AircraftRun, simulate, window
from .study_run import ratio

#: Runs of each scenario; the seed draws the flow's start (ten RTTs) and the handover's time (± one RTT).
RUNS = 20
#: The study's cell for its link budget: metres, aircraft with a slot in the control channel, bytes of a binding update.
DISTANCE_M, AIRCRAFT, UPDATE_BYTES = 225e3, 16, 84

#: A track on which the aircraft stands still in the foreign cell.
ABROAD = ["mobiles.aircraft.track={ position = { latitude = 52.6, longitude = 5.0, altitude = '10 km' } }"]
#: One segment at a time, and its small reply; the interval is no multiple of a frame's.
PING = ["duration=200 s", "flows.weather.traffic.kind=constant", "flows.weather.traffic.rate=8135 bit/s"]
#: Signalling messages that are lost (section 6.1); regular ones not when the aircraft first attaches.
NO_REQUESTS = "{ message = 'Binding Update', buffering = true }"
NO_ANSWERS = "{ message = 'Binding Acknowledgement', buffering = true }"
FIRST_UPDATE = "{ message = 'Binding Update', buffering = false, count = 1, after = '50 s' }"
FIRST_ANSWER = "{ message = 'Binding Acknowledgement', buffering = false, count = 1, after = '50 s' }"
#: As IPsec leaves it: nobody but its ends sees a segment's numbers.
OPAQUE = "home_agents.home-agent.buffering.drop_duplicates=false"
#: So many that the aircraft registers only after the sender's timer.
FOUR_UPDATES = "{ message = 'Binding Update', buffering = false, count = 4, after = '50 s' }"


def reproduce(
    folder: Path,
    progress: Callable[[str], None] = lambda _: None,
    seeds: int = RUNS,
    engine: Engine | None = None,
) -> Reproduced:
    """Makes all checks of the study, in the order of its file of expectations."""
    cases = (_losses, pings, windows, handovers, _conditions, *beyond.CASES, load)
    tasks = [(case, (seed,)) for seed in range(1, seeds + 1) for case in cases]
    samples: dict[str, list[float]] = {}
    put(samples, _arithmetic())
    for (_, (seed,)), figures in zip(tasks, spread(engine, folder, tasks), strict=True):
        progress(f"seed {seed} of {seeds}")
        put(samples, figures)
    put(samples, beyond.crowd(folder))

    return Reproduced(judged(folder, samples), drawing.draw(folder, samples))


def _arithmetic() -> Figures:
    """Computes D0, D1, the formulas of D2, and D18.a and b, by the radio's model."""
    figures = json.loads(json_radio_figures(DISTANCE_M, AIRCRAFT, UPDATE_BYTES))
    forward, back = figures["forward"], figures["return"]
    rates = (side[key] / 1e3 for side in (forward, back) for key in ("slowest_bps", "fastest_bps"))
    keys = ("noise_dbm", "sensitivity_dbm", "operation_point_dbm", "received_dbm", "margin_db")
    budget = (side[key] for key in keys for side in (forward, back))
    losses = (
        back["message_loss"],
        back["message_loss_repeated"],
        forward["message_loss"],
        forward["message_loss_repeated"],
        back["message_loss_jointly_coded"],
    )
    computed = (side["computed_snr_db"] for side in (forward, back))
    return {
        **_numbered("D0", rates),
        **_numbered("D1", budget),
        **_numbered("D2", losses),
        **_numbered("D18", computed),
    }


def _numbered(group: str, values: Iterable[float | None]) -> Figures:
    """Returns checks of a group in the order of their letters."""
    return {f"{group}.{chr(ord('a') + place)}": value for place, value in enumerate(values)}


def _losses(folder: Path, seed: int) -> Figures:
    """Measures D2 by simulation: datagrams of an update's size, up from a stationary aircraft."""
    file = folder / "updates.toml"

    def lost(*overrides: str) -> float:
        flow = simulate(file, seed, list(overrides)).summary["flows"][0]
        return float(flow["lost_packets"]) / float(flow["segments_sent"])

    return {
        "D2.f": lost("flows.updates.acknowledged=false"),
        "D2.g": lost("flows.updates.acknowledged=true"),
        "D2.h": lost("flows.updates.acknowledged=false", "links.radio.joint_coding=true"),
    }


def pings(folder: Path, seed: int) -> Figures:
    """Measures D3 and D4: a segment at a time, at home and abroad."""
    figures: Figures = {}
    products: list[float | None] = []
    for size, name in ((256, "a"), (512, "b"), (1024, "c")):
        sized = [f"flows.weather.traffic.packet_size={size} B", f"flows.weather.traffic.bytes={100 * size} B"]
        home = simulate(folder / "proposal-1.toml", seed, [*HOME, *PING, *sized], "series packets")
        away = simulate(folder / "proposal-1.toml", seed, [*ABROAD, *PING, *sized], "series packets")
        figures[f"D3.{name}"] = home.mean_rtt()
        figures[f"D3.{chr(ord(name) + 3)}"] = home.overhead(size)
        figures[f"D3.{chr(ord(name) + 6)}"] = away.overhead(size)
        if size == 1024:
            fast = simulate(folder / "proposal-1.toml", seed, [*HOME, *PING, *sized, *FAST], "series")
            figures["D3.j"] = away.mean_rtt()
            for letter, reading in (("k", REQUESTED), ("l", GROUND)):
                overrides = [*HOME, *PING, *sized, *reading]
                figures[f"D3.{letter}"] = simulate(folder / "proposal-1.toml", seed, overrides, "series").mean_rtt()
            products = [_product(31.5, home.mean_rtt()), _product(158, fast.mean_rtt())]
    return {**figures, **_numbered("D4", products)}


def _product(kilobits: float, rtt: float | None) -> float | None:
    """Returns rate times round-trip time, in kilobytes."""
    return None if rtt is None else kilobits * rtt / 8


def windows(folder: Path, seed: int) -> Figures:
    """Measures D5: receive windows, at two rates; then with the pipe in the radio's place."""
    file, pipe = folder / "proposal-1.toml", folder / "pipe.toml"
    slow = {size: simulate(file, seed, [*HOME, *window(size)], "series") for size in (2, 4, 8, 16)}
    fast = {size: simulate(file, seed, [*HOME, *FAST, *window(size)], "series") for size in (2, 8, 16)}
    piped = {size: simulate(pipe, seed, ["links.radio.rate=158 kbit/s", *window(size)]) for size in (2, 8)}
    longest = {size: run.largest_rtt() for size, run in slow.items()}
    values = (
        longest[16],
        longest[8] / longest[16],
        longest[4] / longest[8],
        longest[2] / longest[4],
        fast[2].completion_s - fast[8].completion_s,
        fast[16].largest_rtt() / longest[16],
        simulate(pipe, seed, window(16), "series").largest_rtt(),
        piped[2].completion_s - piped[8].completion_s,
    )
    return _numbered("D5", values)


def handovers(folder: Path, seed: int) -> Figures:
    """Measures D6 to D9: the three scenarios."""
    baseline, first = (simulate(folder / f"{name}.toml", seed, [], "series") for name in SCENARIOS[:2])
    second = simulate(folder / f"{SCENARIOS[2]}.toml", seed, [], "series packets")
    delayed = baseline.completion_s - first.completion_s
    twice = baseline.timeouts >= 2 > first.timeouts
    earlier = first.completion_s - second.completion_s
    return {
        "D6.a": first.timeout_at_handover(),
        "D7.a": first.handover_s,
        "D7.b": second.handover_s,
        "D7.c": baseline.handover_s - first.handover_s,
        "D7.d": second.first_segment_s(),
        "D8.a": None if twice else baseline.completion_s / first.completion_s,
        "D8.b": delayed if twice else None,
        "D8.c": float(twice),
        "D8.d": earlier,
        "D8.e": 100 * earlier / first.completion_s,
        "D8.f": baseline.completion_s,
        "D8.g": first.completion_s,
        "D8.h": second.completion_s,
        "D9.a": second.handover_at_s - first.handover_at_s,
        "D9.b": second.timeouts,
    }


#: Baseline, proposal 1, proposal 2.
SCENARIOS = ("baseline", "proposal-1", "proposal-2")


def _conditions(folder: Path, seed: int) -> Figures:
    """Measures D10 and D11: lost signalling messages."""
    file = folder / "proposal-2.toml"

    def losing(*losses: str, record: str = "") -> AircraftRun:
        return simulate(file, seed, [f"losses=[{', '.join(losses)}]"], record)

    plain, first = simulate(file, seed, []), simulate(folder / "proposal-1.toml", seed, [])
    requests, answers = losing(NO_REQUESTS), losing(NO_ANSWERS)
    update, answer = losing(NO_ANSWERS, FIRST_UPDATE), losing(NO_ANSWERS, FIRST_ANSWER, record="packets")
    late = losing(NO_ANSWERS, FOUR_UPDATES)
    opaque = simulate(file, seed, [f"losses=[{NO_ANSWERS}, {FOUR_UPDATES}]", OPAQUE])
    values = (
        requests.handover_at_s - first.handover_at_s,
        requests.completion_s / first.completion_s,
        requests.held["held"],
        ratio(answers.held["held"], plain.held["held"]),
        answers.timeouts,
        answers.completion_s / plain.completion_s,
        ratio(update.held["held"], plain.held["held"]),
        update.handover_s - plain.handover_s,
        update.timeouts,
        answer.dropped_before_answer(),
        answer.handover_s - plain.handover_s,
    )
    outlasting = (late.held["duplicates"], late.timeouts, opaque.held["duplicates"])
    return {**_numbered("D10", values), **_numbered("D11", outlasting)}
