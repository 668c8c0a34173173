"""Results as tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from baton import losses
from baton.cells import CellNames
from baton.expect import Outcome
from baton.many import MOST_ROWS, Fleet, FlowClass, Spread, fleets, flow_classes, unlisted_sentences
from baton.overload import overload_sentences
from baton.summary import Json
from baton.text_table import Table

NOTHING = "-"
# Flows and handovers in no class that are listed one by one.
MOST_LISTED = 40


def headline(summary: Json) -> str:
    """Describes a simulated run in a line: its scenario, its length, its speed."""
    speed = summary["simulated_s"] / max(summary["wall_s"], 1e-9)
    return (
        f"{summary['scenario']}, seed {summary['seed']}: {seconds(summary['simulated_s'])} simulated in"
        f" {seconds(summary['wall_s'])} ({speed:,.0f} x real time, {summary['events']:,} events)"
    )


def print_summary(summary: Json, outcomes: Sequence[Outcome], first_line: str) -> None:
    """Prints flows, handovers and expectations on standard output."""
    print(first_line)
    classes, flows = flow_classes(summary["flows"])
    if classes:
        print(class_table(classes))
    _print_listed(flows, flow_table, "flows")
    _print_failures(summary["flows"])
    of_fleets, handovers = fleets(summary["handovers"])
    if of_fleets:
        print(fleet_table(of_fleets))
    names = CellNames.of(summary)
    _print_listed(handovers, lambda listed: handover_table(listed, names), "handovers")
    for sentence in unlisted_sentences(summary):
        print(sentence)
    if summary.get("agents"):
        print(agent_table(summary["agents"]))
    for sentence in overload_sentences(summary):
        print(f"OVERLOAD {sentence}")
    if outcomes:
        print(expectation_table(outcomes))


def _print_listed(listed: Sequence[Json], table: Callable[[Sequence[Json]], Table], what: str) -> None:
    """Prints a table of the first of them, and the number of those left out."""
    if listed:
        print(table(listed[:MOST_LISTED]))
    if len(listed) > MOST_LISTED:
        print(f"and {len(listed) - MOST_LISTED:,} more {what}, in summary.json")


def _print_failures(flows: Sequence[Json]) -> None:
    """Prints a line for each flow that failed; of many, for each reason."""
    failed = [flow for flow in flows if flow["failure"]]
    if len(failed) <= MOST_ROWS:
        for flow in failed:
            print(f"FAILED {flow['name']}: {flow['failure']}")
        return
    for reason, count_of in Counter(flow["failure"] for flow in failed).items():
        print(f"FAILED {count_of:,} flows: {reason}")


def class_table(classes: Sequence[FlowClass]) -> Table:
    """Returns a table with one row per class of flows."""
    table = Table(
        *("Class", "Flows", "Delivered", "Completed", "Goodput", "Sent", "Resent", "Timeouts"),
        *("Stall: median", "95 %", "largest"),
        text_columns=1,
    )
    for each in classes:
        table.add_row(
            each.name,
            count(len(each.flows)),
            scaled(each.total("delivered_bytes"), "B"),
            count(each.completed),
            scaled(each.goodput_bps, "bit/s"),
            count(each.total("segments_sent")),
            f"{count(each.total('retransmitted'))} ({count(each.total('spurious_retransmitted'))})",
            count(each.total("timeouts")),
            *_spread(each.stall_s),
        )
    table.caption = (
        "Sums over the flows; goodput: mean of them. Resent: retransmissions (spurious). Stall: longest wait of each."
    )
    return table


def fleet_table(of_fleets: Sequence[Fleet]) -> Table:
    """Returns a table with one row for all mobiles that are written as one."""
    table = Table(
        "Handovers of", "Mobiles", "Handovers", "Completed", "Stall: median", "95 %", "largest", "Lost", text_columns=1
    )
    for each in of_fleets:
        counts = (each.mobiles, len(each.handovers), each.completed)
        table.add_row(each.name, *map(count, counts), *_spread(each.stall_s), count(each.lost_packets))
    table.caption = "Stall: longest wait of a flow from a handover to the next. Each handover stands in summary.json."
    return table


def _spread(of: Spread) -> list[str]:
    return [seconds(of.median), seconds(of.p95), seconds(of.largest)]


def flow_table(flows: Sequence[Json]) -> Table:
    """Returns a table with one row per flow."""
    table = Table("Flow", "Delivered", "Completed", "Goodput", "Sent", "Resent", "Timeouts", "Stall", text_columns=1)
    for flow in flows:
        table.add_row(
            flow["name"],
            scaled(flow["delivered_bytes"], "B"),
            seconds(flow["completion_s"]),
            scaled(flow["goodput_bps"], "bit/s"),
            count(flow["segments_sent"]),
            f"{count(flow['retransmitted'])} ({count(flow['spurious_retransmitted'])})",
            count(flow["timeouts"]),
            seconds(flow["longest_stall_s"]),
        )
    table.caption = "Resent: retransmissions (spurious). Stall: longest wait for new data."
    return table


def handover_table(handovers: Sequence[Json], names: CellNames) -> Table:
    """Returns a table with one row per handover."""
    table = Table("Handover", "Mobile", "From", "To", "Kind", "Completed", "Lost", text_columns=5)
    for handover in handovers:
        table.add_row(
            seconds(handover["at_s"]),
            handover["mobile"],
            names.shown(handover["from"] or NOTHING),
            names.shown(handover["to"] or NOTHING),
            handover["kind"],
            seconds(handover["completed_s"]),
            losses.of_handover(handover) or count(handover["lost_packets"]),
        )
    table.caption = "Lost: packets until the next handover, and where."
    if not any(handover.get("active", True) for handover in handovers):
        table.caption += "\nNo flow was under way."
    return table


def agent_table(agents: Sequence[Json]) -> Table:
    """Returns a table with one row per agent that held packets for mobiles or sent them twice."""
    table = Table("Node", "Agent", "Held", "Sent on", "Full", "Too old", "Duplicates", "Copies", text_columns=2)
    for agent in agents:
        keys = ("held", "released", "overflowed", "expired", "duplicates", "copies")
        table.add_row(agent["node"], agent["agent"], *(count(agent[key]) for key in keys))
    table.caption = "Packets held for mobiles, and why some were dropped. Copies: sent to a second place."
    return table


def expectation_table(outcomes: Sequence[Outcome]) -> Table:
    """Returns a table with one row per expectation: the expected and the measured value."""
    table = Table("Expectation", "Measured", "Verdict", text_columns=3)
    for outcome in outcomes:
        table.add_row(outcome.expectation.text, outcome.measured_text, "holds" if outcome.holds else "FAILED")
    return table


def count(value: int | None) -> str:
    """Writes a count, or a dash."""
    return NOTHING if value is None else f"{value:,}"


def seconds(value: float | None) -> str:
    """Writes a time, or a dash."""
    if value is None:
        return NOTHING
    return f"{value:.1f} s" if value >= 100 else f"{value:.3g} s"


def scaled(value: float | None, unit: str) -> str:
    """Writes a quantity with a decimal prefix and three digits, or a dash."""
    if value is None:
        return NOTHING
    for prefix in ("", "k", "M", "G"):
        if abs(value) < 999.5 or prefix == "G":
            break
        value /= 1000
    return f"{value:.3g} {prefix}{unit}"
