"""The page: tables as HTML, figures as packed data for the script that draws them."""

from __future__ import annotations

import html
import importlib.util
import json
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from . import handovers
from .columns import ColumnStore, pack_bytes
from .figures import Description, Panel, Trace
from .style import LOOKS
from .tables import Run

ABSENT = "\u2013"
SCRIPTS = ("decode.js", "detail.js", "panel.js", "report.js")


def page(run: Run, description: Description) -> str:
    """The whole report as one HTML document."""
    store = ColumnStore()
    data = _data(description, store)
    parts = {
        "title": html.escape(str(run.summary.get("scenario") or run.manifest.get("scenario") or run.folder.name)),
        "description": html.escape(_scenario_description(run.manifest)),
        "banner": _banner(run),
        "facts": _facts(run),
        "flows": flow_table(run.summary),
        "handovers": handover_table(run.summary),
        "scenario": html.escape(_scenario_text(run.manifest)),
        "style": _asset("report.css").replace("/* looks */", _look_variables()),
        "data": json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"),
        "columns": "\n".join(f'<script type="text/plain" id="c{n}">{t}</script>' for n, t in enumerate(store.texts)),
        "plotly": pack_bytes(_plotly_source()),
        "script": "\n".join(_asset(name) for name in SCRIPTS),
    }
    pieces = _asset("template.html").split("{{")
    out = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        out += [parts[name], rest]
    return "".join(out)


class Markup(str):
    """Text of a table cell that is HTML already."""


def flow_table(summary: dict[str, Any]) -> str:
    """A row for each flow."""
    heads = [
        ("Flow", ""),
        ("Transport", ""),
        ("Delivered", ""),
        ("Completed", "s"),
        ("Goodput", ""),
        ("Segments sent", ""),
        ("Retransmitted", ""),
        ("of these spurious", ""),
        ("Timeouts", ""),
        ("Longest stall", "s"),
        ("Packets lost", ""),
    ]
    rows = []
    for flow in summary.get("flows") or []:
        unfinished = "unfinished" if flow.get("transport") == "tcp" else ABSENT
        rows.append(
            [
                str(flow.get("name", "")),
                str(flow.get("transport") or "").upper(),
                quantity(flow.get("delivered_bytes"), "B"),
                number(flow.get("completion_s"), str(flow.get("failure") or unfinished)),
                quantity(flow.get("goodput_bps"), "bit/s"),
                number(flow.get("segments_sent")),
                number(flow.get("retransmitted")),
                number(flow.get("spurious_retransmitted")),
                number(flow.get("timeouts")),
                number(flow.get("longest_stall_s")),
                number(flow.get("lost_packets")),
            ]
        )
    return _table("Flows", heads, rows, texts=2) if rows else ""


def handover_table(summary: dict[str, Any]) -> str:
    """A row for each handover and flow, with a button that zooms there."""
    heads = [
        ("Handover", ""),
        ("Kind", ""),
        ("Flow", ""),
        ("At", "s"),
        ("Switch took", "s"),
        ("Stall", "s"),
        ("Packets lost", ""),
        ("Spurious retransmissions", ""),
        ("Until 90 % of the new rate", "s"),
    ]
    rows, before = [], 0
    for row in handovers.rows(summary):
        name = f"{row.mobile}: {row.way}" if row.mobile else row.way
        link = Markup(f'<a href="#figures" data-mark="{row.number - 1}">{html.escape(name)}</a>')
        again = row.number == before
        rows.append(
            [
                "" if again else link,
                "" if again else row.kind,
                row.flow,
                number(row.at_s),
                number(row.switch_s, "unfinished"),
                number(row.stall_s),
                number(row.lost_packets),
                number(row.spurious_retransmissions),
                number(row.time_to_90_percent_s, "not reached" if row.flow else ABSENT),
            ]
        )
        before = row.number
    return _table("Handovers", heads, rows, texts=3) if rows else ""


def number(value: Any, absent: str = ABSENT) -> str:
    """A number for a table cell: whole ones with thin spaces, others to four digits."""
    if value is None:
        return absent
    if isinstance(value, float) and not value.is_integer():
        digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
        return f"{value:,.{digits}f}".replace(",", "\u202f")
    return f"{int(value):,}".replace(",", "\u202f")


def with_unit(value: Any, unit: str) -> str:
    """A number as `number` writes it, with a unit."""
    return ABSENT if value is None else f"{number(value)}\u00a0{unit}"


def quantity(value: Any, unit: str) -> str:
    """A number with a unit and a decimal prefix."""
    if value is None:
        return ABSENT
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.4g}\u00a0{prefix}{unit}"
    return f"{value:.4g}\u00a0{unit}"


def _table(caption: str, heads: list[tuple[str, str]], rows: list[list[str]], texts: int) -> str:
    """A table whose first `texts` columns are words; the first one heads its row."""
    heading = "".join(
        f'<th scope="col"{"" if place < texts else " class=n"}>{html.escape(name)}'
        + (f" <small>({unit})</small>" if unit else "")
        + "</th>"
        for place, (name, unit) in enumerate(heads)
    )
    body = []
    for row in rows:
        head_cell = row[0] if isinstance(row[0], Markup) else html.escape(row[0])
        cells = [f'<th scope="row">{head_cell}</th>']
        cells += [
            f"<td{'' if place < texts else ' class=n'}>{html.escape(cell)}</td>"
            for place, cell in enumerate(row[1:], start=1)
        ]
        body.append("<tr>" + "".join(cells) + "</tr>")
    return (
        f'<section><h2>{caption}</h2><div class="wide" tabindex="0" role="region" aria-label="{caption}">'
        f"<table><thead><tr>{heading}</tr></thead><tbody>{''.join(body)}</tbody></table></div></section>"
    )


def _data(description: Description, store: ColumnStore) -> dict[str, Any]:
    packed: dict[int, dict[str, Any]] = {}  # by identity: flows share the traces of queues

    def panel(panel: Panel) -> dict[str, Any]:
        for trace in panel.traces:
            if id(trace) not in packed:
                packed[id(trace)] = _trace(trace, store)
        return vars(panel) | {"traces": [packed[id(trace)] for trace in panel.traces]}

    return {
        "duration": description.duration_s,
        "marks": [vars(mark) for mark in description.marks],
        "dashes": {role: look.dash for role, look in LOOKS.items()},
        "widths": {role: look.width for role, look in LOOKS.items()},
        "flows": [{"name": flow.name, "panels": [panel(each) for each in flow.panels]} for flow in description.flows],
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
    sentences = []
    if run.manifest.get("complete") is False:
        sentences.append(
            "This run was interrupted: what follows is true as far as it goes, and ends where the run ended."
        )
    if run.packets is None:
        sentences.append("No packets were recorded, so the diagrams made of packets are missing.")
    if run.series is None:
        sentences.append("No series were recorded, so windows, round-trip times and queues are missing.")
    return "".join(f'<p class="banner" role="status">{sentence}</p>' for sentence in sentences)


def _facts(run: Run) -> str:
    seed, simulated = run.summary.get("seed", run.manifest.get("seed")), run.summary.get("simulated_s", run.duration_s)
    version = " ".join(str(run.manifest[key])[:12] for key in ("version", "commit") if run.manifest.get(key))
    facts = [
        ("Seed", number(seed)),
        ("Simulated", with_unit(simulated, "s")),
        ("Wall time", with_unit(run.summary.get("wall_s"), "s")),
        ("Events", number(run.summary.get("events"))),
        ("Packets recorded", number(len(run.packets) if run.packets is not None else None, "none")),
        ("Baton", version or ABSENT),
    ]
    shown = [(name, value) for name, value in facts if value != ABSENT]
    return "".join(f"<div><dt>{name}</dt><dd>{html.escape(value)}</dd></div>" for name, value in shown)


def _scenario_text(manifest: dict[str, Any]) -> str:
    """The scenario with its overrides as TOML, and how it differs from the file."""
    overrides = "".join(f"# --set {override}\n" for override in manifest.get("overrides") or [])
    return overrides + str(manifest.get("resolved") or "The manifest holds no scenario.")


def _scenario_description(manifest: dict[str, Any]) -> str:
    found = re.search(r'^description = "(.*)"$', str(manifest.get("resolved") or ""), re.MULTILINE)
    return found[1].replace('\\"', '"') if found else ""


def _look_variables() -> str:
    def declarations(dark: bool) -> str:
        pairs = ((role.replace(" ", "-"), look.dark if dark else look.light) for role, look in LOOKS.items())
        return "".join(f"--{name}:{colour};" for name, colour in pairs)

    return (
        f":root{{{declarations(False)}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root:not([data-paper]){{{declarations(True)}}}}}"
    )


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets/" + name).read_text(encoding="utf-8")


@cache
def _plotly_source() -> bytes:
    """The drawing library, from the installed package `plotly`, which is not imported for it."""
    found = importlib.util.find_spec("plotly")
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError("the Python package plotly, whose plotly.min.js the report needs, is not installed")
    return (Path(found.submodule_search_locations[0]) / "package_data" / "plotly.min.js").read_bytes()
