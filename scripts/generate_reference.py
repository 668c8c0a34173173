#!/usr/bin/env python3
"""Writes the reference pages, docs/reference, from the code. `tests/test_reference.py` compares.

Needs the built extension (`make build`).
"""

from __future__ import annotations

from pathlib import Path

from reference import command_line, python_api, results, scenario

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"


def pages() -> dict[str, str]:
    """All pages, by their file in the folder."""
    return {
        **scenario.pages(),
        "cli.md": command_line.page(),
        "python.md": python_api.page(),
        "results.md": results.page(),
    }


def main() -> None:
    """Writes all pages, and takes away those of tables that are no more."""
    made = pages()
    for old in set(FOLDER.rglob("*.md")) - {FOLDER / name for name in made}:
        old.unlink()
    for name, text in made.items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
