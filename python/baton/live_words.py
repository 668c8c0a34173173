"""A live run in words, the same on the terminal and on the page."""

from __future__ import annotations

import shlex
import signal

from baton.summary import Json


def program_text(program: Json) -> str:
    """Describes the program, its end, and its longest stall in milliseconds."""
    stall = f"longest stall {1000 * program['longest_stall_s']:,.0f} ms"
    said = "".join(f"; it says {name} {number:.6g}" for name, number in program.get("reported", {}).items())
    return f"{shlex.join(program['argv'])}: {ending(program)} after {program['wall_s']:.3g} s; {stall}{said}"


def ending(program: Json) -> str:
    """Describes a program's end."""
    if program["stopped_at_end"]:
        return "stopped at the end of the run"
    if program["signal"] is not None:
        return f"killed by {signal_name(program['signal'])}"
    return f"exit status {program['status']}"


def signal_name(number: int) -> str:
    """Returns a signal's name, or its number if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def lateness_text(lateness: Json) -> str:
    """Describes the lateness of events, against the bound."""
    median, p99, largest = (f"{lateness[key]:,.0f}" for key in ("median_us", "p99_us", "largest_us"))
    return f"median {median} µs, 99 % at most {p99} µs (bound {lateness['bound_us']:,.0f} µs), largest {largest} µs"


def server_failure(summary: Json) -> str | None:
    """Describes the server's failure; nothing if it did not fail, or was ended with the run."""
    server = summary.get("server")
    if not server or not server["status"]:
        return None
    return f"{server['command']}: exit status {server['status']}; see server.log"


def decisions_text(decisions: Json) -> str:
    """Describes the answers of a mobile's class."""
    asked = f"{decisions['mobile']}: {decisions['decision']} was asked {decisions['questions']:,} times"
    longest = f"longest {decisions['longest_ms']:,.1f} ms"
    if not decisions["late"]:
        return f"{asked}, {longest}"
    return f"{asked} and was late {decisions['late']:,} times (over {decisions['deadline_ms']:g} ms), {longest}"
