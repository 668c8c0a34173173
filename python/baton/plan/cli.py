"""The commands `baton plan coverage`, `window`, `link-budget` and `ldacs1-errors`: options in, figures out."""

from __future__ import annotations

from pathlib import Path

import click

from baton.command_line import PATH, Group
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

json_option = click.option("--json", is_flag=True, help="Print one JSON object on standard output.")


@click.group(cls=Group, name="plan", no_args_is_help=True)
def app() -> None:
    """The studies' design equations for your own case."""


@app.command()
@click.option(
    "--latitude",
    multiple=True,
    required=True,
    type=float,
    metavar="DEGREES",
    help="Latitude of the tunnel, north positive. Repeatable.",
)
@click.option(
    "--obstacle",
    required=True,
    metavar="HEIGHT",
    help="Rock over the tunnel, from the train's antenna up, such as '100 m'.",
)
@click.option("--heading", type=click.Choice(("south", "north")), default="south", help="Direction of travel.")
@click.option("--speed", default="320 km/h", metavar="SPEED", help="Speed of the train.")
@click.option("--coverage", "reach", default="200 m", metavar="DISTANCE", help="Reach of one access point.")
@click.option(
    "--synchronisation",
    default="50 ms",
    metavar="TIME",
    help="Time until a receiver follows a signal that it has found.",
)
@click.option(
    "--repointing", default="500 ms", metavar="TIME", help="Time until the antenna points to the satellite again."
)
@click.option(
    "--satellite-round-trip", default="580 ms", metavar="TIME", help="Round trip to the sender, over the satellite."
)
@click.option("--wifi-round-trip", default="20 ms", metavar="TIME", help="Round trip to the sender, over WiFi.")
@click.option(
    "--altitude", default="35786 km", metavar="HEIGHT", help="Altitude of the satellite; study S has 35930 km."
)
@click.option(
    "--plot", type=PATH, metavar="FILE", help="Draw the coverage over the obstacle's height, as PDF, SVG or PNG."
)
@json_option
def coverage(
    latitude: tuple[float, ...],
    obstacle: str,
    heading: str,
    speed: str,
    reach: str,
    synchronisation: str,
    repointing: str,
    satellite_round_trip: str,
    wifi_round_trip: str,
    altitude: str,
    plot: Path | None,
    json: bool,
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
    southbound = heading == "south"
    if plot is not None:
        show.write_plot(plot, line, latitude, height, southbound)
    found = [extension(line, each, height, southbound=southbound) for each in latitude]
    show.coverage(line, found, plot, as_json=json)


@app.command()
@click.option("--rate", required=True, metavar="RATE", help="Rate of the bottleneck, such as '31.5 kbit/s'.")
@click.option(
    "--round-trip", required=True, metavar="TIME", help="Round trip of a small packet, with nothing in the queue."
)
@click.option("--queue", metavar="SIZE", help="Room in the bottleneck's queue.")
@click.option("--new-rate", metavar="RATE", help="Rate of the path after a handover.")
@click.option("--new-round-trip", metavar="TIME", help="Round trip of that path.")
@click.option("--new-queue", metavar="SIZE", help="Room in the queue of that path.")
@click.option(
    "--in-flight",
    metavar="SIZE",
    help="Window at the handover; default: the most that the old path takes, or without --queue what it needs.",
)
@click.option("--segment", default="1460 B", metavar="SIZE", help="Payload of a segment.")
@click.option("--headers", default="40 B", metavar="SIZE", help="All headers of a segment on the bottleneck.")
@click.option("--least-timeout", default="200 ms", metavar="TIME", help="The sender's minimum timeout; Linux: 200 ms.")
@json_option
def window(
    rate: str,
    round_trip: str,
    queue: str | None,
    new_rate: str | None,
    new_round_trip: str | None,
    new_queue: str | None,
    in_flight: str | None,
    segment: str,
    headers: str,
    least_timeout: str,
    json: bool,
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
@click.option("--distance", default="225 km", metavar="DISTANCE", help="Distance between the stations.")
@click.option("--ground-power", default="41 dBm", metavar="POWER", help="Power of the ground station.")
@click.option("--ground-gain", type=float, default=8.0, metavar="DBI", help="Gain of its antenna.")
@click.option("--ground-loss", type=float, default=2.0, metavar="DB", help="Loss in its cables and diplexer.")
@click.option("--ground-noise-figure", type=float, default=5.0, metavar="DB", help="Noise figure of its receiver.")
@click.option("--aircraft-power", default="41 dBm", metavar="POWER", help="Power of the aircraft.")
@click.option("--aircraft-gain", type=float, default=0.0, metavar="DBI", help="Gain of its antenna.")
@click.option("--aircraft-loss", type=float, default=3.5, metavar="DB", help="Loss in its cables and diplexer.")
@click.option("--aircraft-noise-figure", type=float, default=6.0, metavar="DB", help="Noise figure of its receiver.")
@click.option("--forward-frequency", default="993.5 MHz", metavar="FREQUENCY", help="Frequency towards the aircraft.")
@click.option("--return-frequency", default="1056.5 MHz", metavar="FREQUENCY", help="Frequency from the aircraft.")
@click.option("--bandwidth", default="498.05 kHz", metavar="FREQUENCY", help="Bandwidth of the signal.")
@click.option("--snr", type=float, default=8.7, metavar="DB", help="Signal-to-noise ratio that the modulation needs.")
@click.option("--safety", type=float, default=6.0, metavar="DB", help="Margin that the signal must have beyond that.")
@json_option
def link_budget(
    distance: str,
    ground_power: str,
    ground_gain: float,
    ground_loss: float,
    ground_noise_figure: float,
    aircraft_power: str,
    aircraft_gain: float,
    aircraft_loss: float,
    aircraft_noise_figure: float,
    forward_frequency: str,
    return_frequency: str,
    bandwidth: str,
    snr: float,
    safety: float,
    json: bool,
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
@click.option(
    "--channel",
    type=click.Choice(("en-route", "awgn")),
    default="en-route",
    help="en-route: echoes, and pulses that the receiver blanks; the channel is estimated. awgn: white noise alone.",
)
@click.option("--rician-k", type=float, metavar="DB", help="Direct path over echoes, en route. Default: 15.")
@click.option(
    "--pulse-pairs",
    type=float,
    metavar="RATE",
    help="Pairs of pulses a second of all interferers, en route. Default: 10800.",
)
@click.option(
    "--modulation",
    multiple=True,
    metavar="NAME",
    help="Modulation and code rate, such as qpsk-1/2. Repeatable. Default: all.",
)
@click.option("--lost", type=click.IntRange(min=5), default=100, help="Lost frames after which a rate is good enough.")
@click.option(
    "--bits",
    type=click.IntRange(min=1),
    default=100000000,
    help="Most bits to encode for a rate; the lowest rate is about 4000 over it.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Seed of bits, noise, echoes and pulses.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes. Default: one a processor.")
def ldacs1_errors(
    channel: str,
    rician_k: float | None,
    pulse_pairs: float | None,
    modulation: tuple[str, ...],
    lost: int,
    bits: int,
    seed: int,
    workers: int | None,
) -> None:
    """Simulate the physical layer of L-DACS1, and print a table of error rates for `error_table`. All modulations take
    half an hour on two processors."""
    for name in modulation or ():
        if name not in MODULATIONS:
            raise InputError(f'--modulation "{name}": expected one of {", ".join(MODULATIONS)}')
    for option, given in (("--rician-k", rician_k), ("--pulse-pairs", pulse_pairs)):
        if given is not None and channel == "awgn":
            raise InputError(f"{option} {given:g}: white noise alone has none; expected --channel en-route with it")
    surroundings = EnRoute(
        rician_k_db=within("--rician-k", 15.0 if rician_k is None else rician_k, -20, 100, "dB"),
        pulse_pairs_per_s=within("--pulse-pairs", 10_800.0 if pulse_pairs is None else pulse_pairs, 0, 1e5, "a second"),
    )
    of = surroundings if channel == "en-route" else None
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
