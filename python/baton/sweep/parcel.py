"""Scenarios that travel to workers by their content: the text, the recordings, and the files of classes in Python.

A worker needs nothing but the same version of this package. In this process a job is the scenario itself; it is packed
when an executor pickles it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import re
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from baton._baton import Scenario, ScenarioError, Stop, sweep_run
from baton.errors import InputError
from baton.travel import portable, stored_names

Ended = tuple[str | None, str | None]
"""The summary of a run as JSON, or the reason why there is none."""
MOST_SCENARIOS = 1_000
"""Scenarios that a worker keeps. Chosen: the points of a batch of a comparison."""
MOST_RECORDINGS = 16
"""Recordings that are kept between the packing of two points. Chosen."""
_CLASS = re.compile(r"""["']python:([\w.]+)\.\w+["']""")


class Job:
    """A scenario to run with many seeds."""

    def __init__(self, scenario: Scenario, stop: Stop) -> None:
        self._scenario, self._stop = scenario, stop
        self._modules = dict(_modules(scenario))
        self._names = stored_names(scenario)

    @cached_property
    def contents(self) -> dict[str, bytes]:
        """Content of each file that the scenario reads, by its path there. Raises `InputError`, `OSError`."""
        directory, traces = self._scenario.directory, self._scenario.traces
        recordings = {self._names[name]: _recording(directory / name, sha256) for name, sha256 in traces.items()}
        return recordings | {name: file.read_bytes() for name, file in self._modules.items()}

    def run(self, files: Mapping[str, bytes], seed: int) -> Ended:
        """Makes a run; here the scenario has read its files already."""
        return _run(self._scenario, seed, self._stop, self._modules)

    def __reduce__(self) -> tuple[type[Packed], tuple[str, str]]:
        digest = hashlib.sha256()
        resolved = portable(self._scenario.resolved, self._names)
        for part in (resolved.encode(), *itertools.chain.from_iterable(sorted(self._hashed.items()))):
            digest.update(b"%d:" % len(part) + part)
        return Packed, (resolved, digest.hexdigest())

    @cached_property
    def _hashed(self) -> dict[bytes, bytes]:
        return {name.encode(): hashlib.sha256(content).digest() for name, content in self.contents.items()}


class Packed:
    """A job on a worker."""

    def __init__(self, resolved: str, digest: str) -> None:
        self._resolved, self._digest = resolved, digest

    def run(self, files: Mapping[str, bytes], seed: int) -> Ended:
        """Makes a run. Raises `InputError` if the scenario cannot be read here."""
        with _unpacking:
            if self._digest not in _unpacked:
                if len(_unpacked) >= MOST_SCENARIOS:
                    del _unpacked[next(iter(_unpacked))]
                _unpacked[self._digest] = _unpack(self._resolved, files)
            unpacked = _unpacked[self._digest]
        return _run(unpacked.scenario, seed, Stop(), unpacked.modules)


@lru_cache(MOST_RECORDINGS)
def _recording(file: Path, sha256: str) -> bytes:
    """Returns the content of a recording, which many points share."""
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InputError(f"{file}: has changed since the scenario was read; start again")
    return content


class Unpacked(NamedTuple):
    """A scenario that a worker has read, and its folder, which goes with it."""

    scenario: Scenario
    modules: dict[str, Path]
    folder: tempfile.TemporaryDirectory[str]


_unpacked: dict[str, Unpacked] = {}
_unpacking = threading.Lock()


def _unpack(resolved: str, files: Mapping[str, bytes]) -> Unpacked:
    folder = tempfile.TemporaryDirectory(prefix="baton-parcel-", ignore_cleanup_errors=True)
    for name, content in files.items():
        target = Path(folder.name, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    try:
        scenario = Scenario.parse(resolved, Path(folder.name))
    except ScenarioError as error:
        raise InputError(
            f"a worker cannot read the scenario: {error}\nA class in Python travels as the one file that holds it:"
            " install what it imports on all workers"
        ) from error
    modules = {name: Path(folder.name, name) for name in files if name.endswith(".py")}
    return Unpacked(scenario, modules, folder)


def _run(scenario: Scenario, seed: int, stop: Stop, modules: Mapping[str, Path]) -> Ended:
    """Makes a run, and gives modules in its reason their names in the scenario's folder, which differs by worker."""
    summary, reason = sweep_run(scenario, seed, stop)
    for name, file in modules.items() if reason is not None else ():
        reason = reason.replace(str(file.absolute()), name) if reason else reason
    return summary, reason


def _modules(scenario: Scenario) -> Iterator[tuple[str, Path]]:
    """Yields the files of a scenario's classes that are not installed, each by its path beside the scenario."""
    for module in dict.fromkeys(_CLASS.findall(scenario.resolved)):
        name = module.replace(".", "/") + ".py"
        beside = scenario.directory / name
        if beside.is_file():
            yield name, beside
            continue
        loaded = sys.modules.get(module)
        spec = None if loaded else importlib.util.find_spec(module)
        origin = getattr(loaded, "__file__", None) or (spec and spec.origin)
        if origin and origin.endswith(".py") and not _is_installed(Path(origin)):
            yield name, Path(origin)


def _is_installed(file: Path) -> bool:
    folders = {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    return any(file.is_relative_to(folder) for folder in folders)
