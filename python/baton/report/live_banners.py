"""Banners above the numbers of a live run: its trust, its program, ignored settings."""

from __future__ import annotations

from collections.abc import Iterator

from baton.summary import Json


def live_banners(summary: Json) -> Iterator[tuple[str, str]]:
    """Yields kinds (`warning` or `note`) and texts; none for a simulated run."""
    live = summary.get("live")
    if not live:
        return
    from baton.live_words import decisions_text, lateness_text, program_text, server_failure

    trust = "to be trusted" if live["trusted"] else "NOT to be trusted"
    what = f"Live: in real time between hosts of Linux {live['kernel']}; {trust}. Lateness of events:"
    yield "note", f"{what} {lateness_text(live['lateness'])}."
    if not live["trusted"]:
        yield "warning", f"The numbers are not to be trusted: {'; '.join(live['doubts'])}."
    if live["dropped_outside_model"]:
        yield "warning", f"{live['dropped_outside_model']:,} packets were dropped that the model did not drop."
    failure = server_failure(summary)
    if failure:
        yield "warning", f"Server: {failure}."
    program = summary.get("program")
    if program:
        failed = program["status"] != 0 and not program["stopped_at_end"]
        yield "warning" if failed else "note", f"Program: {program_text(program)}."
    for decisions in live.get("decisions", []):
        yield "warning" if decisions["late"] else "note", f"Decisions: {decisions_text(decisions)}."
    if live["ignored"]:
        yield "warning", f"Ignored, as asked, since the kernel cannot do it: {'; '.join(live['ignored'])}."
