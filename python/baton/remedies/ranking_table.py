"""The table of the page: a row for each remedy, the one that gains most first."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from baton.report.text_tables import ABSENT
from baton.sweep.statistics import Statistics

from .facts import ROUTED_MARK
from .gains import is_above, is_below
from .ranking import Standing
from .words import MINUS, interval, percent, plain, seconds, size

if TYPE_CHECKING:
    from .cli import Comparison


def section(found: Comparison) -> str:
    """Returns the table with its heading."""
    stacks = found.study.headline
    heads = ["Remedy", "Install at", "QUIC", "IPsec", *[f"Gain, {stack}" for stack in stacks]]
    heads += ["Gain, all", "Bytes a handover", "Longest stall", "Spurious", "Others' bytes", "Cost without handover"]
    heads += ["Better / worse"]
    crowded = any(each.crowd["page_load_s"].values for each in found.standings)
    heads += ["Page load, 100 passengers", "Voice gap"] if crowded else []
    row_heads = "".join(
        f'<th scope="col"{"" if place < 4 else " class=n"}>{head}</th>' for place, head in enumerate(heads)
    )
    rows = "".join(_row(each, stacks, crowded, len(heads)) for each in found.standings)
    return (
        '<section class="ranking"><h2>Ranking</h2><p class="note">Changes against installing nothing, with their 95 %'
        " intervals; bold where the interval does not reach zero. ★: our own, the others are published."
        f"{_routed(found)}</p>"
        f'<div class="wide" tabindex="0" role="region" aria-label="Ranking"><table><thead><tr>{row_heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _routed(found: Comparison) -> str:
    """Makes the note on remedies that are run in another world, and compared with installing nothing there."""
    names = [each.remedy.name for each in found.standings if each.remedy.is_routed]
    if not names:
        return ""
    return (
        f"{ROUTED_MARK}: Mobile IP refuses {' and '.join(map(html.escape, names))}, so that it is run in a world of its"
        " own, where routes move at once without a protocol. Its gain is against nothing installed in that world, not"
        " against the \u201cinstall nothing\u201d of this table; set beside other rows, two gains are compared, not"
        " two transfers."
    )


def _row(each: Standing, stacks: list[str], crowded: bool, width: int) -> str:
    remedy = each.remedy
    mark = ' <span class="own-mark" title="our own">★</span>' if remedy.own else ""
    head = f'<th scope="row">{html.escape(remedy.shown)}{mark}<small>{html.escape(remedy.about)}</small></th>'
    words = [html.escape(remedy.where), "yes" if remedy.quic else "no", "yes" if remedy.ipsec else "no"]
    texts = "".join(f"<td>{word}</td>" for word in words)
    if each.never_run:
        reason = f"refused: {html.escape(each.refused[0])}" if each.refused else "no run has ended"
        told = "; its results over a link with retransmission stand below" if each.by_repeating else ""
        return f'<tr class="refused">{head}{texts}<td colspan="{width - 4}">{reason}{told}</td></tr>'
    kind = "" if remedy.installed else ' class="nothing"'
    return f"<tr{kind}>{head}{texts}{''.join(_numbers(each, stacks, crowded))}</tr>"


def _numbers(each: Standing, stacks: list[str], crowded: bool) -> Iterator[str]:
    if not each.remedy.installed:
        yield from (f'<td class="n">{"0" if place < len(stacks) + 1 else ""}</td>' for place in range(len(stacks) + 7))
        yield from ('<td class="n"></td>' for _ in range(2 if crowded else 0))
        return
    for stack in stacks:
        yield _cell(each.by_stack[stack])
    yield _cell(each.gain)
    yield _cell(each.bytes, size)
    yield _cell(each.stall_s, seconds)
    yield _cell(each.spurious, plain)
    fair = "" if each.fairness.mean is None else f"Jain {_three(each.fairness.mean)}"
    yield _cell(each.others, also=fair)
    yield _cell(each.cost)
    yield f'<td class="n">{each.better} / {each.worse}<small>of {len(each.cells)} handovers</small></td>'
    if crowded:
        unfinished = each.crowd["pages_unfinished"].mean
        also = "" if unfinished is None else f"{plain(unfinished)} unfinished"
        yield _cell(each.crowd["page_load_s"], seconds, also=also)
        yield _cell(each.crowd["voice_gap_s"], seconds)


def _cell(found: Statistics, shown: Callable[[float | None], str] = percent, also: str = "") -> str:
    if found.mean is None:
        return f'<td class="n">{ABSENT}<small>{also}</small></td>'
    strong = " strong" if is_above(found) or is_below(found) else ""
    between = "" if found.low is None or found.low == found.high else interval(found, shown)
    small = "<br>".join(each for each in (between, also) if each)
    return f'<td class="n{strong}">{shown(found.mean)}<small>{small}</small></td>'


def _three(value: float) -> str:
    return f"{value + 0.0:+.3f}".replace("-", MINUS)
