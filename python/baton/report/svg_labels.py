"""Labels of a drawing that cover neither one another nor points to be kept free."""

from __future__ import annotations

import html
from collections.abc import Iterator

# Of a letter and of a line of labels, in pixels, as the pages set them.
LETTER, LINE = 7.0, 16.0
# Place of a label: by which share of its width and height it is moved from its point, and by which of a distance.
_SIDES = ((-0.5, 1.0, 0, 1), (-0.5, 0.0, 0, -1), (0.0, 0.5, 1, 0), (-1.0, 0.5, -1, 0))
_CORNERS = ((0.0, 1.0, 0.7, 0.7), (0.0, 0.0, 0.7, -0.7), (-1.0, 1.0, -0.7, 0.7), (-1.0, 0.0, -0.7, -0.7))

# Lines that labels are to avoid are kept as squares of this size that they cross, in pixels.
SQUARE = 6.0

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


class Labels:
    """The occupied places in a drawing of some size."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.taken: list[Box] = []
        self.crossed: set[tuple[int, int]] = set()

    def keep_free(self, x: float, y: float, radius: float) -> None:
        """Keeps this point free of text."""
        self.taken.append((x - radius, y - radius, x + radius, y + radius))

    def avoid(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Adds a line that text covers only if there is no other room."""
        (x, y), (across, down) = start, (end[0] - start[0], end[1] - start[1])
        steps = 1 + int(max(abs(across), abs(down)) // SQUARE)
        for step in range(steps + 1):
            self.crossed.add((int((x + across * step / steps) // SQUARE), int((y + down * step / steps) // SQUARE)))

    def put(self, text: str, x: float, y: float, *, away: float, kind: str = "") -> str:
        """Returns a label beside a point, `away` pixels from it, if there is room; else nothing."""
        across = LETTER * len(text)
        free = [box for box in _boxes(x, y, across, away) if self._is_free(box)]
        if not free:
            return ""
        box = next((box for box in free if not self._is_crossed(box)), free[0])
        self.taken.append(box)
        look = f' class="{kind}"' if kind else ""
        at = f'x="{box[0] + across / 2:.1f}" y="{box[3] - 4:.1f}" text-anchor="middle"'
        return f"<text{look} {at}>{html.escape(text)}</text>"

    def _is_free(self, box: Box) -> bool:
        x0, y0, x1, y1 = box
        inside = x0 >= 0 and y0 >= 0 and x1 <= self.width and y1 <= self.height
        return inside and not any(x0 < b[2] and b[0] < x1 and y0 < b[3] and b[1] < y1 for b in self.taken)

    def _is_crossed(self, box: Box) -> bool:
        x0, y0, x1, y1 = (int(edge // SQUARE) for edge in box)
        return any((x, y) in self.crossed for x in range(x0, x1 + 1) for y in range(y0, y1 + 1))


def _boxes(x: float, y: float, across: float, away: float) -> Iterator[Box]:
    """Returns the places where a label of this width may stand beside a point, the best place first."""
    for distance in (away, 2 * away):
        for left, up, right, down in (*_SIDES, *_CORNERS):
            x0, y0 = x + left * across + right * distance, y - (1 - up) * LINE + down * distance
            yield (x0, y0, x0 + across, y0 + LINE)
