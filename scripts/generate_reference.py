#!/usr/bin/env python3
"""Writes the reference pages, docs/reference/*.md, from the code. `tests/test_reference.py` compares.

Needs the built extension (`make build`).
"""

from __future__ import annotations

from pathlib import Path

from reference import command_line, python_api, results, scenario

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"

PAGES = {
    "scenario.md": scenario.page,
    "cli.md": command_line.page,
    "python.md": python_api.page,
    "results.md": results.page,
}


def main() -> None:
    """Writes all pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
