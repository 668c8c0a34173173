"""Repeats a run from its manifest, or the runs of a sweep, and compares."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from baton.archive import MANIFEST_FILE, SWEEP_FILE, opened
from baton.errors import InputError
from baton.progress import progress
from baton.stored import RERUN_NEEDS, Manifest, read_manifest
from baton.travel import sha256_of

if TYPE_CHECKING:
    from baton import Scenario

# As a manifest names a recording: a file beside it, and a part of its hash.
_RECORDING = re.compile(r"recordings/([^/]+)-[0-9a-f]{8}(\.[^/]*)?|recordings/[^/]+")
ORIGIN_IS_A_PATH = 1
"""The last format of manifests in which recordings lay beside `origin`."""


@dataclass(frozen=True)
class RerunOptions:
    """Options of `baton rerun`, as given."""

    path: Path
    """A manifest, the folder of a run or a sweep, or an archive of one."""
    traces: Path | None = None
    """A second folder in which recordings and Python modules are looked for."""
    allow_python: bool = False


def rerun(options: RerunOptions) -> dict[str, bool]:
    """Repeats the run or the sweep at a path. Returns for every data file, or every point of a sweep, whether it is the
    same.

    Raises `InputError`, `ScenarioError` for a scenario that cannot be run here.
    """
    if options.allow_python:
        folders = [options.path if options.path.is_dir() else options.path.parent, options.traces]
        sys.path += [str(folder.resolve()) for folder in folders if folder is not None]
    with opened(options.path) as path:
        if (path / SWEEP_FILE).is_file():
            from baton.sweep.rerun import rerun_sweep

            return rerun_sweep(path, options)
        return _rerun_run(path / MANIFEST_FILE if path.is_dir() else path, options)


def _rerun_run(file: Path, options: RerunOptions) -> dict[str, bool]:
    if not file.exists():
        _refuse_several(file.parent)
    manifest = _of_simulated(file)
    pcap = any(name.endswith(".pcapng") for name in manifest["results"])
    chosen = manifest.get("captures") or {"interfaces": [], "snap_length": None}
    with (
        found_recordings(file, manifest["traces"], options.traces) as beside,
        tempfile.TemporaryDirectory(prefix="baton-rerun-") as folder,
    ):
        if manifest["format"] <= ORIGIN_IS_A_PATH:
            beside = options.traces or Path(manifest["origin"]).parent
        scenario = parsed(manifest["resolved"], beside, file, options)
        with progress(scenario.duration_s) as report:
            again = scenario.run(
                Path(folder) / "again",
                seed=manifest["seed"],
                pcap=pcap,
                snap_length=chosen["snap_length"],
                pcap_interfaces=chosen["interfaces"],
                progress=report,
                threads=manifest.get("parts"),
            )
    if not again.complete:
        raise KeyboardInterrupt
    before, after = _hashes(manifest), {**again.manifest["traces"], **again.manifest["results"]}
    return {name: after.get(name) == before[name] for name in sorted(before)}


def _of_simulated(file: Path) -> Manifest:
    """Returns the manifest of a run that can be repeated. Raises `InputError`."""
    manifest = read_manifest(file, RERUN_NEEDS)
    if manifest.get("mode") == "live":
        raise InputError(
            f"{file}: a live run cannot be repeated byte for byte, since its clock and its hosts are real ones;"
            " run it again with `baton live`, and compare the two with `baton compare`"
        )
    if not manifest["complete"]:
        raise InputError(f"{file}: the run was interrupted at {manifest['simulated_s']:g} s, and cannot be repeated")
    return manifest


def _refuse_several(folder: Path) -> None:
    """Raises `InputError` that lists the runs and sweeps in a folder, if there are any."""
    inside = sorted({file.parent for name in (MANIFEST_FILE, SWEEP_FILE) for file in folder.glob(f"*/{name}")})
    if inside:
        listed = "".join(f"\n  {each}" for each in inside)
        raise InputError(f"{folder}: is not a run, but holds some; choose one of them:{listed}")


def parsed(resolved: str, directory: Path, file: Path, options: RerunOptions) -> Scenario:
    """Returns the scenario in a manifest. Its mistakes are reported as the manifest's."""
    from baton import Scenario, ScenarioError, classes

    classes.permit("anywhere" if options.allow_python else "never")
    try:
        return Scenario.parse(resolved, directory)
    except ScenarioError as error:
        place = re.compile(re.escape(str(directory / "scenario.toml")) + r"(:\d+:\d+)?")
        raise ScenarioError(place.sub(f"{file}: resolved", str(error))) from error


@contextmanager
def found_recordings(file: Path, traces: Mapping[str, str], second: Path | None) -> Iterator[Path]:
    """Yields a folder with the recordings of a manifest under their names: those beside it, or else those in `second`.

    Raises `InputError` for one that is in neither.
    """
    with tempfile.TemporaryDirectory(prefix="baton-recordings-") as made:
        for name, sha256 in traces.items():
            form = _RECORDING.fullmatch(name)
            if form is None:
                continue  # of the first format, in which they are not beside the manifest
            places = [file.parent / name]
            if second is not None:
                own = f"{form[1]}{form[2] or ''}" if form[1] else ""
                places += [second / each for each in (name, name.removeprefix("recordings/"), own) if each]
            there = [place for place in places if place.is_file()]
            if not there:
                where = f"{file.parent}" if second is None else f"{file.parent} nor in {second}"
                raise InputError(f"{file}: traces: {name} is not in {where}; --traces DIR names a folder that holds it")
            target = Path(made, name)
            target.parent.mkdir(exist_ok=True)
            target.symlink_to(next((place for place in there if sha256_of(place) == sha256), there[0]).resolve())
        yield Path(made)


def _hashes(manifest: Manifest) -> dict[str, str]:
    """Returns hashes of the recordings that a run read and of the data files that it wrote, by name."""
    return {**manifest["traces"], **manifest["results"]}
