"""Labels of a drawing that do not cover one another, nor what must be seen."""

from __future__ import annotations

import html
from dataclasses import dataclass, field

# Of a letter and of a line of labels, in pixels, as the pages set them.
LETTER, LINE = 7.0, 16.0
# Where a label stands: by which share of its width and height it is moved from its point, and by which of a distance.
_SIDES = ((-0.5, 1.0, 0, 1), (-0.5, 0.0, 0, -1), (0.0, 0.5, 1, 0), (-1.0, 0.5, -1, 0))
_CORNERS = ((0.0, 1.0, 0.7, 0.7), (0.0, 0.0, 0.7, -0.7), (-1.0, 1.0, -0.7, 0.7), (-1.0, 0.0, -0.7, -0.7))

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass
class Labels:
    """The places that are taken, within a drawing of some size."""

    width: float
    height: float
    taken: list[Box] = field(default_factory=list)

    def keep_free(self, x: float, y: float, radius: float) -> None:
        """Nothing is written over this point."""
        self.taken.append((x - radius, y - radius, x + radius, y + radius))

    def put(self, text: str, x: float, y: float, *, away: float, kind: str = "") -> str:
        """A label beside a point, `away` pixels from it, where there is room; nothing where there is none."""
        across = LETTER * len(text)
        for distance in (away, 2 * away):
            for left, up, right, down in (*_SIDES, *_CORNERS):
                x0, y0 = x + left * across + right * distance, y - (1 - up) * LINE + down * distance
                box = (x0, y0, x0 + across, y0 + LINE)
                if self._is_free(box):
                    self.taken.append(box)
                    look = f' class="{kind}"' if kind else ""
                    at = f'x="{x0 + across / 2:.1f}" y="{y0 + LINE - 4:.1f}" text-anchor="middle"'
                    return f"<text{look} {at}>{html.escape(text)}</text>"
        return ""

    def _is_free(self, box: Box) -> bool:
        x0, y0, x1, y1 = box
        inside = x0 >= 0 and y0 >= 0 and x1 <= self.width and y1 <= self.height
        return inside and not any(x0 < b[2] and b[0] < x1 and y0 < b[3] and b[1] < y1 for b in self.taken)
