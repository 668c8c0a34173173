"""The comparison in the terminal: the ranking, and a sentence for each place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baton.tables import NOTHING, count
from baton.text_table import Table

from .words import INTERRUPTED, interval, percent, plain, seconds

if TYPE_CHECKING:
    from .cli import Comparison


def show(found: Comparison) -> None:
    """Prints it on standard output."""
    runs = sum(len(found.sweep.rows(place)) for place in range(len(found.sweep.points)))
    print(f"{found.study.title}: {count(runs)} runs in {found.wall_s:.0f} s")
    if not found.sweep.complete:
        print(INTERRUPTED)
    stacks = found.study.headline
    table = Table(
        "Remedy",
        "At",
        "QUIC",
        "IPsec",
        *stacks,
        "Gain",
        "95 % interval",
        "Stall",
        "Spurious",
        "Others",
        "Cost",
        text_columns=4,
    )
    for each in found.standings:
        remedy = each.remedy
        head = [remedy.shown + (" *" if remedy.own else ""), remedy.where, _word(remedy.quic), _word(remedy.ipsec)]
        if each.never_run:
            table.add_row(*head, "refused" if each.refused else "no run", *[NOTHING] * (len(stacks) + 5))
            continue
        gains = [percent(each.by_stack[stack].mean) for stack in stacks if stack in each.by_stack]
        table.add_row(
            *head,
            *gains,
            percent(each.gain.mean),
            interval(each.gain),
            seconds(each.stall_s.mean),
            plain(each.spurious.mean),
            percent(each.others.mean),
            percent(each.cost.mean),
        )
    table.caption = (
        "All against installing nothing. Gain: of what the links carry, mean over all handovers. Others: bytes of a"
        " passenger without the remedy. Cost: bytes without a handover."
    )
    print(table)
    for each in found.standings:
        if each.never_run and each.refused:
            print(f"REFUSED {each.remedy.name}: {each.refused[0]}")
    for distance in found.distances:
        print(distance.sentence)
    for advice in found.advice:
        print(advice.sentence)


def _word(works: bool) -> str:
    return "yes" if works else "no"
