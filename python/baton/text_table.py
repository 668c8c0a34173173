"""A table as plain text. A run of a second prints it in less time than a library for terminals takes to import."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

GAP = "  "
# A file or a pipe has no width: hardly anything is folded there.
WIDTH_WITHOUT_TERMINAL = 160
# Columns of text are folded to no less, since single letters below each other are no text.
LEAST_WIDTH = 8


class Column:
    """A column: its heading and its cells.

    Text is on the left and folds where the line is too short; numbers are on the right and do not.
    """

    def __init__(self, heading: str, is_text: bool) -> None:
        self.heading, self.is_text = heading, is_text
        self.cells: list[str] = []

    @property
    def width(self) -> int:
        """Letters of the longest line."""
        return max(len(line) for cell in (self.heading, *self.cells) for line in cell.split("\n"))


class Table:
    """Columns below their headings, with a title above and a caption below. `print` shows it."""

    def __init__(self, *headings: str, text_columns: int = 0, title: str = "") -> None:
        self.columns = [Column(heading, place < text_columns) for place, heading in enumerate(headings)]
        self.title, self.caption = title, ""

    def add_row(self, *cells: str) -> None:
        """Adds a cell to each column."""
        for column, cell in zip(self.columns, cells, strict=True):
            column.cells.append(cell)

    def __str__(self) -> str:
        width = _width()
        return "\n".join([*([self.title] if self.title else []), "", *self.lines(width), "", *self._below(width)])

    def lines(self, width: int) -> list[str]:
        """Returns the heading, a rule and the rows, in lines of at most this width if folding the text allows it."""
        widths = self._widths(width - 1)
        rows = [[column.heading for column in self.columns], *zip(*(each.cells for each in self.columns), strict=True)]
        heading, *others = [self._row(row, widths, is_heading=place == 0) for place, row in enumerate(rows)]
        rule = " " + "─" * (sum(widths) + len(GAP) * (len(widths) - 1) + 1)
        return [*heading, rule, *(line for row in others for line in row)]

    def _widths(self, room: int) -> list[int]:
        """Narrows the widest columns of text until all columns fit."""
        widths = [column.width for column in self.columns]
        foldable = [place for place, column in enumerate(self.columns) if column.is_text]
        while sum(widths) + len(GAP) * (len(widths) - 1) > room:
            widest = max(foldable, key=lambda place: widths[place], default=None)
            if widest is None or widths[widest] <= LEAST_WIDTH:
                break
            widths[widest] -= 1
        return widths

    def _row(self, cells: Sequence[str], widths: list[int], *, is_heading: bool) -> list[str]:
        """Returns the lines of a row; headings end just above the rule, other cells begin in the first line."""
        folded = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
        deepest = max(map(len, folded))
        lines = []
        for number in range(deepest):
            places = [number - (deepest - len(each) if is_heading else 0) for each in folded]
            parts = [each[at] if 0 <= at < len(each) else "" for each, at in zip(folded, places, strict=True)]
            aligned = (
                part.ljust(width) if column.is_text else part.rjust(width)
                for part, width, column in zip(parts, widths, self.columns, strict=True)
            )
            lines.append(f" {GAP.join(aligned)}".rstrip())
        return lines

    def _below(self, width: int) -> list[str]:
        """Returns the caption, no wider than the table."""
        widest = sum(self._widths(width - 1)) + len(GAP) * (len(self.columns) - 1) + 2
        return [part for line in self.caption.split("\n") for part in textwrap.wrap(line, widest)]


def _width() -> int:
    """Returns the width of the terminal, or of a file or a pipe."""
    if not sys.stdout.isatty():
        return WIDTH_WITHOUT_TERMINAL
    import shutil

    return shutil.get_terminal_size().columns


def _folded(cell: str, width: int) -> list[str]:
    return [part for line in cell.split("\n") for part in textwrap.wrap(line, width) or [""]]
