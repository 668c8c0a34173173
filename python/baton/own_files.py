"""Baton's own files in a folder of results: those that its manifest names, and those that every run writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from baton.errors import InputError
from baton.stored import read_manifest
from baton.travel import RECORDINGS

# Files beside the data of a run; the last is left where a page was cut short.
ALWAYS = {"manifest.json", "summary.json", "server.log", "report.html", ".partial-report.html"}
NEEDED = {"format", "resolved", "results", "traces"}


def refuse_strangers(folder: Path) -> None:
    """Raises `InputError` if a folder may not be replaced: it holds no results, or something else beside them."""
    if not folder.exists():
        return
    if folder.is_dir() and not any(folder.iterdir()):
        return
    try:
        manifest = read_manifest(folder / "manifest.json", NEEDED)
    except InputError as error:
        raise InputError(
            f"{folder}: holds no manifest.json of Baton's, so it is not a folder of results and is not replaced;"
            " choose another folder with --out"
        ) from error
    ours = ALWAYS | manifest["results"].keys() | manifest["traces"].keys()
    stranger = next((name for name in _entries(folder) if name not in ours), None)
    if stranger is not None:
        raise InputError(
            f"{folder}: holds {stranger}, which is not one of Baton's results, so the folder is not replaced;"
            f" move {stranger} away, or choose another folder with --out"
        )


def _entries(folder: Path) -> Iterator[str]:
    """Returns the names of a folder's entries, and of those in its folder of recordings; another folder ends in a
    slash."""
    for entry in sorted(folder.iterdir()):
        is_folder = entry.is_dir() and not entry.is_symlink()
        if is_folder and entry.name == RECORDINGS:
            yield from (f"{RECORDINGS}/{each.name}{'/' if each.is_dir() else ''}" for each in sorted(entry.iterdir()))
        else:
            yield f"{entry.name}{'/' if is_folder else ''}"
