"""The command `baton trace import`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import click

from baton.command_line import PATH, Group

from . import capture, drive_log, opportunities, pcap
from .drive_log import Columns
from .trace import Imported, TraceError, open_input, write


@click.group(cls=Group, name="trace", no_args_is_help=True)
def app() -> None:
    """Traces that drive links."""


class Format(str, Enum):
    """Format of an input."""

    auto = "auto"
    drive_log = "drive-log"
    capture = "capture"
    mahimahi = "mahimahi"
    leo = "leo"


@app.command("import")
@click.argument(
    "inputs",
    nargs=-1,
    required=True,
    type=PATH,
    metavar="INPUT…",
    help="A drive log (CSV), a capture (pcap, pcapng, or tshark's CSV), mahimahi DOWN [UP], "
    "or a LeoReplayer pair BW DELAY. All may be gzip.",
)
@click.option(
    "--out",
    type=PATH,
    metavar="PREFIX",
    help="Writes PREFIX.down.csv, PREFIX.up.csv and PREFIX.json (where it came from, by which rules). "
    "By default the first input's name, in this folder.",
)
@click.option(
    "--format",
    type=click.Choice([each.value for each in Format]),
    default=Format.auto.value,
    help="Format of the input, if its content is ambiguous.",
)
@click.option(
    "--bin",
    type=click.IntRange(min=1, max=3600000),
    default=100,
    metavar="MS",
    help="Length of a rate sample in milliseconds, for captures and mahimahi.",
)
@click.option(
    "--direction",
    type=click.Choice(("down", "up")),
    default="down",
    help="The direction that a drive log or a LeoReplayer pair measured.",
)
@click.option(
    "--mobile",
    metavar="ADDRESS",
    help="The mobile's address in a capture: down is towards it. By default the one that got the most bytes.",
)
@click.option("--time-column", help="Column of the time (s, or ISO 8601) in a drive log.")
@click.option("--rate-column", help="Column of the throughput (Mbit/s unless its name tells a unit).")
@click.option(
    "--delay-column", help="Column of the delay (ms; a name with rtt or ping is a round trip, of which half counts)."
)
@click.option("--loss-column", help="Column of the loss (a share; per cent if its name has %).")
@click.option("--force", is_flag=True, help="Replace files that exist.")
def import_(
    inputs: tuple[Path, ...],
    out: Path | None,
    format: str,
    bin: int,
    direction: str,
    mobile: str | None,
    time_column: str | None,
    rate_column: str | None,
    delay_column: str | None,
    loss_column: str | None,
    force: bool,
) -> None:
    """Turn drive logs, captures and other projects' traces into Baton's csv traces, one file per direction."""
    columns = Columns(time_column, rate_column, delay_column, loss_column)
    imported = convert(list(inputs), Format(format), bin * 1_000_000, direction, mobile, columns)
    written = write(imported, list(inputs), out or default_prefix(inputs[0]), force)
    for name, found in imported.traces.items():
        print(f"{name}: {found.summary()}")
    for text in imported.warnings:
        print(f"warning: {text}")
    for text in imported.notes:
        print(f"note: {text}")
    for text in imported.rules:
        print(f"rule: {text}")
    for path in written:
        print(f"wrote {path}")


def convert(
    inputs: list[Path], kind: Format, bin_ns: int, direction: str, mobile: str | None, columns: Columns
) -> Imported:
    """Reads the inputs in their format."""
    if kind is Format.auto:
        kind = recognise(inputs)
    most = 2 if kind in (Format.mahimahi, Format.leo) else 1
    if len(inputs) > most or (kind is Format.leo and len(inputs) < 2):
        wanted = {Format.mahimahi: "one or two files, down and up", Format.leo: "two files, bandwidth and delay"}
        raise TraceError(
            inputs[-1], None, f"{len(inputs)} inputs as {kind.value}; expected {wanted.get(kind, 'one file')}"
        )
    if kind is Format.mahimahi:
        return opportunities.read_mahimahi(inputs, bin_ns)
    if kind is Format.leo:
        return opportunities.read_leo(inputs[0], inputs[1], bin_ns, direction)
    if kind is Format.drive_log:
        return drive_log.read(inputs[0], columns, direction)
    if capture.is_tshark(inputs[0]):
        return capture.read_tshark(inputs[0], bin_ns, mobile)
    with open_input(inputs[0]) as file:
        if not pcap.is_capture(file.read(4)):
            raise TraceError(inputs[0], None, "neither pcap nor pcapng nor tshark's CSV with a frame.time_epoch column")
    return capture.read_pcap(inputs[0], bin_ns, mobile)


def recognise(inputs: list[Path]) -> Format:
    """Recognises the format of the inputs, by the first one's beginning and the second one's name."""
    with open_input(inputs[0]) as file:
        start = file.read(4096)
    first_line = start.split(b"\n", 1)[0].strip()
    if pcap.is_capture(start) or b"frame.time_epoch" in first_line:
        return Format.capture
    if first_line.isdigit():
        return Format.leo if len(inputs) > 1 and "delay" in inputs[1].name else Format.mahimahi
    return Format.drive_log


def default_prefix(path: Path) -> Path:
    """Returns the input's name without its endings, in the current folder."""
    return Path(path.name.removesuffix(".gz")).with_suffix("")
