"""Recordings that travel with results: copies beside the manifest, with their hash in their names."""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from baton.errors import InputError
from baton.stored import MANIFEST_FORMAT, read_object, update

if TYPE_CHECKING:
    from baton import Scenario

RECORDINGS = "recordings"
# Keys of a scenario whose value may be a recording's name, as resolved scenarios write them.
_KEY = re.compile(r"""\b(bandwidth|delay|file|error_table) = ("[^"\n]*"|'[^'\n]*')""")


def stored_name(name: str, sha256: str) -> str:
    """Returns a recording's path in results: its file's own name with the beginning of the hash.

    The path is thus the same in every folder, also of a repetition, and two recordings of one name have two.
    """
    own, mark = PurePath(name), f"-{sha256[:8]}"
    return f"{RECORDINGS}/{own.stem.removesuffix(mark)}{mark}{own.suffix}"


def stored_names(scenario: Scenario) -> dict[str, str]:
    """Returns the paths in results of a scenario's recordings, by their paths in the scenario."""
    return {name: stored_name(name, sha256) for name, sha256 in scenario.traces.items()}


def portable(resolved: str, names: dict[str, str]) -> str:
    """Returns a resolved scenario with recordings under their paths in results."""

    def renamed(found: re.Match[str]) -> str:
        name = found[2][1:-1]
        return f'{found[1]} = "{names[name]}"' if name in names else found[0]

    return _KEY.sub(renamed, resolved)


def portable_override(override: str, names: dict[str, str]) -> str:
    """Returns an override as it was given, with a recording under its path in results."""
    key, _, value = override.partition("=")
    bare = value.strip().strip("\"'")
    return f"{key}={names[bare]}" if bare in names else override


def keep_recordings(folder: Path, directory: Path, scenario: Scenario) -> None:
    """Copies the recordings of a scenario in `directory` into a folder of results, unless they are there already.

    Raises `InputError` for one that has changed since the scenario was read, `OSError` if one cannot be copied.
    """
    for name, sha256 in scenario.traces.items():
        copy_recording(directory / name, folder / stored_name(name, sha256), sha256)


def copy_recording(source: Path, target: Path, sha256: str) -> None:
    """Copies a recording, unless it is there already. Raises as `keep_recordings` does."""
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        staged = target.with_name(f".partial-{target.name}")
        import shutil

        shutil.copyfile(source, staged)
        if sha256_of(staged) != sha256:
            staged.unlink()
            raise InputError(f"{source}: has changed since the scenario was read; run it again")
        staged.replace(target)


def make_portable(folder: Path, file: Path, scenario: Scenario) -> None:
    """Makes the results of a scenario `file` repeatable anywhere, and removes the names of the machine's folders.

    Raises as `keep_recordings` does.
    """
    keep_recordings(folder, file.parent, scenario)
    manifest, names = read_object(folder / "manifest.json"), stored_names(scenario)
    update(
        folder / "manifest.json",
        format=MANIFEST_FORMAT,
        origin=file.name,
        resolved=portable(manifest.get("resolved", ""), names),
        overrides=[portable_override(override, names) for override in manifest.get("overrides", [])],
        traces={stored: scenario.traces[name] for name, stored in names.items()},
    )


def sha256_of(file: Path) -> str:
    """Returns SHA-256 of a file's content (FIPS 180-4), in hexadecimal."""
    import hashlib

    digest = hashlib.sha256()
    with file.open("rb") as content:
        while chunk := content.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
