"""Scenarios that come with Baton and can be run by name."""

from __future__ import annotations

from pathlib import Path

from baton.errors import InputError, nearest

SCENARIOS = Path(__file__).parent / "scenarios"


def scenarios() -> dict[str, Path]:
    """Returns the files by name, in order of name."""
    return {path.stem: path for path in sorted(SCENARIOS.glob("*.toml"))}


def scenario_path(given: str) -> Path:
    """Returns the file that a command line names by its path, or by the name of a shipped scenario. Raises
    `InputError`."""
    path = Path(given)
    if path.is_file():
        return path
    shipped = scenarios()
    if given in shipped:  # also where a folder of results has that name
        return shipped[given]
    if path.is_dir():
        raise InputError(f"{given}: is a folder; expected a scenario file (TOML)")
    raise InputError(f"{given}: no such file, and no scenario of that name comes with Baton; {nearest(given, shipped)}")
