"""Page about the results of a run: files, the columns of the tables, the keys of the summary."""

from __future__ import annotations

import json
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import pyarrow

from baton import Scenario
from baton.shipped import scenario_path
from baton.summary import LiveSummary, ObservedFlow, Summary, object_in

from . import GENERATED, table

INTRODUCTION = f"""\
# Results

{GENERATED}

`baton run` leaves a folder, `results/<scenario>-<seed>` unless `--out` names another. Where that is taken, it is
`results/<scenario>-<seed>-2`, and so on; `--force` replaces it. From Python, `Scenario.run(out=…)` leaves the same without
the report, which `baton.write_report` adds:

| file | what it holds |
|---|---|
| `report.html` | the report: one file, no network |
| `summary.json` | [the run in numbers](#the-summary); what `baton run --json` prints |
| `series.parquet` | [what changed over time](#series) |
| `packets.parquet` | [a row for every packet on every link](#packets) |
| `signals.parquet` | where a mobility protocol is spoken, [who signalled what to whom, and when](#signals) |
| `manifest.json` | version, seed, resolved scenario, hashes of recordings and tables: what `baton rerun` needs; of a live run the kernel and its settings |
| `recordings/` | the recordings that the run has read, each with the beginning of its SHA-256 in its name |
| `capture-<node>-<link>.pcapng` | with `--pcap`, what each interface sent, and what it received with the bits that the link flipped; with `--pcap-interface` only of those, with `--snap-length` so much of each packet |
| `server.log` | of a live run, what the server's program printed |

Parquet is read by pandas, Polars, DuckDB, R and others: [Read the packet table](../how-to/read-the-packet-table.md). The
descriptions below travel with each table, as JSON in its metadata. Times of tables are integers in nanoseconds of simulated
time. In numbers of the summary the end of a name is the unit: `_s` seconds, `_us` microseconds, `_bps` bits per second, `_bytes`
bytes. Results of a sweep: [Sweeps](../sweeps.md#the-folder).

Verdicts on expectations stand in `summary.json` and `manifest.json`, under `expectations`: each has `expression`, `expected`,
`measured` and `holds`. No path of the machine and no name of its user is in what a command leaves, unless the scenario's own words or a
program's output have one. `baton pack` makes one file of the folder ([Hand it on](../how-to/reproduce-a-study.md#hand-it-on)).
"""


SIGNALLING = """\
name = "signalling"
duration = "1 s"
links.cell = { between = ["agent", "aircraft"], kind = "wired", rate = "1 Mbit/s", delay = "1 ms" }
home_agents.agent.prefix = "2001:db8::/64"
[mobiles.aircraft]
timetable = [{ at = "0 s", attach = "cell" }]
mobility = { protocol = "mobile-ipv6", home_agent = "agent", home_link = "cell" }
"""


def page() -> str:
    """The page."""
    result = Scenario.load(scenario_path("wavelan-to-gsm"), ["duration=15 s"]).run()
    packets, series = pyarrow.table(result.packets), pyarrow.table(result.series)
    signals = pyarrow.table(Scenario.parse(SIGNALLING).run().signals)
    parts = [
        INTRODUCTION,
        "## Packets\n",
        columns(packets, description(packets)["columns"]),
        "## Series\n",
        columns(series, description(series)["columns"]),
        "The series are\n",
        series_table(description(series)["series"]),
        "## Signals\n\nOnly where a mobile has a mobility protocol and packets or series are recorded. Rows stand in the order in which"
        " messages ended; sort them by `sent_ns`. The report draws them as a chart of each handover.\n",
        columns(signals, description(signals)["columns"]),
        "## The summary\n\nThe paths that `--expect` and the columns of a sweep use are these keys with dots between them, flows by their"
        " name: `flows.download.longest_stall_s`, `handovers.0.lost_packets`. What stalls, interruptions and losses are is defined with"
        " [the measures](../measures.md).\n",
        *summary_tables(),
    ]
    return "\n".join(parts).rstrip() + "\n"


def description(found: pyarrow.Table) -> dict[str, Any]:
    """The dictionary that a table carries."""
    ((_, text),) = [item for item in found.schema.metadata.items() if item[0].startswith(b"baton.")]
    return dict(json.loads(text))


def columns(found: pyarrow.Table, described: list[dict[str, str]]) -> str:
    """The columns of a table. Raises `ValueError` if one is not described."""
    if found.column_names != [each["name"] for each in described]:
        raise ValueError(f"columns {found.column_names}, but described are {[each['name'] for each in described]}")
    rows = [
        [f"`{each['name']}`", type_name(found.schema.field(each["name"])), each["unit"], f"{each['description']}."]
        for each in described
    ]
    return table(["column", "type", "unit", "meaning"], rows) + "\n"


def type_name(field: pyarrow.Field) -> str:
    """A column's type, in Arrow's words."""
    kind = field.type.value_type if pyarrow.types.is_dictionary(field.type) else field.type
    text = "list of " + str(kind.value_type) if pyarrow.types.is_list(kind) else str(kind)
    return text + (", or null" if field.nullable else "")


def series_table(described: list[dict[str, Any]]) -> str:
    """The series that the column `series` may name."""
    rows = [[f"`{each['name']}`", each.get("unit") or "", f"{each['description']}."] for each in described]
    return table(["series", "unit", "meaning"], rows) + "\n"


def summary_tables() -> list[str]:
    """A table for the summary and for every object in it."""
    parts = ["### Of every run\n", keys(Summary, "")]
    pending = [*inner(Summary, ""), ("flows[]", ObservedFlow), ("", LiveSummary), *inner(LiveSummary, "")]
    shown: list[Any] = [Summary]
    while pending:
        path, kind = pending.pop(0)
        if kind in shown:
            continue
        shown.append(kind)
        where = "Of a live run" if not path else f"`{path}` of a live run" if kind is ObservedFlow else f"`{path}`"
        about = f"\n{kind.__doc__}\n" if kind.__doc__ else ""
        parts += [f"### {where}\n{about}", keys(kind, path)]
        pending = [*inner(kind, path), *pending]
    return parts


def keys(kind: Any, path: str) -> str:
    """The keys of an object. Raises `ValueError` for one without a description."""
    hidden = get_type_hints(Summary) if kind is LiveSummary else {}
    rows = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if name in hidden:
            continue
        if not hasattr(hint, "__metadata__"):
            raise ValueError(f"{kind.__name__}.{name}: has no description in python/baton/summary.py")
        rows.append([f"`{name}`", json_type(hint.__origin__), f"{hint.__metadata__[0]}."])
    return table(["key", "type", "meaning"], rows) + "\n"


def inner(kind: Any, path: str) -> list[tuple[str, Any]]:
    """Objects in an object, with their paths."""
    found = []
    for name, hint in get_type_hints(kind).items():
        is_list = get_origin(hint) is list
        item = get_args(hint)[0] if is_list else object_in(hint)
        if is_typeddict(item):
            found.append((f"{path}{'.' if path else ''}{name}{'[]' if is_list else ''}", item))
    return found


def json_type(hint: Any) -> str:
    """A type in JSON's words."""
    names = {str: "text", int: "whole number", float: "number", bool: "true or false", type(None): "null"}
    if hint in names:
        return names[hint]
    if is_typeddict(hint) or get_origin(hint) is dict:
        return "object"
    if get_origin(hint) is list:
        return f"array of {json_type(get_args(hint)[0])}s"
    return " or ".join(json_type(each) for each in get_args(hint))
