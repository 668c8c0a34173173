"""The picture of the page: each remedy's gain at each handover, as a heat map for each stack, and the second questions
in the same form.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from baton.sweep.statistics import Statistics

from .gains import is_above, is_below
from .ranking import Standing
from .words import MINUS, interval, percent

if TYPE_CHECKING:
    from .cli import Comparison

FULL_TONE = 0.5
"""The gain at which a cell has its full colour. Chosen."""
STRONGEST = 72
"""Percent of colour then, so that the number can be read."""


def section(found: Comparison) -> str:
    """Draws one map for each stack of the headline."""
    maps = "".join(_headline_map(found, stack) for stack in found.study.headline)
    return (
        '<section class="map"><h2>Gain at each handover</h2><p class="note">In percent of what the links carry until'
        ' the next handover. <span class="key" style="background: var(--gain)"></span>more than with nothing'
        ' <span class="key" style="background: var(--loss)"></span>less; in italics where the 95 % interval includes'
        " zero."
        f" Full colour from {FULL_TONE:.0%} on; the interval stands in a cell's tip.</p>{maps}</section>"
    )


def _headline_map(found: Comparison, stack: str) -> str:
    places = [place for place, cell in enumerate(found.cells.headline) if cell.situation.stack == stack]
    cells = [found.cells.headline[place] for place in places]
    groups = [f"{found.study.paths[cell.situation.path].ways[cell.number]}\n{cell.situation.path}" for cell in cells]
    order = sorted(range(len(cells)), key=lambda place: list(dict.fromkeys(groups)).index(groups[place]))
    columns = [cells[place].situation.handover for place in order]
    rows = [(each, [each.cells[places[place]] for place in order]) for each in found.standings if not each.never_run]
    return f"<h3>{html.escape(stack)}</h3>" + _table([groups[place] for place in order], columns, rows)


def second(found: Comparison) -> str:
    """Draws what the headline leaves out: random losses, other stacks, 100 passengers, uploads, and a link with
    retransmission."""
    maps = "".join(
        _second_map(heading, note, [(each, getattr(each, name)) for each in found.standings])
        for name, heading, note in SECOND
    )
    return f'<section class="map"><h2>Further questions</h2>{maps}</section>' if maps else ""


SECOND = [
    ("by_loss", "Under random losses", "Mean gain by packet error rate, on both access links."),
    ("by_other_stack", "With the stacks of the studies", "Mean gain."),
    (
        "by_crowd",
        "With 100 passengers",
        "Gain of all their connections together: by path without random losses, by packet error rate, and by stack.",
    ),
    (
        "by_upload",
        "Uploads",
        "Mean gain of an upload, whose sender is the mobile itself. Remedies that act only where the mobile receives,"
        " or the correspondent sends, are refused and have no row.",
    ),
    (
        "by_repeating",
        "At handovers over a link with retransmission",
        "Mean gain by stack, without Mobile IP. Remedies that rely on binding updates are refused and have no row.",
    ),
    (
        "by_repeating_still",
        "On such a path without a handover",
        "Change of the data that a whole run delivers, by stack: explicit bad state notification is for bad states of"
        " the link, and not for handovers.",
    ),
    (
        "whole",
        "Over the whole cross",
        "Mean gain over all handovers at which the engine accepts the remedy, and over those of each level.",
    ),
]
"""Numbers of a `Standing` by group, their heading, and what they are."""


def _second_map(heading: str, note: str, rows: Sequence[tuple[Standing, dict[str, Statistics]]]) -> str:
    known = [(each, by_group) for each, by_group in rows if by_group]
    if not known:
        return ""
    places = [key.rpartition("=") for key in known[0][1]]
    axes = [axis for axis, _, _ in places] if any(axis for axis, _, _ in places) else []
    columns = [level for _, _, level in places]
    table = _table(axes, columns, [(each, [*by_group.values()]) for each, by_group in known])
    return f'<h3>{html.escape(heading)}</h3><p class="note">{html.escape(note)}</p>{table}'


def _table(groups: Sequence[str], columns: Sequence[str], rows: Sequence[tuple[Standing, list[Statistics]]]) -> str:
    tops = ""
    for group in dict.fromkeys(groups):
        first, _, small = group.partition("\n")
        label = html.escape(first) + (f"<br><small>{html.escape(small)}</small>" if small else "")
        tops += f'<th class="way" scope="colgroup" colspan="{list(groups).count(group)}">{label}</th>'
    over = f"<tr><td></td>{tops}</tr>" if tops else ""
    heads = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in columns)
    body = "".join(_row(each, cells) for each, cells in rows if each.remedy.installed)
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="Gains"><table><thead>'
        f"{over}<tr><td></td>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(each: Standing, cells: Sequence[Statistics]) -> str:
    mark = " \u2605" if each.remedy.own else ""
    return f'<tr><th scope="row">{html.escape(each.remedy.shown)}{mark}</th>{"".join(map(_cell, cells))}</tr>'


def _cell(found: Statistics) -> str:
    if found.mean is None:
        return "<td>\u2013</td>"
    tone = "up" if found.mean > 0 else "down"
    unsure = "" if is_above(found) or is_below(found) else " unsure"
    share = min(abs(found.mean) / FULL_TONE, 1) * STRONGEST
    text = f"{100 * found.mean + 0.0:+.0f}".replace("-", MINUS)
    tip = f"{percent(found.mean)} ({interval(found)})"
    text = "0" if text.strip("+0" + MINUS) == "" else text
    return f'<td class="{tone}{unsure}" style="--share: {share:.0f}%" title="{tip}">{text}</td>'
