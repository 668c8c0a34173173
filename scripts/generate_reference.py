#!/usr/bin/env python3
"""Writes the parts of docs/reference and docs/models that are made of the code. `tests/test_reference.py` compares.

Needs the built extension (`make build`). A part stands between `<!-- generated: NAME ... -->` and
`<!-- end of generated -->`; `PARTS` has the names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from reference import command_line, models, python_api, results, scenario

DOCS = Path(__file__).resolve().parent.parent / "docs"
BEGIN = "<!-- generated: "
PART = re.compile(rf"({BEGIN}([^\n]*?) -->\n)(?:(?!{BEGIN}).)*?(<!-- end of generated -->)", re.DOTALL)
PARTS: dict[str, Callable[..., str]] = {
    "scenario": scenario.scenario,
    "units": scenario.units,
    "tables": scenario.tables,
    "link": models.link,
    "keys": models.keys,
    "queue": models.queue,
    "control": models.control,
    "profile": models.profile,
    "profiles": models.profiles,
    "command": command_line.command,
    "python": python_api.python,
    "columns": results.columns,
    "series": results.series,
    "summary": results.summary,
}


def pages() -> list[Path]:
    """Returns the pages with generated parts."""
    return [page for page in sorted(DOCS.rglob("*.md")) if BEGIN in page.read_text(encoding="utf-8")]


def fill(text: str) -> str:
    """Returns a page with its parts up to date. Raises `ValueError` for a part without its end."""
    filled, parts = PART.subn(filled_part, text)
    if parts != text.count(BEGIN):
        raise ValueError(f"{text.count(BEGIN)} parts begin with `{BEGIN}NAME ... -->`, but {parts} have an end")
    return filled


def filled_part(found: re.Match[str]) -> str:
    """Returns a part with its marks."""
    kind, *names = found[2].split()
    return f"{found[1]}\n{PARTS[kind](*names)}\n\n{found[3]}"


def main() -> None:
    """Writes all pages."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (filled := fill(text)) != text:
            page.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main()
