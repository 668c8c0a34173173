"""The runs of a comparison, and the parts of them that it reads."""

from __future__ import annotations

from pathlib import Path

from baton.errors import InputError
from baton.report.tables import Run, read_run
from baton.summary import Json

from .capture import is_capture, read_capture


def open_both(path_a: Path, path_b: Path) -> tuple[Run, Run]:
    """Opens two runs; one of them may be a capture, whose first packet then stands at the first one of the run.

    Raises `InputError`.
    """
    if is_capture(path_a):
        raise InputError(f"{path_a}: is a capture; expected a run first, then the capture to compare it with")
    run = open_run(path_a)
    if not is_capture(path_b):
        return run, open_run(path_b, or_capture=True)
    begins = int(run.packets.numbers["sent_ns"][0]) if run.packets is not None and len(run.packets) else 0
    return run, read_capture(path_b, begins)


def open_run(path: Path, *, or_capture: bool = False) -> Run:
    """Opens a run from its folder or its manifest, or with `or_capture` from a capture. Raises `InputError`."""
    folder = path.parent if path.name == "manifest.json" else path
    if not (folder / "manifest.json").is_file():
        what, or_file = "not a results folder", ""
        if or_capture:
            what, or_file = "neither a results folder nor a capture", ", or a pcap or pcapng file, unpacked"
        raise InputError(
            f"{path}: is {what}; expected a folder with a manifest.json, as `baton run` writes it{or_file}"
        )
    try:
        return read_run(folder)
    except ValueError as error:
        raise InputError(str(error)) from error


def names_of(a: Run, b: Run) -> tuple[str, str]:
    """Returns the names of two runs."""
    return folder_names(a.folder, b.folder)


def folder_names(a: Path, b: Path) -> tuple[str, str]:
    """Returns the names of two folders, with the folder above if they are equal; else A and B."""
    for parts in (1, 2):
        one, other = ("/".join(folder.absolute().parts[-parts:]) for folder in (a, b))
        if one != other:
            return one, other
    return "A", "B"


def flows(run: Run) -> list[Json]:
    """Returns the summaries of a run's flows."""
    return list(run.summary.get("flows") or [])


def handovers(run: Run) -> list[Json]:
    """Returns a run's handovers, ascending in time."""
    return sorted(run.summary.get("handovers") or [], key=lambda handover: float(handover["at_s"]))


def kind(run: Run) -> str:
    """Describes a run: simulated, live with its kernel, deployed with its daemons, or a capture."""
    if run.summary.get("capture"):
        return "capture"
    live = run.summary.get("live")
    if daemons := run.summary.get("deployed"):
        return f"deployed, {daemons}"
    return f"live, kernel {live['kernel']}" if live else "simulated"
