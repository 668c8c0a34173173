"""Repeats a run from its manifest and compares the data files."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from baton.errors import InputError, refuse_newer
from baton.progress import progress
from baton.report.tables import MANIFEST_FORMAT
from baton.summary import Json

MANIFEST_KEYS = {"format", "complete", "simulated_s", "resolved", "origin", "seed", "traces", "results"}


def read_manifest(path: Path) -> Json:
    """Reads a manifest, or the one in a results folder. Raises `InputError`."""
    file = path / "manifest.json" if path.is_dir() else path
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{file}: is no manifest: {error}") from error
    if not isinstance(manifest, dict) or not manifest.keys() >= MANIFEST_KEYS:
        raise InputError(f"{file}: is no manifest; expected the manifest.json of a results folder")
    refuse_newer(file, manifest["format"], MANIFEST_FORMAT)
    if manifest.get("mode") == "live":
        raise InputError(
            f"{file}: a live run cannot be repeated byte for byte, since its clock and its hosts are real ones;"
            " run it again with `baton live`, and compare the two with `baton compare`"
        )
    if not manifest["complete"]:
        raise InputError(f"{file}: the run was interrupted at {manifest['simulated_s']:g} s, and cannot be repeated")
    return manifest


def rerun(path: Path) -> dict[str, bool]:
    """Repeats a run in a temporary folder. Returns for every data file, read or written, whether it is the same."""
    from baton import Scenario

    manifest = read_manifest(path)
    scenario = Scenario.parse(manifest["resolved"], directory=Path(manifest["origin"]).parent)
    captures = any(name.endswith(".pcapng") for name in manifest["results"])
    with tempfile.TemporaryDirectory(prefix="baton-rerun-") as folder, progress(scenario.duration_s) as report:
        again = scenario.run(Path(folder) / "again", seed=manifest["seed"], pcap=captures, progress=report)
    if not again.complete:
        raise KeyboardInterrupt
    before, after = hashes(manifest), hashes(again.manifest)
    return {name: after.get(name) == before[name] for name in sorted(before)}


def hashes(manifest: Json) -> dict[str, str]:
    """Hashes of the recordings that a run read and of the data files that it wrote, by name."""
    return {**manifest["traces"], **manifest["results"]}
