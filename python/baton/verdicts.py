"""Verdicts on expectations, kept with the results that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from baton.expect import Outcome
from baton.stored import update


def keep(folder: Path, outcomes: Sequence[Outcome]) -> None:
    """Writes the verdicts into `summary.json` and `manifest.json`; no data file changes. Raises `OSError`."""
    for name in ("summary.json", "manifest.json"):
        update(folder / name, expectations=[outcome.to_json() for outcome in outcomes])
