"""The tables of the page: flows, and their handovers."""

from __future__ import annotations

import html
from typing import Any

from baton import losses
from baton.many import Spread, fleets, flow_classes

from . import handovers

ABSENT = "\u2013"
BUSIEST_CELLS = 20


class Markup(str):
    """Text of a table cell that is HTML already."""


def expectation_table(summary: dict[str, Any]) -> str:
    """Returns a table with a row for each expectation: the measured value, and the verdict."""
    heads = [("Expectation", ""), ("Verdict", ""), ("Measured", "")]
    rows = [
        [str(each["expression"]), "holds" if each["holds"] else "FAILED", number(each.get("measured"), "no value")]
        for each in summary.get("expectations") or []
    ]
    return table("Expectations", heads, rows, texts=2) if rows else ""


def flow_table(summary: dict[str, Any]) -> str:
    """Returns a table with a row for each flow."""
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
    flows = summary.get("flows") or []
    for flow in flows:
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
                losses.of_flow(flow) or number(flow.get("lost_packets")),
            ]
        )
    if any("delay" in flow for flow in flows):
        heads += DELAY_HEADS
        for flow, row in zip(flows, rows, strict=True):
            row += _delays(flow)
    if any(flow.get("five_tuple") for flow in flows):  # conversations of a live run, whose names say little
        heads.insert(2, ("Conversation", ""))
        for flow, row in zip(flows, rows, strict=True):
            row.insert(2, str(flow.get("five_tuple") or ABSENT))
        return table("Flows", heads, rows, texts=3)
    return table("Flows", heads, rows, texts=2) if rows else ""


def class_table(summary: dict[str, Any]) -> str:
    """Returns a table with a row for each class of flows: their data, their packets, and the delays of these."""
    heads = [("Class", ""), ("Flows", ""), ("Packets sent", ""), ("Delivered", ""), ("Lost", ""), *DELAY_HEADS]
    keys = ("flows", "sent_packets", "delivered_packets", "lost_packets")
    rows = [
        [str(each.get("name", "")), *(number(each.get(key)) for key in keys), *_delays(each)]
        for each in summary.get("classes") or []
    ]
    return table("Packets and delays by class", heads, rows, texts=1) if rows else ""


def disturbed_table(summary: dict[str, Any]) -> str:
    """Returns a table with a row for each class and kind of handover: delays of the packets under way during these."""
    heads = [("Under way during", ""), ("Class", ""), ("Packets", ""), *DELAY_HEADS]
    rows = [
        [
            f"{each['name']} handovers".replace("-", " "),
            str(of_class["name"]),
            number(each["delay"]["packets"]),
            *_delays(each),
        ]
        for of_class in summary.get("classes") or []
        for each in of_class.get("during_handovers") or []
    ]
    return table("Delays during handovers", heads, sorted(rows), texts=2) if rows else ""


def cell_table(summary: dict[str, Any]) -> str:
    """Returns a table with a row for each of the busiest cells of radio networks; nothing where one mobile is all."""
    heads = [
        ("Cell", ""),
        ("Network", ""),
        ("Mobiles: mean", ""),
        ("most", ""),
        ("Delivered forward: mean", ""),
        ("most", ""),
        ("Return: mean", ""),
        ("most", ""),
    ]
    cells = [
        (each, radio["link"]) for radio in summary.get("radios") or [] for each in radio["cells"] if "load" in each
    ]
    loads = [(max(cell["load"]["aircraft"], default=0), cell, link) for cell, link in cells]
    busiest = sorted(loads, key=lambda each: -each[0])[:BUSIEST_CELLS]
    if not busiest or busiest[0][0] <= 1:
        return ""
    rows = []
    for most, cell, link in busiest:
        load = cell["load"]
        rates = [load["forward_bps"], load["return_bps"]]
        of_rates = [
            quantity(value, "bit/s")
            for each in rates
            for value in (sum(each) / max(len(each), 1), max(each, default=0))
        ]
        mean = sum(load["aircraft"]) / len(load["aircraft"])
        rows.append([cell["cell"], link, number(mean), number(most), *of_rates])
    return table(f"Busiest cells, of {len(cells)}", heads, rows, texts=2)


def flow_and_handover_tables(summary: dict[str, Any], whole: dict[str, Any], linked: bool = True) -> str:
    """Returns flows and handovers; of very many, a row per class from the `whole` summary, and each of them folded
    away."""
    by_class, by_mobile = _class_flow_table(whole), _fleet_table(whole)
    flows, handed_over = flow_table(summary), handover_table(summary, linked)
    return (
        by_class
        + (_folded("Each flow", flows) if by_class else flows)
        + by_mobile
        + (_folded("Each handover", handed_over) if by_mobile else handed_over)
    )


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>{content}</details>"


def _class_flow_table(summary: dict[str, Any]) -> str:
    """Makes the table of the classes of flows, where flows are many."""
    heads = [
        ("Flows of", ""),
        ("Number", ""),
        ("Completed", ""),
        ("Delivered", ""),
        ("Goodput: mean", ""),
        ("Segments sent", ""),
        ("Retransmitted", ""),
        ("of these spurious", ""),
        ("Timeouts", ""),
        *STALL_HEADS,
    ]
    rows = [
        [
            each.name,
            number(len(each.flows)),
            number(each.completed),
            quantity(each.total("delivered_bytes"), "B"),
            quantity(each.goodput_bps, "bit/s"),
            *(
                number(each.total(key))
                for key in ("segments_sent", "retransmitted", "spurious_retransmitted", "timeouts")
            ),
            *_spread(each.stall_s),
        ]
        for each in flow_classes(summary.get("flows") or [])[0]
    ]
    return table("Flows by class", heads, rows, texts=1) if rows else ""


def _fleet_table(summary: dict[str, Any]) -> str:
    """Makes the table of handovers, where they are many: a row for all mobiles that the scenario writes as one."""
    heads = [
        ("Handovers of", ""),
        ("Mobiles", ""),
        ("Handovers", ""),
        ("Completed", ""),
        *STALL_HEADS,
        ("Packets lost", ""),
    ]
    rows = [
        [
            each.name,
            *(number(value) for value in (each.mobiles, len(each.handovers), each.completed)),
            *_spread(each.stall_s),
            number(each.lost_packets),
        ]
        for each in fleets(summary.get("handovers") or [])[0]
    ]
    return table("Handovers by mobile", heads, rows, texts=1) if rows else ""


STALL_HEADS = [("Longest stall: median", "s"), ("95 %", "s"), ("largest", "s")]


def _spread(of: Spread) -> list[str]:
    return [number(of.median), number(of.p95), number(of.largest)]


DELAY_HEADS = [("Delay: mean", ""), ("median", ""), ("95 %", ""), ("99 %", ""), ("99.9 %", "")]


def _delays(of: dict[str, Any]) -> list[str]:
    """Returns one-way delays of a flow or a class in milliseconds, or seconds where they are long."""
    delay = of.get("delay") or {}
    return [_delay(delay.get(key)) for key in ("mean_s", "p50_s", "p95_s", "p99_s", "p99_9_s")]


def _delay(value: float | None) -> str:
    if value is None:
        return ABSENT
    return with_unit(1e3 * value, "ms") if value < 1 else with_unit(float(value), "s")


def handover_table(summary: dict[str, Any], linked: bool = True) -> str:
    """Returns a table with a row for each handover and flow; in a report `linked` with its close-up."""
    heads = [
        ("Handover", ""),
        ("Kind", ""),
        ("Flow", ""),
        ("At", "s"),
        ("Switch took", "s"),
        ("Stall", "s"),
        ("Interrupted there / back", "s"),
        ("Packets lost", ""),
        ("Spurious retransmissions", ""),
        ("Until 90 % of the new rate", "s"),
    ]
    rows, before = [], 0
    for row in handovers.rows(summary):
        name = f"{row.mobile}: {row.way}" if row.mobile else row.way
        flow = f' data-flow="{html.escape(row.flow)}"' if row.flow else ""
        link = Markup(f'<a href="#figures" data-mark="{row.number - 1}"{flow}>{html.escape(name)}</a>')
        again = row.number == before
        rows.append(
            [
                "" if again else link if linked else name,
                "" if again else row.kind,
                row.flow,
                number(row.at_s),
                number(row.switch_s, "unfinished"),
                number(row.stall_s),
                interrupted(row),
                row.lost or ABSENT,
                number(row.spurious_retransmissions),
                number(row.time_to_90_percent_s, "not reached" if row.flow else ABSENT),
            ]
        )
        before = row.number
    return table("Handovers", heads, rows, texts=3) if rows else ""


def interrupted(row: handovers.HandoverRow) -> str:
    """Returns the time without packets, to the sink and back; only what was measured."""
    if row.interruption_s == (None, None):
        return ABSENT
    return " / ".join(number(each) for each in row.interruption_s)


def agent_table(summary: dict[str, Any]) -> str:
    """Returns a table with a row for each mobility agent that held packets or sent them twice."""
    heads = [
        ("Held for mobiles at", ""),
        ("Agent", ""),
        ("Packets held", ""),
        ("Sent on", ""),
        ("Dropped: full", ""),
        ("Of these", "B"),
        ("Dropped: too old", ""),
        ("Dropped: held already", ""),
        ("Most held", "B"),
        ("Copies sent", ""),
    ]
    keys = ("held", "released", "overflowed", "overflowed_bytes", "expired", "duplicates", "most_bytes", "copies")
    rows = [
        [str(agent.get("node", "")), str(agent.get("agent", "")), *(number(agent.get(key)) for key in keys)]
        for agent in summary.get("agents") or []
    ]
    return table("Mobility agents", heads, rows, texts=2) if rows else ""


def number(value: Any, absent: str = ABSENT) -> str:
    """Writes a number for a table cell: whole ones with thin spaces, others to four digits."""
    if value is None:
        return absent
    if isinstance(value, float) and not value.is_integer():
        digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
        return f"{value:,.{digits}f}".replace(",", "\u202f")
    return f"{int(value):,}".replace(",", "\u202f")


def with_unit(value: Any, unit: str) -> str:
    """Writes a number as `number` does, with a unit."""
    return ABSENT if value is None else f"{number(value)}\u00a0{unit}"


def quantity(value: Any, unit: str) -> str:
    """Writes a number with a unit and a decimal prefix."""
    if value is None:
        return ABSENT
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.4g}\u00a0{prefix}{unit}"
    return f"{value:.4g}\u00a0{unit}"


def table(caption: str, heads: list[tuple[str, str]], rows: list[list[str]], texts: int) -> str:
    """Returns a table whose first `texts` columns are words; the first one heads its row."""
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
