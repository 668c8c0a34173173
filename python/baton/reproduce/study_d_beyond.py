"""Future work that study D names: other rates, other TCPs, other strategies, voice, a full cell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from baton import Scenario
from baton.live.trials import Figures

from .study_d_run import FAST, HOME, AircraftRun, simulate, window

#: Voice: a frame of 20 B each 20 ms (8 kbit/s). With its headers it needs 46 kbit/s abroad, so the cells give 158.
VOICE = [
    "links.radio.user_rate=158 kbit/s",
    'flows=[{ name = "voice", from = "operations", to = "display", transport = "udp",'
    ' traffic = { kind = "constant", rate = "8 kbit/s", packet_size = "20 B" },'
    ' start = "43 s", start_jitter = "3750 ms" }]',
]
NEW_RENO = ["flows.weather.transport.congestion=newreno", "flows.weather.transport.recovery=newreno"]
SACK = ["flows.weather.transport.recovery=sack", "flows.weather.transport.sack=true"]
#: At 158 kbit/s half of the file has been sent after three to four seconds.
LATER = ["flows.weather.start=57 s", "flows.weather.start_jitter=1800 ms"]
#: Different rates in the cells (section 8).
FASTER_CELL = ["links.radio.cells.home.user_rate=31.5 kbit/s", "links.radio.cells.foreign.user_rate=158 kbit/s"]
SLOWER_CELL = ["links.radio.cells.home.user_rate=158 kbit/s", "links.radio.cells.foreign.user_rate=31.5 kbit/s", *LATER]
#: The base station names the next cell ahead, the aircraft registers there, and the home agent sends to both. Chosen:
#: longer than the base station may take to let the aircraft go, at Th2.
BICASTING_AHEAD = [
    "links.radio.packet_bit=true",
    "home_agents.home-agent.bicasting=10 s",
    "mobiles.aircraft.mobility.predictive_binding_updates=true",
]
ROUTERS_HOLD = "mobiles.aircraft.mobility.access_router_buffering={}"
#: The receive window of D4's product at 31.5 kbit/s, in whole segments.
FROM_LINK = ["flows.weather.transport.receive_buffer=2 KiB"]
#: The receiver measures rate and round-trip time of its connection (section 5.4, reference 43).
RIGHT_SIZING = [
    "flows.weather.transport.receive_buffer=64 KiB",
    "flows.weather.transport.receive_autotuning=right-sizing",
]
#: The link tells its rate and round-trip time (references 41 and 42): only to a receiver in the aircraft's router.
TOLD_BY_LINK = ["flows.weather.to=aircraft", 'flows.weather.remedies=["path-window"]', *window(64)]
#: Error rates of our own physical layer, by the received signal.
COMPUTED = ["links.radio.errors=computed"]
#: Aircraft in one cell (section 1.1).
CROWD = 90


def timers(folder: Path, seed: int) -> Figures:
    """Measures D6 and D8 with RFC 6298's timer in place of the one in the study's simulator."""
    baseline, first, second = (
        simulate(folder / f"{name}.toml", seed, ["flows.weather.transport.rto_arithmetic=rfc6298"], "series")
        for name in ("baseline", "proposal-1", "proposal-2")
    )
    return {
        "D6.b": first.timeout_at_handover(),
        "D8.i": first.completion_s - second.completion_s,
        "D8.j": baseline.timeouts,
        "D8.k": first.timeouts,
    }


def rates(folder: Path, seed: int) -> Figures:
    """Measures D12: different rates in the cells."""
    faster, slower = (_completion_and_gain(folder, seed, cells) for cells in (FASTER_CELL, SLOWER_CELL))
    return {"D12.a": faster[1], "D12.b": slower[1], "D12.c": faster[0], "D12.d": slower[0]}


def stacks(folder: Path, seed: int) -> Figures:
    """Measures D13: the gain of buffering with other recoveries of TCP."""
    return {"D13.a": _gain(folder, seed, NEW_RENO), "D13.b": _gain(folder, seed, SACK)}


def strategies(folder: Path, seed: int) -> Figures:
    """Measures D14: strategies of different nodes, by completion times."""
    runs = list(_strategies(folder, seed, []))
    figures: Figures = {f"D14.{letter}": run.completion_s for letter, run in zip("abcdef", runs, strict=True)}
    # Of the segments themselves; copies that end on the other link are not lost.
    figures["D14.g"] = sum(runs[-1].handover["flows"][0]["lost_by"]["to_sink"].values())
    return figures


def voice(folder: Path, seed: int) -> Figures:
    """Measures D15: the interruption of voice."""
    figures: Figures = {"D15.a": _silence(simulate(folder / "baseline.toml", seed, VOICE))}
    for letter, run in zip("bcdefg", _strategies(folder, seed, VOICE), strict=True):
        figures[f"D15.{letter}"] = _silence(run)
    return figures


def windows(folder: Path, seed: int) -> Figures:
    """Measures D17: the receive window that the link's rate and round-trip time ask for (section 5.4)."""
    first = simulate(folder / "proposal-1.toml", seed, FROM_LINK, "series")
    return {
        "D17.a": first.completion_s,
        "D17.b": first.timeout_at_handover(),
        "D17.c": _gain(folder, seed, FROM_LINK),
    }


def dynamic_windows(folder: Path, seed: int) -> Figures:
    """Measures D20: receive windows that follow rate and round-trip time, in cells of equal and of different rates."""
    values = (
        value
        for window_by in (RIGHT_SIZING, TOLD_BY_LINK)
        for cells in ([], FASTER_CELL, SLOWER_CELL)
        for value in _completion_and_gain(folder, seed, [*window_by, *cells])
    )
    figures: Figures = {f"D20.{letter}": value for letter, value in zip("abcdefghijkl", values, strict=True)}
    for letter, cell in (("m", []), ("n", FAST)):
        alone = simulate(folder / "proposal-1.toml", seed, [*HOME, *RIGHT_SIZING, *cell], "series")
        figures[f"D20.{letter}"] = float(alone.over_time("bytes in flight")[1].max()) / 1024
    return figures


def computed_errors(folder: Path, seed: int) -> Figures:
    """Measures D18.c to e: the handover with error rates computed from the signal (figure 4's place)."""
    first, second = (simulate(folder / f"proposal-{number}.toml", seed, COMPUTED) for number in (1, 2))
    return {
        "D18.c": first.completion_s,
        "D18.d": second.completion_s,
        "D18.e": first.completion_s - second.completion_s,
    }


CASES = (timers, rates, stacks, strategies, voice, windows, dynamic_windows, computed_errors)


def crowd(folder: Path) -> Figures:
    """Measures D16: ninety aircraft in one cell, each with section 7's traffic."""
    text = (folder / "crowd.toml").read_text(encoding="utf-8") + "".join(_aircraft())
    flows = Scenario.parse(text, folder).run(seed=1).summary["flows"]
    of = {kind: [flow for flow in flows if flow["name"].startswith(kind)] for kind in (*MIX, "messages")}
    maps, plans = (np.array([flow["completion_s"] or np.inf for flow in of[kind]]) for kind in ("map", "plan-down"))
    return {
        "D16.a": float(np.mean(maps)),
        "D16.b": float(np.quantile(maps, 0.95)),
        "D16.c": float(np.quantile(plans, 0.95)),
        "D16.d": float(np.mean([flow["ping"]["mean_rtt_s"] for flow in of["messages"]])),
    }


#: Section 7's transfers of an aircraft: name, whence (0 on the ground, 1 in the air) and bytes. With its messages (27
#: of 300 B, each answered by as much) the map is four fifths of all.
MIX = {"map": (0, "110 kB"), "plan-down": (0, "6 kB"), "plan-up": (1, "5 kB")}
MESSAGES = 'traffic = { kind = "ping", size = "300 B", interval = "30 s", count = 27 }\n'
#: Chosen: seconds over which the aircraft begin, so that the forward link is seven tenths busy.
BEGIN_WITHIN = 450.0


def _aircraft() -> Iterator[str]:
    """Returns the aircraft of the crowd except the first, which the scenario has, and the flows of all, one after the
    other."""
    for number in range(1, CROWD):
        angle = 2 * np.pi * number / CROWD
        latitude, longitude = 50 + np.sin(angle), 5 + np.cos(angle)
        yield (
            f'\n[mobiles.aircraft-{number}]\ntimetable = [{{ at = "0 s", attach = "radio" }}]\n'
            f"track = {{ position = {{ latitude = {latitude:.4f}, longitude = {longitude:.4f},"
            ' altitude = "10 km" } }\n'
        )
    for number in range(CROWD):
        begin = BEGIN_WITHIN * number / CROWD
        for kind, (whence, size) in MIX.items():
            ends = ("operations" if kind == "map" else "centre", f"aircraft-{number}")
            yield _flow(f"{kind}-{number}", (ends[whence], ends[1 - whence]), begin, f'traffic.bytes = "{size}"\n')
        yield _flow(f"messages-{number}", ("centre", f"aircraft-{number}"), begin, MESSAGES)


def _flow(name: str, ends: tuple[str, str], begin: float, traffic: str) -> str:
    """Returns a flow; all except the map have priority over the map."""
    return (
        f'\n[[flows]]\nname = "{name}"\nfrom = "{ends[0]}"\nto = "{ends[1]}"\nstart = "{begin} s"\n'
        f"priority = {int(not name.startswith('map'))}\ntransport = {TCP}\n{traffic}"
    )


#: As in the study's scenarios.
TCP = (
    '{ profile = "rfc", congestion = "reno", recovery = "reno", sack = false, window_scaling = false,'
    ' limited_transmit = false, initial_window = 1, initial_rto = "3 s", rto_arithmetic = "inet", delayed_ack = "off",'
    ' maximum_segment_size = "1024 B", receive_buffer = "6 KiB" }'
)


def _completion_and_gain(folder: Path, seed: int, overrides: list[str]) -> tuple[float, float]:
    """Returns the completion of proposal 1, and seconds by which proposal 2 completes earlier."""
    first, second = (simulate(folder / f"proposal-{number}.toml", seed, overrides) for number in (1, 2))
    return first.completion_s, first.completion_s - second.completion_s


def _gain(folder: Path, seed: int, overrides: list[str]) -> float:
    """Returns seconds by which proposal 2 completes earlier than proposal 1."""
    return _completion_and_gain(folder, seed, overrides)[1]


def _strategies(folder: Path, seed: int, overrides: list[str]) -> Iterator[AircraftRun]:
    """Yields runs in which no node keeps packets; the home agent does, or sends to both places; the base station; the
    access router; and in which the home agent sends to both places ahead."""
    first, second = folder / "proposal-1.toml", folder / "proposal-2.toml"
    yield simulate(first, seed, overrides)
    yield simulate(second, seed, overrides)
    yield simulate(first, seed, [*overrides, "home_agents.home-agent.bicasting=2 s"])
    yield simulate(first, seed, [*overrides, "links.radio.base_station_buffering=true"])
    # The base station says ahead that it lets the aircraft go, so that the router holds before packets are in the air.
    yield simulate(first, seed, [*overrides, "links.radio.packet_bit=true", ROUTERS_HOLD])
    yield simulate(first, seed, [*overrides, *BICASTING_AHEAD])


def _silence(run: AircraftRun) -> float:
    """Returns the longest time without a frame of voice."""
    return float(run.flow["longest_stall_s"])
