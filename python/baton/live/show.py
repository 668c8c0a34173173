"""A live run's results for people."""

from __future__ import annotations

from collections.abc import Iterator

from baton import tables
from baton.live_words import decisions_text, lateness_text, program_text, server_failure
from baton.summary import Json, main_flows

from .judge import Verdict

# Flows that the table on the terminal has; a browser opens dozens.
MOST_FLOWS = 20


def print_live(summary: Json, verdict: Verdict, no_handover: str | None) -> None:
    """Prints flows, handovers, expectations and a live run's own facts on standard output."""
    lasted = tables.seconds(summary["simulated_s"])
    first_line = f"{summary['scenario']}, seed {summary['seed']}: {lasted} in real time"
    shown, left_out = main_flows(summary, MOST_FLOWS)
    tables.print_summary(shown, verdict.outcomes, first_line)
    if left_out:
        print(f"{left_out:,} more flows delivered less; summary.json has all")
    if no_handover:
        print(f"NO HANDOVER  {no_handover}")
    rows = [*live_rows(summary), *(("Not checked", f"{text} (its flow was not run)") for text in verdict.not_checked)]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print(f"{name:{width}}  {text}")


def live_rows(summary: Json) -> Iterator[tuple[str, str]]:
    """Returns names and texts: the program, its server, trust, lateness, ignored settings."""
    live = summary["live"]
    if summary.get("program"):
        yield "Program", program_text(summary["program"])
    failure = server_failure(summary)
    if failure:
        yield "Server", failure
    if live["trusted"]:
        # Rows may be lost at the very end, when the doubts have been told.
        gaps = ", but for the gaps in the record" if live["lost_rows"] else ""
        yield "Trusted", f"yes{gaps} (kernel {live['kernel']})"
    else:
        for doubt in live["doubts"]:
            yield "NOT TRUSTED", doubt
    yield "Lateness", lateness_text(live["lateness"])
    for what in live["ignored"]:
        yield "Ignored", what
    for decisions in live.get("decisions", []):
        yield "Decisions", decisions_text(decisions)
    for done in live.get("by_hand", []):
        yield "By hand", f"{done['what']}, at {done['at_s']:.3f} s"
    if live["lost_rows"]:
        yield "Lost rows", f"{live['lost_rows']:,} of the record"
    if live["dropped_outside_model"]:
        yield "Dropped", f"{live['dropped_outside_model']:,} packets that the model did not drop"


def why_incomplete(summary: Json) -> str:
    """Describes the gaps in the record of a run that was not interrupted."""
    if summary["live"]["lost_rows"]:
        return "it could not be written as fast as the run went"
    return f"it ends at {summary['simulated_s']} s, before the scenario does"
