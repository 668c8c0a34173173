"""The commands `baton air-traffic generate`, `import`, `cells` and `scenario`."""

from __future__ import annotations

import csv
import os
import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from baton.command_line import PATH, Group
from baton.errors import InputError

from . import cells as plans
from . import flights, scenario, state_vectors
from .flights import Point

INPUT = click.Path(path_type=Path, exists=True, dir_okay=False)


def out_option(default: str) -> Callable[[Any], Any]:
    """Returns the option that names the file to write."""
    return click.option("--out", "-o", type=PATH, metavar="FILE", default=Path(default), help="File to write.")


@click.group(cls=Group, name="air-traffic", no_args_is_help=True)
def app() -> None:
    """Tracks of many aircraft, and cells for them."""


@app.command()
@out_option("flights.csv")
@click.option("--number", type=click.IntRange(min=1), default=30_000, help="Number of flights.")
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Seed of the draws.")
@click.option(
    "--begin", type=click.FloatRange(0, 24), default=0.0, metavar="HOURS", help="Start of the run, hours in UTC."
)
@click.option(
    "--hours", type=click.FloatRange(min=0.1), default=24.0, metavar="HOURS", help="Time in which they depart."
)
def generate(out: Path, number: int, seed: int, begin: float, hours: float) -> None:
    """Generate flights on great circles between airports of Europe. They are no recorded traffic."""
    made = flights.generate(number, seed, begin_s=begin * 3600, duration_s=hours * 3600)
    count = flights.write(((f"f{place}", points) for place, points in enumerate(made, start=1)), out)
    print(f"{out}: {count} generated flights")


@app.command("import")
@click.argument("table", type=INPUT, metavar="TABLE", help="State vectors, CSV or Parquet.")
@out_option("flights.csv")
def import_(table: Path, out: Path) -> None:
    """Read flights from OpenSky's state vectors or frames of the `traffic` library, and clean them."""
    made = state_vectors.read(table)
    flights.write(made.flights.items(), out)
    print(f"{out}: " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in asdict(made.counts).items()))


@app.command()
@click.argument("file", type=INPUT, metavar="FLIGHTS", help="A file of flights.")
@out_option("cells.csv")
@click.option(
    "--spacing",
    type=click.FloatRange(min=20),
    default=250.0,
    metavar="KM",
    help="Distance of neighbouring base stations.",
)
@click.option(
    "--radius", type=click.FloatRange(min=20), default=200.0, metavar="KM", help="Largest distance for registration."
)
def cells(file: Path, out: Path, spacing: float, radius: float) -> None:
    """Plan a hexagonal grid of cells under the flights; edit or replace the file as you like."""
    made = plans.plan(_read(file), spacing_m=spacing * 1000, radius_m=radius * 1000)
    plans.write(made, out)
    print(f"{out}: {len(made)} cells")


@app.command("scenario")
@click.argument("file", type=INPUT, metavar="FLIGHTS", help="A file of flights.")
@click.argument("plan", type=INPUT, metavar="CELLS", help="A plan of cells.")
@out_option("air-traffic.toml")
@click.option("--hours", type=click.FloatRange(min=0.01), default=24.0, metavar="HOURS", help="Length of the run.")
def scenario_(file: Path, plan: Path, out: Path, hours: float) -> None:
    """Write the scenario: mobile routers on a radio network, with messages of air traffic services and of airlines."""
    named = os.path.relpath(file, out.resolve().parent)
    out.write_text(scenario.text(scenario.name_of(out.stem), named, plans.read(plan), f"{hours * 60:g} min"))
    print(f"{out}: run it with `baton run {shlex.quote(str(out))}`")


def _read(file: Path) -> list[list[Point]]:
    """Reads the points of each flight."""
    made: dict[str, list[Point]] = {}
    with file.open(newline="") as rows:
        table = csv.DictReader(rows)
        for row in table:
            try:
                values = [float(row[column]) for column in flights.COLUMNS[1:]]
                made.setdefault(row["flight"], []).append(Point(*values))
            except (KeyError, TypeError, ValueError):
                columns = ", ".join(flights.COLUMNS)
                raise InputError(f"{file}:{table.line_num}: expected the columns {columns}, with numbers") from None
    return list(made.values())
