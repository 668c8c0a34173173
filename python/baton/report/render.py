"""The page: tables as HTML, figures as packed data for the script that draws them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from . import ladder_svg, map_svg
from .columns import ColumnStore
from .figures import Description, Panel, Trace
from .live_banners import live_banners
from .style import LOOKS
from .tables import Run
from .text_tables import (
    ABSENT,
    agent_table,
    cell_table,
    class_table,
    disturbed_table,
    expectation_table,
    flow_and_handover_tables,
    number,
    quantity,
    with_unit,
)

# Files that are named; a run with captures at many interfaces has more.
MOST_FILES = 20
SCRIPTS = ("decode.js", "page.js", "detail.js", "panel.js", "map.js", "report.js")


def page(run: Run, description: Description) -> bytes:
    """Returns the whole report as one HTML document."""
    parts = {
        "title": html.escape(str(run.summary.get("scenario") or run.manifest.get("scenario") or run.folder.name)),
        "description": html.escape(_scenario_description(run.manifest)),
        "banner": _banner(run),
        "facts": facts(_facts(run)),
        "happened": html.escape(run.happened),
        "tables": expectation_table(run.summary)
        + class_table(run.summary)
        + disturbed_table(run.summary)
        + flow_and_handover_tables(run.summary, run.whole or run.summary)
        + cell_table(run.summary)
        + agent_table(run.summary),
        "files": _files(run),
        "details": details("Scenario, as it was run", scenario_text(run.manifest)),
    }
    return assemble(parts, description)


def assemble(parts: dict[str, str], description: Description) -> bytes:
    """Assembles a page from its parts, which are HTML, and the diagrams."""
    store = ColumnStore()
    parts = {"happened": "", "files": ""} | parts
    made = {"data": embedded(_data(description, store)), "maps": map_svg.section(description.maps)}
    made["ladders"] = ladder_svg.section(description.ladders)
    return fill("template.html", parts | made, SCRIPTS, store)


def embedded(data: dict[str, Any]) -> str:
    """Encodes an object as JSON that can stand in a page."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def fill(template: str, parts: dict[str, str], scripts: Sequence[str], store: ColumnStore) -> bytes:
    """Fills a template with its parts, style, scripts, packed columns and the drawing library.

    Encodes each part by itself: as one text, the page would take two bytes for every letter of the library.
    """
    drawn = {
        "columns": "\n".join(f'<script type="text/plain" id="c{n}">{t}</script>' for n, t in enumerate(store.texts)),
        "plotly": drawing_library(),
        "script": "\n".join(asset(name) for name in scripts),
    }
    return b"".join(piece.encode() for piece in _pieces(template, parts | drawn))


def filled(template: str, parts: dict[str, str]) -> str:
    """Fills a template with its parts and the style."""
    return "".join(_pieces(template, parts))


def _pieces(template: str, parts: dict[str, str]) -> list[str]:
    parts = parts | {"style": asset("report.css").replace("/* looks */", look_variables())}
    pieces = asset(template).split("{{")
    out = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        out += [parts[name], rest]
    return out


def facts(entries: list[tuple[str, str]]) -> str:
    """Returns names and values in a row; absent values are left out."""
    shown = [(name, value) for name, value in entries if value != ABSENT]
    return "".join(f"<div><dt>{name}</dt><dd>{html.escape(value)}</dd></div>" for name, value in shown)


def listed(heading: str, sentences: Sequence[str]) -> str:
    """Returns a list under a heading; nothing without sentences."""
    items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
    return f"<section><h2>{html.escape(heading)}</h2><ul>{items}</ul></section>" if items else ""


def details(title: str, text: str) -> str:
    """Folds a text away."""
    return f"<details><summary>{html.escape(title)}</summary><pre>{html.escape(text)}</pre></details>"


def _files(run: Run) -> str:
    """Returns links to the files beside the page, with sizes."""
    files = sorted(file for file in run.folder.iterdir() if file.is_file() and _is_shown(file.name))
    if not files:
        return ""
    links = "".join(
        f'<li><a href="{html.escape(quote(file.name))}">{html.escape(file.name)}</a>'
        f" <small>{quantity(file.stat().st_size, 'B')}</small></li>"
        for file in files[:MOST_FILES]
    )
    more = f"<li>and {len(files) - MOST_FILES} more</li>" if len(files) > MOST_FILES else ""
    return f'<section><h2>Beside this page</h2><ul class="files">{links}{more}</ul></section>'


def _is_shown(name: str) -> bool:
    return name != "report.html" and not name.startswith(".")


def _data(description: Description, store: ColumnStore) -> dict[str, Any]:
    packed: dict[int, dict[str, Any]] = {}  # by identity: flows share the traces of queues

    def panel(panel: Panel) -> dict[str, Any]:
        for trace in panel.traces:
            if id(trace) not in packed:
                packed[id(trace)] = _trace(trace, store)
        return vars(panel) | {"traces": [packed[id(trace)] for trace in panel.traces]}

    return {
        "duration": description.duration_s,
        "marks": [mark._asdict() for mark in description.marks],
        "dashes": {role: look.dash for role, look in LOOKS.items()},
        "widths": {role: look.width for role, look in LOOKS.items()},
        "flows": [
            {"name": flow.name, "panels": [panel(each) for each in flow.panels], "marks": flow.marks}
            for flow in description.flows
        ],
    }


def _trace(trace: Trace, store: ColumnStore) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": trace.name, "role": trace.role, "shape": trace.shape, "dashed": trace.dashed}
    entry |= {"time": store.times(trace.time_ns), "value": store.values(trace.value)}
    if trace.top is not None:
        entry["height"] = store.values(trace.top - trace.value)
    if trace.codes is not None:
        entry |= {"codes": store.codes(trace.codes), "labels": trace.labels}
    return entry


def _banner(run: Run) -> str:
    banners = list(live_banners(run.summary))
    if run.manifest.get("complete") is False:
        banners.append(("warning", _why_incomplete(run)))
    if run.left_out:
        banners.append(("note", f"{run.left_out:,} more flows delivered less and are not shown; summary.json has all."))
    if run.packets is None:
        banners.append(("note", "No packets were recorded, so the diagrams of packets are missing."))
    if run.series is None:
        banners.append(("note", "No series were recorded, so windows, round-trip times and queues are missing."))
    looks = {"warning": 'class="banner" role="status"', "note": 'class="banner calm"'}
    return "".join(f"<p {looks[kind]}>{html.escape(text)}</p>" for kind, text in banners)


def _why_incomplete(run: Run) -> str:
    lost = (run.summary.get("live") or {}).get("lost_rows")
    if lost:
        return f"The record has gaps: {lost:,} rows could not be written fast enough."
    return "This run was interrupted: the results below are valid, but end where the run ended."


def _facts(run: Run) -> list[tuple[str, str]]:
    seed, simulated = run.summary.get("seed", run.manifest.get("seed")), run.summary.get("simulated_s", run.duration_s)
    version = " ".join(str(run.manifest[key])[:12] for key in ("version", "commit") if run.manifest.get(key))
    return [
        ("Seed", number(seed)),
        ("Lasted" if run.summary.get("live") else "Simulated", with_unit(simulated, "s")),
        ("Wall time", with_unit(run.summary.get("wall_s"), "s")),
        ("Events", number(run.summary.get("events"))),
        ("Packets recorded", number(run.packets.recorded if run.packets is not None else None, "none")),
        ("Baton", version or ABSENT),
    ]


def scenario_text(manifest: dict[str, Any]) -> str:
    """Returns the scenario with its overrides as TOML, and how it differs from the file."""
    overrides = "".join(f"# --set {override}\n" for override in manifest.get("overrides") or [])
    return overrides + str(manifest.get("resolved") or "The manifest holds no scenario.")


def _scenario_description(manifest: dict[str, Any]) -> str:
    found = re.search(r'^description = "(.*)"$', str(manifest.get("resolved") or ""), re.MULTILINE)
    return found[1].replace('\\"', '"') if found else ""


def look_variables() -> str:
    """Returns the colour of each role as a variable, for light and for dark ground."""

    def declarations(dark: bool) -> str:
        pairs = ((role.replace(" ", "-"), look.dark if dark else look.light) for role, look in LOOKS.items())
        return "".join(f"--{name}:{colour};" for name, colour in pairs)

    return (
        f":root{{{declarations(False)}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root:not([data-paper]){{{declarations(True)}}}}}"
    )


def drawing_library() -> str:
    """Returns plotly's script, packed when Baton was built. Raises `FileNotFoundError` where it was not."""
    try:
        return asset("plotly.packed")
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error.filename}: is missing; `make build` packs plotly's script into it") from error


def asset(name: str) -> str:
    """Returns a file of the pages: a style, a script or a template."""
    return (Path(__file__).parent / "assets" / name).read_bytes().decode()
