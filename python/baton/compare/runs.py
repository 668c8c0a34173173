"""A run that is compared: how it is opened, and what is asked of it."""

from __future__ import annotations

from pathlib import Path

from baton.errors import InputError
from baton.report.tables import Run, read_run
from baton.summary import Json

from .capture import is_capture, read_capture


def open_both(path_a: Path, path_b: Path) -> tuple[Run, Run]:
    """Two runs; one of them may be a capture, whose first packet then stands at the first one of the run.

    Raises `InputError`.
    """
    if is_capture(path_a):
        raise InputError(f"{path_a}: is a capture; expected a run first, and then the capture that it is compared with")
    run = open_run(path_a)
    if not is_capture(path_b):
        return run, open_run(path_b, or_capture=True)
    begins = int(run.packets.numbers["sent_ns"][0]) if run.packets is not None and len(run.packets) else 0
    return run, read_capture(path_b, begins)


def open_run(path: Path, *, or_capture: bool = False) -> Run:
    """A run from its folder or its manifest; `or_capture` where that would do as well. Raises `InputError`."""
    folder = path.parent if path.name == "manifest.json" else path
    if not (folder / "manifest.json").is_file():
        no, or_file = (" and no capture", ", or a pcap or pcapng file, unpacked") if or_capture else ("", "")
        raise InputError(
            f"{path}: is no results folder{no}; expected one with a manifest.json, as `baton run` leaves it{or_file}"
        )
    try:
        return read_run(folder)
    except ValueError as error:
        raise InputError(str(error)) from error


def names_of(a: Run, b: Run) -> tuple[str, str]:
    """Returns the names of two runs."""
    return folder_names(a.folder, b.folder)


def folder_names(a: Path, b: Path) -> tuple[str, str]:
    """Two folders by their names, with the folder above where these are alike; else A and B."""
    for parts in (1, 2):
        one, other = ("/".join(folder.absolute().parts[-parts:]) for folder in (a, b))
        if one != other:
            return one, other
    return "A", "B"


def flows(run: Run) -> list[Json]:
    """Summaries of a run's flows."""
    return list(run.summary.get("flows") or [])


def handovers(run: Run) -> list[Json]:
    """A run's handovers, ascending in time."""
    return sorted(run.summary.get("handovers") or [], key=lambda handover: float(handover["at_s"]))


def kind(run: Run) -> str:
    """Tells whether a run was simulated or live, and with which kernel, or with which daemons, or is a capture."""
    if run.summary.get("capture"):
        return "capture"
    live = run.summary.get("live")
    if daemons := run.summary.get("deployed"):
        return f"deployed, {daemons}"
    return f"live, kernel {live['kernel']}" if live else "simulated"
