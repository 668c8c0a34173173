"""The commands `baton air-traffic generate`, `import` and `cells`."""

from __future__ import annotations

import csv
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from baton.errors import InputError

from . import cells as plans
from . import flights, state_vectors
from .flights import Point

app = typer.Typer(help="Tracks of many aircraft, and cells for them.", no_args_is_help=True)

Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write.")]
Flights = Annotated[Path, typer.Argument(metavar="FLIGHTS", help="A file of flights.", exists=True, dir_okay=False)]


@app.callback()
def air_traffic() -> None:
    """Tracks of many aircraft, and cells for them."""


@app.command()
def generate(
    out: Out = Path("flights.csv"),
    number: Annotated[int, typer.Option(min=1, help="Number of flights.")] = 30_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 1,
    begin: Annotated[float, typer.Option(min=0, max=24, metavar="HOURS", help="Start of the run, hours in UTC.")] = 0.0,
    hours: Annotated[float, typer.Option(min=0.1, metavar="HOURS", help="Time in which they depart.")] = 24.0,
) -> None:
    """Generate flights on great circles between airports of Europe. They are no recorded traffic."""
    made = flights.generate(number, seed, begin_s=begin * 3600, duration_s=hours * 3600)
    count = flights.write(((f"f{place}", points) for place, points in enumerate(made, start=1)), out)
    typer.echo(f"{out}: {count} generated flights")


@app.command("import")
def import_(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="State vectors, CSV or Parquet.", exists=True, dir_okay=False)
    ],
    out: Out = Path("flights.csv"),
) -> None:
    """Read flights from OpenSky's state vectors or frames of the `traffic` library, and clean them."""
    made = state_vectors.read(table)
    flights.write(made.flights.items(), out)
    typer.echo(
        f"{out}: " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in asdict(made.counts).items())
    )


@app.command()
def cells(
    file: Flights,
    out: Out = Path("cells.csv"),
    spacing: Annotated[
        float, typer.Option(min=20, metavar="KM", help="Distance of neighbouring base stations.")
    ] = 250.0,
    radius: Annotated[float, typer.Option(min=20, metavar="KM", help="Largest distance for registration.")] = 200.0,
) -> None:
    """Plan a hexagonal grid of cells under the flights; edit or replace the file as you like."""
    made = plans.plan(_read(file), spacing_m=spacing * 1000, radius_m=radius * 1000)
    plans.write(made, out)
    typer.echo(f"{out}: {len(made)} cells")


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
