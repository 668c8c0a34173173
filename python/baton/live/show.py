"""A live run's results for people."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator

from baton import tables
from baton.summary import Json

from .judge import Verdict


def print_live(summary: Json, verdict: Verdict) -> None:
    """Prints flows, handovers, expectations and what is special to a live run on standard output."""
    lasted = tables.seconds(summary["simulated_s"])
    tables.print_summary(
        summary, verdict.outcomes, f"{summary['scenario']}, seed {summary['seed']}: {lasted} in real time"
    )
    rows = [*live_rows(summary), *(("Not checked", f"{text} (its flow was not run)") for text in verdict.not_checked)]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print(f"{name:{width}}  {text}")


def live_rows(summary: Json) -> Iterator[tuple[str, str]]:
    """Names and texts: the program, its server, trust, lateness, what was ignored."""
    live = summary["live"]
    if summary.get("program"):
        yield "Program", program_text(summary["program"])
    server = summary.get("server")
    if server and server["status"]:
        yield "Server", f"{server['command']}: exit status {server['status']}; server.log has what it said"
    if live["trusted"]:
        yield "Trusted", f"yes (kernel {live['kernel']})"
    else:
        for doubt in live["doubts"]:
            yield "NOT TRUSTED", doubt
    yield "Lateness", lateness_text(live["lateness"])
    for what in live["ignored"]:
        yield "Ignored", what
    if live["lost_rows"]:
        yield "Lost rows", f"{live['lost_rows']:,} of the record"
    if live["dropped_outside_model"]:
        yield "Dropped", f"{live['dropped_outside_model']:,} packets that the model did not drop"


def program_text(program: Json) -> str:
    """The program, how it ended, and its longest stall in milliseconds."""
    stall = f"longest stall {1000 * program['longest_stall_s']:,.0f} ms"
    return f"{shlex.join(program['argv'])}: {ending(program)} after {tables.seconds(program['wall_s'])}; {stall}"


def ending(program: Json) -> str:
    """How a program ended, in words."""
    if program["stopped_at_end"]:
        return "stopped at the end of the run"
    if program["signal"] is not None:
        return f"killed by {signal_name(program['signal'])}"
    return f"exit status {program['status']}"


def signal_name(number: int) -> str:
    """A signal's name, or its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def lateness_text(lateness: Json) -> str:
    """How late events were, against the bound."""
    median, p99, largest = (f"{lateness[key]:,.0f}" for key in ("median_us", "p99_us", "largest_us"))
    return f"median {median} µs, 99 % at most {p99} µs (bound {lateness['bound_us']:,.0f} µs), largest {largest} µs"
