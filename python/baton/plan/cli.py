"""The commands `baton plan coverage`, `window`, `link-budget` and `ldacs1-errors`: options in, figures out."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from baton.errors import InputError

from . import show
from .budget import Channel, Station, budget
from .coverage import Line, elevation_deg, extension
from .ldacs1 import table
from .ldacs1.channel import EnRoute
from .ldacs1.errors import Effort
from .ldacs1.frames import MODULATIONS
from .quantities import above_zero, read, within
from .window import Segments, advise, advise_handover, compare_sizes

app = typer.Typer(help="The studies' design equations for your own case.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]


class Heading(str, Enum):
    """Direction in which a train runs."""

    south = "south"
    north = "north"


class Surroundings(str, Enum):
    """Channel of a radio."""

    en_route = "en-route"
    awgn = "awgn"


@app.callback()
def plan() -> None:
    """The studies' design equations for your own case."""


@app.command()
def coverage(
    latitude: Annotated[
        list[float], typer.Option(metavar="DEGREES", help="Latitude of the tunnel, north positive. Repeatable.")
    ],
    obstacle: Annotated[
        str, typer.Option(metavar="HEIGHT", help="Rock over the tunnel, from the train's antenna up, such as '100 m'.")
    ],
    heading: Annotated[Heading, typer.Option(help="Direction of travel.")] = Heading.south,
    speed: Annotated[str, typer.Option(metavar="SPEED", help="Speed of the train.")] = "320 km/h",
    reach: Annotated[str, typer.Option("--coverage", metavar="DISTANCE", help="Reach of one access point.")] = "200 m",
    synchronisation: Annotated[
        str, typer.Option(metavar="TIME", help="Time until a receiver follows a signal that it has found.")
    ] = "50 ms",
    repointing: Annotated[
        str, typer.Option(metavar="TIME", help="Time until the antenna points to the satellite again.")
    ] = "500 ms",
    satellite_round_trip: Annotated[
        str, typer.Option(metavar="TIME", help="Round trip to the sender, over the satellite.")
    ] = "580 ms",
    wifi_round_trip: Annotated[
        str, typer.Option(metavar="TIME", help="Round trip to the sender, over WiFi.")
    ] = "20 ms",
    altitude: Annotated[
        str, typer.Option(metavar="HEIGHT", help="Altitude of the satellite; study S has 35930 km.")
    ] = ("35786 km"),
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the coverage over the obstacle's height, as PDF, SVG or PNG."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compute the WiFi coverage needed outside a tunnel, for a train on a satellite (study S, equations 1 to 7)."""
    line = Line(
        speed_mps=read("--speed", "speed", speed),
        coverage_m=above_zero("--coverage", "distance", reach),
        synchronisation_s=read("--synchronisation", "time", synchronisation),
        repointing_s=read("--repointing", "time", repointing),
        satellite_rtt_s=read("--satellite-round-trip", "time", satellite_round_trip),
        wifi_rtt_s=read("--wifi-round-trip", "time", wifi_round_trip),
        altitude_m=above_zero("--altitude", "distance", altitude),
    )
    height = read("--obstacle", "distance", obstacle)
    for each in latitude:
        within("--latitude", each, -90, 90, "degrees")
        show.refuse_below_horizon(each, elevation_deg(each, line.altitude_m))
    southbound = heading is Heading.south
    if plot is not None:
        show.write_plot(plot, line, latitude, height, southbound)
    found = [extension(line, each, height, southbound=southbound) for each in latitude]
    show.coverage(line, found, plot, as_json=json)


@app.command()
def window(
    rate: Annotated[str, typer.Option(metavar="RATE", help="Rate of the bottleneck, such as '31.5 kbit/s'.")],
    round_trip: Annotated[
        str, typer.Option(metavar="TIME", help="Round trip of a small packet, with nothing in the queue.")
    ],
    queue: Annotated[str | None, typer.Option(metavar="SIZE", help="Room in the bottleneck's queue.")] = None,
    new_rate: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of the path after a handover.")] = None,
    new_round_trip: Annotated[str | None, typer.Option(metavar="TIME", help="Round trip of that path.")] = None,
    new_queue: Annotated[str | None, typer.Option(metavar="SIZE", help="Room in the queue of that path.")] = None,
    in_flight: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Window at the handover; default: the most that the old path takes, or without --queue what it needs.",
        ),
    ] = None,
    segment: Annotated[str, typer.Option(metavar="SIZE", help="Payload of a segment.")] = "1460 B",
    headers: Annotated[str, typer.Option(metavar="SIZE", help="All headers of a segment on the bottleneck.")] = "40 B",
    least_timeout: Annotated[
        str, typer.Option(metavar="TIME", help="The sender's minimum timeout; Linux: 200 ms.")
    ] = "200 ms",
    json: JsonOption = False,
) -> None:
    """Compute the window and the buffer that a path and its handover need (studies T and D)."""
    cut = Segments(int(read("--segment", "size", segment)), int(read("--headers", "size", headers)))
    old = show.path(("--rate", rate), ("--round-trip", round_trip), ("--queue", queue))
    paths, moved = {"path": advise(old, cut)}, None
    slowest = old
    if show.has_new_path(new_rate, new_round_trip, new_queue, in_flight):
        new = show.path(("--new-rate", new_rate), ("--new-round-trip", new_round_trip), ("--new-queue", new_queue))
        paths = {"old": advise(old, cut), "new": advise(new, cut)}
        most = paths["old"].most_window_bytes or paths["old"].receive_window_bytes
        held = most if in_flight is None else read("--in-flight", "size", in_flight)
        floor = above_zero("--least-timeout", "time", least_timeout)
        moved = advise_handover(old, new, cut, held, floor)
        slowest = min(old, new, key=lambda each: each.rate_bps)
    show.window(paths, moved, compare_sizes(slowest, cut), as_json=json)


@app.command("link-budget")
def link_budget(
    distance: Annotated[str, typer.Option(metavar="DISTANCE", help="Distance between the stations.")] = "225 km",
    ground_power: Annotated[str, typer.Option(metavar="POWER", help="Power of the ground station.")] = "41 dBm",
    ground_gain: Annotated[float, typer.Option(metavar="DBI", help="Gain of its antenna.")] = 8.0,
    ground_loss: Annotated[float, typer.Option(metavar="DB", help="Loss in its cables and diplexer.")] = 2.0,
    ground_noise_figure: Annotated[float, typer.Option(metavar="DB", help="Noise figure of its receiver.")] = 5.0,
    aircraft_power: Annotated[str, typer.Option(metavar="POWER", help="Power of the aircraft.")] = "41 dBm",
    aircraft_gain: Annotated[float, typer.Option(metavar="DBI", help="Gain of its antenna.")] = 0.0,
    aircraft_loss: Annotated[float, typer.Option(metavar="DB", help="Loss in its cables and diplexer.")] = 3.5,
    aircraft_noise_figure: Annotated[float, typer.Option(metavar="DB", help="Noise figure of its receiver.")] = 6.0,
    forward_frequency: Annotated[
        str, typer.Option(metavar="FREQUENCY", help="Frequency towards the aircraft.")
    ] = "993.5 MHz",
    return_frequency: Annotated[
        str, typer.Option(metavar="FREQUENCY", help="Frequency from the aircraft.")
    ] = "1056.5 MHz",
    bandwidth: Annotated[str, typer.Option(metavar="FREQUENCY", help="Bandwidth of the signal.")] = "498.05 kHz",
    snr: Annotated[float, typer.Option(metavar="DB", help="Signal-to-noise ratio that the modulation needs.")] = 8.7,
    safety: Annotated[float, typer.Option(metavar="DB", help="Margin that the signal must have beyond that.")] = 6.0,
    json: JsonOption = False,
) -> None:
    """Compute the link budget of a cell (study D, tables 1 and 2, with the sign of its equation 1 corrected)."""
    ground = _station("--ground", ground_power, (ground_gain, ground_loss, ground_noise_figure))
    aircraft = _station("--aircraft", aircraft_power, (aircraft_gain, aircraft_loss, aircraft_noise_figure))
    channel = Channel(
        distance_m=above_zero("--distance", "distance", distance),
        bandwidth_hz=read("--bandwidth", "frequency", bandwidth),
        snr_db=within("--snr", snr, -50, 100, "dB"),
        safety_db=within("--safety", safety, 0, 100, "dB"),
    )
    forward = budget(ground, aircraft, read("--forward-frequency", "frequency", forward_frequency), channel)
    back = budget(aircraft, ground, read("--return-frequency", "frequency", return_frequency), channel)
    show.link_budget(channel, forward, back, as_json=json)


@app.command("ldacs1-errors")
def ldacs1_errors(
    channel: Annotated[
        Surroundings,
        typer.Option(
            help="en-route: echoes, and pulses that the receiver blanks; the channel is estimated. awgn: white noise"
            " alone."
        ),
    ] = Surroundings.en_route,
    rician_k: Annotated[
        float | None,
        typer.Option("--rician-k", metavar="DB", help="Direct path over echoes, en route. Default: 15."),
    ] = None,
    pulse_pairs: Annotated[
        float | None,
        typer.Option(metavar="RATE", help="Pairs of pulses a second of all interferers, en route. Default: 10800."),
    ] = None,
    modulation: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Modulation and code rate, such as qpsk-1/2. Repeatable. Default: all."),
    ] = None,
    lost: Annotated[int, typer.Option(min=5, help="Lost frames after which a rate is good enough.")] = 100,
    bits: Annotated[
        int, typer.Option(min=1, help="Most bits to encode for a rate; the lowest rate is about 4000 over it.")
    ] = 100_000_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of bits, noise, echoes and pulses.")] = 1,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes. Default: one a processor.")] = None,
) -> None:
    """Simulate the physical layer of L-DACS1, and print a table of error rates for `error_table`. All modulations take
    half an hour on two processors."""
    for name in modulation or ():
        if name not in MODULATIONS:
            raise InputError(f'--modulation "{name}": expected one of {", ".join(MODULATIONS)}')
    for option, given in (("--rician-k", rician_k), ("--pulse-pairs", pulse_pairs)):
        if given is not None and channel is Surroundings.awgn:
            raise InputError(f"{option} {given:g}: white noise alone has none; expected --channel en-route with it")
    surroundings = EnRoute(
        rician_k_db=within("--rician-k", 15.0 if rician_k is None else rician_k, -20, 100, "dB"),
        pulse_pairs_per_s=within("--pulse-pairs", 10_800.0 if pulse_pairs is None else pulse_pairs, 0, 1e5, "a second"),
    )
    of = surroundings if channel is Surroundings.en_route else None
    for row in table.rows(of, Effort(lost, bits), seed, workers, modulation or MODULATIONS):
        print(row, flush=True)


def _station(side: str, power: str, rest: tuple[float, float, float]) -> Station:
    gain, loss, noise_figure = rest
    return Station(
        read(f"{side}-power", "power", power),
        within(f"{side}-gain", gain, -100, 100, "dBi"),
        within(f"{side}-loss", loss, 0, 100, "dB"),
        within(f"{side}-noise-figure", noise_figure, 0, 100, "dB"),
    )
