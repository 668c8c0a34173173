"""Places of the labels in a message sequence chart: each where it covers the fewest arrows and other labels."""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

# Of a letter of a label, on average, in pixels; and from one looked-at point of a label to the next.
LETTER, STEP = 5.6, 6.0
# Nearer than so much an arrow, or another label, is covered.
TO_ARROW, TO_LABEL = 6.0, 11.0
# The middle of a label's letters is so far from its arrow; the baseline, above and below it.
AWAY, ABOVE, BELOW = 8.0, -4.0, 12.0
# Shares of an arrow at which its label may stand, the best first.
SHARES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78)
# Cost of covering, for each point; and the cost to stand below, to leave details away, to be off the middle.
OVER_ARROW, OVER_LABEL, LOW, SHORT, ASIDE = 1.0, 3.0, 0.4, 1.5, 2.0

Point = tuple[float, float]


class Line(NamedTuple):
    """An arrow."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def length(self) -> float:
        return math.hypot(self.x2 - self.x1, self.y2 - self.y1)

    @property
    def degrees(self) -> float:
        """Its slope, so that letters along it stand upright."""
        return math.degrees(math.atan((self.y2 - self.y1) / (self.x2 - self.x1))) if self.x1 != self.x2 else 0.0

    def at(self, share: float) -> Point:
        return self.x1 + share * (self.x2 - self.x1), self.y1 + share * (self.y2 - self.y1)

    def distance(self, point: Point) -> float:
        """Returns the distance from a point to the nearest of its own."""
        across, down = self.x2 - self.x1, self.y2 - self.y1
        along = (point[0] - self.x1) * across + (point[1] - self.y1) * down
        x, y = self.at(min(max(along / (across**2 + down**2 or 1), 0), 1))
        return math.hypot(point[0] - x, point[1] - y)


class Place(NamedTuple):
    """A label beside an arrow: its middle there, the baseline's distance from it, and its number of letters."""

    middle: Point
    degrees: float
    baseline: float
    letters: int
    cost: float = 0.0

    def points(self) -> list[Point]:
        """Returns points all over its letters."""
        angle, half = math.radians(self.degrees), LETTER * self.letters / 2
        off = AWAY if self.baseline > 0 else -AWAY
        x, y = self.middle[0] - off * math.sin(angle), self.middle[1] + off * math.cos(angle)
        steps = max(2, round(2 * half / STEP) + 1)
        along = [half * (2 * step / (steps - 1) - 1) for step in range(steps)]
        return [(x + a * math.cos(angle), y + a * math.sin(angle)) for a in along]


class Labels:
    """The arrows of a chart, and the labels placed so far."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self.taken: list[Point] = []

    def keep_free(self, x: float, y: float, letters: int) -> None:
        """Reserves room for a label of this many letters that begins here."""
        self.taken += [(x + STEP * step, y) for step in range(math.ceil(LETTER * letters / STEP) + 1)]

    def is_crossed(self, x: float, y: float, letters: int) -> bool:
        """Returns true if an arrow crosses a label of this many letters that begins here."""
        points = [(x + STEP * step, y) for step in range(1, math.ceil(LETTER * letters / STEP))]
        lines = [line for line in self.lines if min(line.y1, line.y2) - TO_ARROW < y < max(line.y1, line.y2) + TO_ARROW]
        return any(line.distance(point) < TO_ARROW for line in lines for point in points)

    def put(self, line: Line, letters: Iterable[int]) -> tuple[Place, int]:
        """Returns the best place for a line's label, and which of its texts to write; `letters` are their lengths, the
        fullest first."""
        tried = [(place, which) for which, count in enumerate(letters) for place in _places(line, count, SHORT * which)]
        lines = [other for other in self.lines if other is not line and _overlap(line, other)]
        reach = (line.y1 - 30, line.y2 + 30)
        taken = [point for point in self.taken if min(reach) <= point[1] <= max(reach)]
        best = min(tried, key=lambda each: each[0].cost + _covered(each[0].points(), lines, taken))
        self.taken += best[0].points()
        return best


def _places(line: Line, letters: int, cost: float) -> Iterable[Place]:
    half = LETTER * letters / 2 + 8
    for share in SHARES:
        if share == SHARES[0] or min(share, 1 - share) * line.length >= half:
            aside = cost + ASIDE * abs(share - SHARES[0])
            yield Place(line.at(share), line.degrees, ABOVE, letters, aside)
            yield Place(line.at(share), line.degrees, BELOW, letters, aside + LOW)


def _overlap(one: Line, other: Line) -> bool:
    """Returns true if they may be near each other at some height."""
    tops, bottoms = (one.y1, other.y1), (one.y2, other.y2)
    (a, b), (c, d) = sorted((tops[0], bottoms[0])), sorted((tops[1], bottoms[1]))
    return a - 20 <= d and c <= b + 20


def _covered(points: list[Point], lines: list[Line], taken: list[Point]) -> float:
    """Returns the cost of points on lines and on other labels; a line between two points counts, too."""
    halves = [((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, b in pairwise(points)]
    on_lines = sum(any(line.distance(point) < TO_ARROW for line in lines) for point in points + halves) / 2
    on_labels = sum(any(math.dist(point, other) < TO_LABEL for other in taken) for point in points)
    return OVER_ARROW * on_lines + OVER_LABEL * on_labels
