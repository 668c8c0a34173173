"""Output of `baton plan`: tables, or one JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from baton import tables
from baton.errors import InputError
from baton.text_table import Table

from .budget import Budget, Channel
from .coverage import Extension, Line
from .quantities import above_zero, read
from .window import HandoverAdvice, PathAdvice, SizeAdvice
from .window import Path as NetworkPath

PLOT_ENDINGS = (".pdf", ".svg", ".png")
"""Suffixes of figures that `--plot` writes; the drawing library knows more, which are not promised."""
Option = tuple[str, str | None]
"""An option and its value, if it was given."""


def refuse_below_horizon(latitude_deg: float, elevation_deg: float) -> None:
    """Raises `InputError` if the satellite is not above the horizon."""
    if elevation_deg <= 0:
        raise InputError(
            f"--latitude {latitude_deg:g}: from there the satellite is below the horizon ({elevation_deg:.1f} degrees);"
            " expected a latitude nearer to the equator"
        )


def write_plot(file: Path, line: Line, latitudes: Sequence[float], obstacle_m: float, southbound: bool) -> None:
    """Draws and writes the figure. Raises `InputError` for a file that cannot be written."""
    from baton.plot import require_matplotlib

    if file.suffix.lower() not in PLOT_ENDINGS:
        ending = f"ends in {file.suffix}" if file.suffix else "has no ending"
        raise InputError(f"--plot {file}: {ending}; expected a file that ends in .pdf, .svg or .png")
    if not file.parent.is_dir():
        raise InputError(f"--plot {file}: there is no folder {file.parent}; make it, or name another")
    try:
        require_matplotlib()
        from .draw_coverage import figure, write

        write(figure(line, latitudes, obstacle_m, southbound=southbound), file)
    except ImportError as error:
        raise InputError(f"--plot {file}: {error}") from None
    except OSError as error:
        raise InputError(f"--plot {file}: {error.strerror or error}; expected a file that can be written") from None


def coverage(line: Line, found: Sequence[Extension], plot: Path | None, *, as_json: bool) -> None:
    """Shows the coverage before and after the tunnel, one row per latitude and side."""
    if as_json:
        print(
            json.dumps(
                {
                    "decision_s": line.decision_s,
                    "latitudes": [asdict(each) for each in found],
                    "plot": None if plot is None else str(plot),
                }
            )
        )
        return
    table = Table(
        "Latitude", "Side", "Elevation", "Shadow", "Handover", "On the way", "Coverage", "Access points", text_columns=2
    )
    for each in found:
        for name, side in (("before", each.before), ("after", each.after)):
            table.add_row(
                f"{each.latitude_deg:g}°",
                name,
                f"{each.elevation_deg:.1f}°",
                f"{side.shadow_m:.1f} m",
                tables.seconds(side.handover_s),
                f"{side.extension_m - side.shadow_m:.1f} m",
                f"{side.extension_m:.1f} m",
                tables.count(side.access_points),
            )
    table.caption = (
        f"Coverage outside the tunnel: the satellite's shadow and the way during the longest handover, of which"
        f" {tables.seconds(line.decision_s)} are for the decision. Access points: from the tunnel's mouth on."
    )
    print(table)
    if plot is not None:
        print(plot)


def path(rate: Option, round_trip: Option, queue: Option) -> NetworkPath:
    """Reads a path from its options. Raises `InputError`."""
    for name, text in (rate, round_trip):
        if text is None:
            raise InputError(f"{name} is missing; a path has a rate and a round-trip time")
    return NetworkPath(
        rate_bps=above_zero(rate[0], "data-rate", rate[1] or ""),
        rtt_s=above_zero(round_trip[0], "time", round_trip[1] or ""),
        queue_bytes=None if queue[1] is None else read(queue[0], "size", queue[1]),
    )


def has_new_path(*options: str | None) -> bool:
    """Returns true if one of the options of a handover is given."""
    return any(option is not None for option in options)


def window(
    paths: Mapping[str, PathAdvice], moved: HandoverAdvice | None, sizes: Sequence[SizeAdvice], *, as_json: bool
) -> None:
    """Shows the needs of the paths, the effect of the handover, and the cost of segment sizes."""
    if as_json:
        print(
            json.dumps(
                {
                    "paths": {name: asdict(advice) for name, advice in paths.items()},
                    "handover": None if moved is None else asdict(moved),
                    "segment_sizes": [asdict(size) for size in sizes],
                }
            )
        )
        return
    table = Table("Of the path", *(name if len(paths) > 1 else "" for name in paths), text_columns=1)
    for title, key, unit in (
        ("capacity (rate times round trip)", "capacity_bytes", "B"),
        ("least window that fills it", "filling_window_bytes", "B"),
        ("receive window to advertise", "receive_window_bytes", "B"),
        ("room in the queue to ask for", "buffer_bytes", "B"),
        ("largest window without loss", "most_window_bytes", "B"),
        ("round trip behind a full queue", "full_queue_rtt_s", "s"),
        ("time of a segment on the link", "segment_s", "s"),
    ):
        table.add_row(title, *(_scaled(getattr(advice, key), unit) for advice in paths.values()))
    print(table)
    if moved is not None:
        print(_handover(moved))
    table = Table("Segment", "Headers", "Time on the slower link", "Receive window", text_columns=0)
    for size in sizes:
        table.add_row(
            f"{size.payload_bytes} B",
            f"{100 * size.overhead:.1f} %",
            tables.seconds(size.segment_s),
            _scaled(size.receive_window_bytes, "B"),
        )
    print(table)


def _handover(moved: HandoverAdvice) -> object:
    table = Table("At the handover", "", text_columns=1)
    rows = (
        ("segments in flight", tables.count(moved.in_flight_segments)),
        ("timeout before it, at least", tables.seconds(moved.old_timeout_s)),
        ("first answer on the new path after", tables.seconds(moved.first_answer_s)),
        ("timeouts until then, with nothing lost", tables.count(moved.early_timeouts)),
        ("longest wait for new data, about", tables.seconds(moved.stall_s)),
        ("timeout to set: more than", tables.seconds(moved.new_timeout_s)),
        ("room in the new queue for this window", _scaled(moved.buffer_bytes, "B")),
        ("segments that the new queue drops", tables.count(moved.lost_segments)),
        ("old link delivers for", tables.seconds(moved.old_drain_s)),
        ("old timeout, in new round trips", f"{moved.old_timeout_ratio:.3g}"),
    )
    for row in rows:
        table.add_row(*row)
    return table


def _scaled(value: float | None, unit: str) -> str:
    return tables.seconds(value) if unit == "s" else tables.scaled(value, unit)


def link_budget(channel: Channel, forward: Budget, back: Budget, *, as_json: bool) -> None:
    """Shows both directions side by side."""
    if as_json:
        print(json.dumps({**asdict(channel), "forward": asdict(forward), "return": asdict(back)}))
        return
    table = Table("", "Forward", "Return", text_columns=1)
    for title, key, unit in (
        ("received power", "received_dbm", "dBm"),
        ("noise in the receiver", "noise_dbm", "dBm"),
        ("sensitivity", "sensitivity_dbm", "dBm"),
        ("operation point", "operation_point_dbm", "dBm"),
        ("margin left", "margin_db", "dB"),
    ):
        table.add_row(title, *(f"{getattr(each, key):.2f} {unit}" for each in (forward, back)))
    table.add_row("range", *(tables.scaled(each.range_m, "m") for each in (forward, back)))
    reach = min(forward.range_m, back.range_m)
    verdict = "closes" if reach >= channel.distance_m else "does not close"
    table.caption = (
        f"At {tables.scaled(channel.distance_m, 'm')} the link {verdict}; it would up to {tables.scaled(reach, 'm')}."
    )
    print(table)
