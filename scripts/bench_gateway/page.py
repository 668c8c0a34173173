"""The table of the bench, in Markdown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ways import GATEWAYS

BEGIN, END = "<!-- begin: figures of `make bench-gateway` -->\n", "<!-- end -->\n"
ABSENT = ""


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Returns a table for each kind of row."""
    parts = []
    for name, row in rows.items():
        draw = control if "limit_s" in row else downloads
        parts.append(f"{heading(name, row)}\n\n{draw(row)}\n")
    return "\n".join(parts)


def heading(name: str, row: dict[str, Any]) -> str:
    """Returns the title of a row's table."""
    size, rate = f"{row['bytes'] / 1e6:g} MB", f"{row['rate_bps'] / 1e6:g} Mbit/s"
    text = f"`{name}`: {rate}, {row['round_trip_s'] * 1e3:g} ms"
    if "limit_s" not in row:
        text += f", {size}; at the rate of the links {row['bytes'] * 8 / row['rate_bps']:.1f} s"
    if row["scale"] != 1:
        text += f" (shortened to {row['scale']:g}: not to be published)"
    return text + "".join(f" (not to be trusted: {doubt})" for doubt in row["doubts"])


def downloads(row: dict[str, Any]) -> str:
    """Returns the table of a row of downloads."""
    pair = row["ways"].get(GATEWAYS)
    has_outage = any("share_of_both" in way for way in row["ways"].values())
    head = ["way", "time", "share of the links", "the gateways take", "longest stall"]
    lines = [head + ["share while both are there"] * has_outage]
    ways = row["ways"] | {"the gateways, simulated": row["simulated"] | {"is_done": True}}
    for name, way in ways.items():
        told = f"{way['taken_s']:.1f} s" if way["is_done"] else f"{way['bytes'] / 1e6:.1f} MB in {way['taken_s']:.1f} s"
        ratio = f"{way['share'] / pair['share']:.2f} of its time" if pair and name != GATEWAYS else ABSENT
        stall = f"{way['longest_stall_s']:.2f} s, {way['longest_stall_s'] / row['round_trip_s']:.1f} RTT"
        both = f"{way['share_of_both']:.2f}" if "share_of_both" in way else ABSENT
        lines.append([name, told, f"{way['share']:.2f}", ratio, stall] + [both] * has_outage)
    return drawn(lines)


def control(row: dict[str, Any]) -> str:
    """Returns the table of the control stream."""
    lines = [["way", "99th percentile of the delay", "at most", "datagrams", "download beside it"]]
    for name, way in (row["ways"] | {"the gateways, simulated": row["simulated"]}).items():
        carried = f"{way['share']:.2f} of the link" if way.get("share") else ABSENT
        delay, limit = f"{way['delay_p99_s'] * 1e3:.1f} ms", f"{row['limit_s'] * 1e3:.1f} ms"
        lines.append([name, delay, limit, str(way["datagrams"]), carried])
    return drawn(lines)


def drawn(lines: list[list[str]]) -> str:
    """Returns a table in Markdown."""
    rule = ["---"] * len(lines[0])
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]])


def write(file: Path, rows: dict[str, dict[str, Any]]) -> None:
    """Writes the tables into their place on the page."""
    if short := [name for name, row in rows.items() if row["scale"] != 1 or row["doubts"]]:
        sys.exit(f"rows that were shortened or late are not published: {', '.join(short)}")
    before, _, rest = file.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    file.write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{after}")
