"""Links of a radio network by their cells: `radio.c01.aircraft` is `c01`."""

import re
from collections import Counter
from typing import Any, NamedTuple


class CellNames(NamedTuple):
    """Names of links as people call them: a link to a cell by the cell, preceded by its network where two have such a
    cell."""

    pattern: re.Pattern[str] | None
    twice: frozenset[str]

    @classmethod
    def of(cls, summary: dict[str, Any]) -> "CellNames":
        """Returns the names of the run with this summary."""
        radios = summary.get("radios") or []
        cells = Counter(cell["cell"] for radio in radios for cell in radio["cells"])
        links = [
            f"({re.escape(radio['link'])})\\.({'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})"
            for radio in radios
            if (names := [cell["cell"] for cell in radio["cells"]])
        ]
        found = "|".join(f"(?:{link})" for link in links)
        pattern = re.compile(rf"(?<![\w.-])(?:{found})\.[\w-]+") if links else None
        return cls(pattern, frozenset(cell for cell, count in cells.items() if count > 1))

    def shown(self, text: str) -> str:
        """Returns a text with its links called by these names."""
        return self.pattern.sub(self._short, text) if self.pattern else text

    def _short(self, found: re.Match[str]) -> str:
        link, cell = (group for group in found.groups() if group is not None)
        return f"{link}.{cell}" if cell in self.twice else str(cell)
