"""A run that is compared: how it is opened, and what is asked of it."""

from __future__ import annotations

from pathlib import Path

from baton.errors import InputError
from baton.report.tables import Run, read_run
from baton.summary import Json


def open_run(path: Path) -> Run:
    """A run from its folder or its manifest. Raises `InputError`."""
    folder = path.parent if path.name == "manifest.json" else path
    if not (folder / "manifest.json").is_file():
        raise InputError(f"{path}: is no results folder; expected one with a manifest.json, as `baton run` leaves it")
    try:
        return read_run(folder)
    except ValueError as error:
        raise InputError(str(error)) from error


def flows(run: Run) -> list[Json]:
    """Summaries of a run's flows."""
    return list(run.summary.get("flows") or [])


def handovers(run: Run) -> list[Json]:
    """A run's handovers, ascending in time."""
    return sorted(run.summary.get("handovers") or [], key=lambda handover: float(handover["at_s"]))


def kind(run: Run) -> str:
    """Whether a run was simulated or live, and with which kernel."""
    live = run.summary.get("live")
    return f"live, kernel {live['kernel']}" if live else "simulated"
