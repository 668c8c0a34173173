"""Message sequence charts as SVG: nodes as vertical lines, time downwards, arrows as steep as their delays."""

from __future__ import annotations

import html
from collections.abc import Sequence

from .ladder_labels import LETTER, Labels, Line
from .ladders import SECOND, Event, Ladder, Message

# Pixels: a chart is to be so wide, and from line to line there is at least and at most so much; at the left for
# times, above the lines for names, from one thing that is said to the next and from an arrival to what follows, of a
# second, and at most of any stretch of time.
WIDTH, LEAST, MOST = 1170, 180, 300
GUTTER, HEAD = 70, 40
SAID, HEARD, A_SECOND, LONGEST = 19, 17, 90, 60
# Ends of arrows, for all charts of a page.
_MARKER = '<marker id="{0}-end" class="{0}" markerUnits="userSpaceOnUse" orient="auto" {1}/></marker>'
ENDS = (
    '<svg class="chart" width="0" height="0" aria-hidden="true"><defs>'
    + _MARKER.format("message", 'markerWidth="10" markerHeight="8" refX="9" refY="4"><path d="M0 0L9 4L0 8z"')
    + _MARKER.format("lost", 'markerWidth="24" markerHeight="12" refX="18" refY="6"><path d="M1 1L11 11M11 1L1 11"')
    + "</defs></svg>"
)
EXPLANATION = (
    "Time runs downwards, by seconds since the handover began; it is stretched where much happens and shortened where"
    " nothing does. ◆ what a link says, ● what an agent says, ✕ lost. A dashed arrow is a message in a tunnel."
)


def section(ladders: Sequence[Ladder]) -> str:
    """Returns all charts under a heading, the first one unfolded; nothing without charts."""
    if not ladders:
        return ""
    parts = [
        f'<details class="ladder"{" open" if not number else ""}><summary>{html.escape(ladder.title)}</summary>'
        f'<div class="wide">{drawing(ladder)}</div>{_note(ladder)}</details>'
        for number, ladder in enumerate(ladders)
    ]
    explained = f'<h2>Signalling</h2><p class="note">{EXPLANATION}</p>{ENDS}'
    return f'<section id="signalling">{explained}{"".join(parts)}</section>'


def _note(ladder: Ladder) -> str:
    if not ladder.repeated:
        return ""
    what = f"{ladder.repeated:,} advertisements and reports"
    return f'<p class="note">Left out, since they repeat shown ones: {what}.</p>'


def drawing(ladder: Ladder) -> str:
    """Draws one chart."""
    return _Chart(ladder).svg()


class _Chart:
    """A chart and the positions in it."""

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        # Beyond the last line there is room for its labels.
        self.column = min(max(int((WIDTH - GUTTER) / (len(ladder.nodes) + 0.5)), LEAST), MOST)
        self.heights = _heights(ladder)
        self.lines = {id(message): self.arrow(message) for message in ladder.messages}
        self.labels = Labels(list(self.lines.values()))

    def svg(self) -> str:
        bottom = round(max(self.heights.values(), default=HEAD)) + SAID
        width, height = self.line(len(self.ladder.nodes)), bottom + 10
        name = html.escape(self.ladder.title)
        parts = [f'<svg class="chart" width="{width}" height="{height}" role="img" aria-label="{name}">']
        for number, node in enumerate(self.ladder.nodes):
            x = self.line(number)
            parts.append(f'<text class="node" x="{x}" y="16" text-anchor="middle">{html.escape(node)}</text>')
            parts.append(f'<line class="life" x1="{x}" y1="24" x2="{x}" y2="{bottom}"/>')
        parts += self.times()
        # Labels come last, so that no arrow crosses one.
        parts += [self.message(message) for message in self.ladder.messages]
        parts += [self.event(event) for event in self.ladder.events]
        parts += [self.label(message) for message in self.ladder.messages]
        return "".join(parts) + "</svg>"

    def line(self, number: int) -> int:
        return GUTTER + self.column * number + self.column // 2

    def times(self) -> list[str]:
        """Writes times at the left, where there is room."""
        parts, free, told = [], 0.0, None
        for (_, at), height in sorted(self.heights.items(), key=lambda entry: entry[1]):
            if height >= free and at != told:
                text = f"{(at - self.ladder.at_ns) / SECOND:+.3f} s"
                parts.append(f'<text class="time" x="{GUTTER}" y="{height + 4:.1f}" text-anchor="end">{text}</text>')
                free, told = height + 14, at
        return parts

    def arrow(self, message: Message) -> Line:
        y1, y2 = (self.heights[id(message), at] for at in (message.sent_ns, message.decided_ns))
        return Line(self.line(message.sender), y1, self.line(message.receiver), y2)

    def message(self, message: Message) -> str:
        line, kind = self.lines[id(message)], "lost" if message.lost else "message"
        dash = ' stroke-dasharray="6 3"' if message.tunnelled else ""
        return (
            f'<g class="{kind}"><title>{html.escape(_told(message))}</title>'
            f'<line x1="{line.x1}" y1="{line.y1:.1f}" x2="{line.x2}" y2="{line.y2:.1f}"{dash}'
            f' marker-end="url(#{kind}-end)"/></g>'
        )

    def label(self, message: Message) -> str:
        """Writes the label along the arrow, with its details if there is room."""
        line = self.lines[id(message)]
        details = ", ".join(part for part in (message.lost, message.details) if part)
        room = _details(message.name, details, abs(line.x2 - line.x1) - 20)
        texts = [room, ""] if room else [""]
        place, which = self.labels.put(line, [len(f"{message.name} {text}".strip()) for text in texts])
        (x, y), turn = place.middle, place.degrees
        at = f'transform="translate({x:.0f} {y:.1f}) rotate({turn:.1f})" y="{place.baseline:g}" text-anchor="middle"'
        shown = _label(message.name, texts[which])
        return f"<g><title>{html.escape(_told(message))}</title><text {at}>{shown}</text></g>"

    def event(self, event: Event) -> str:
        x, y = self.line(event.node), self.heights[id(event), event.at_ns]
        shape = f'<circle cx="{x}" cy="{y:.1f}" r="4"/>'
        if event.kind == "link":
            shape = f'<path d="M{x - 5} {y:.1f}l5 -5l5 5l-5 5z"/>'
        details = "under way" if event.kind == "under way" else event.details
        tip = ", ".join(part for part in (event.name, details) if part)
        shown = _details(event.name, details, self.column - 30)
        if shown and self.labels.is_crossed(x + 9, y, len(f"{event.name} {shown}")):
            shown = ""
        self.labels.keep_free(x + 9, y, len(f"{event.name} {shown}".strip()))
        return (
            f'<g class="{event.kind.replace(" ", "-")}"><title>{html.escape(tip)}</title>{shape}'
            f'<text x="{x + 9}" y="{y + 4:.1f}">{_label(event.name, shown)}</text></g>'
        )


def _told(message: Message) -> str:
    """Describes everything that is known of a message."""
    lost = f"lost: {message.lost}" if message.lost else ""
    took = f"{(message.decided_ns - message.sent_ns) / SECOND * 1e3:.3f} ms"
    return ", ".join(part for part in (message.name, message.details, lost, took) if part)


def _heights(ladder: Ladder) -> dict[tuple[int, int], float]:
    """Returns the height of each end of an arrow and of each mark, by the `id` of its owner and its time.

    Later is further down. Signals of one moment have rows of their own, so that labels can be read: first messages that
    reached a host, then its own events, then messages that it sent.
    """
    ends: list[tuple[int, int, Message | Event]] = [(message.decided_ns, 0, message) for message in ladder.messages]
    ends += [(event.at_ns, 1, event) for event in ladder.events]
    ends += [(message.sent_ns, 2, message) for message in ladder.messages]
    heights, height, last = {}, float(HEAD), None
    for at, speaks, what in sorted(ends, key=lambda end: end[:2]):
        if last is not None:
            height += min((at - last) / SECOND * A_SECOND, LONGEST)
        height += SAID if speaks else HEARD
        heights[id(what), at] = height
        last = at
    return heights


def _details(name: str, details: str, room: float) -> str:
    """Returns the first of the details, as many as fit after the name."""
    shown, left = [], room - LETTER * (len(name) + 1)
    for part in details.split(", ") if details else []:
        left -= LETTER * (len(part) + 2)
        if left < 0:
            break
        shown.append(part)
    return ", ".join(shown)


def _label(name: str, details: str) -> str:
    more = f' <tspan class="details">{html.escape(details)}</tspan>' if details else ""
    return html.escape(name) + more
