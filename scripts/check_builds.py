#!/usr/bin/env python3
"""Keeps builds short: no crate is compiled twice.

    python scripts/check_builds.py

Compiles nothing. Prints one line per violation and exits with status 1 if there is one.

Cargo gives a crate the features that the packages of one call ask for. So calls for different packages can ask for
different features of the same crate, which is then compiled for each, and with it every crate that depends on it.
`crates/sim/Cargo.toml` asks for the features that only one of them would: add there those that this script names.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EMULATOR = ("--package", "baton-live", "--edges", "normal,build")
EXTENSION = ("--package", "baton-py", "--features", "baton-py/extension-module", "--edges", "normal,build")
# The calls of cargo that each makes: its own, and maturin's, which is for the extension alone.
CALLS = {
    "make run": [(*EMULATOR, *EXTENSION), EXTENSION],
    "pip install": [EMULATOR, EXTENSION],
    "make test": [("--workspace",)],
}


def main() -> int:
    """Checks the project; returns the exit status."""
    wrong = [line for task, calls in CALLS.items() for line in compiled_twice(task, map(crates, calls))]
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


def compiled_twice(task: str, calls: Iterable[set[tuple[str, str]]]) -> list[str]:
    """Returns a line for each crate that has more than one set of features in all calls of a task."""
    features: dict[str, set[str]] = {}
    for crate, asked in sorted(set().union(*calls)):
        features.setdefault(crate, set()).add(asked)
    return [
        f"{task} compiles {crate} once for each of these features: {'; '.join(each or 'none' for each in sorted(sets))}"
        for crate, sets in features.items()
        if len(sets) > 1
    ]


def crates(call: tuple[str, ...]) -> set[tuple[str, str]]:
    """Returns name and features of every crate that a call compiles. Raises `CalledProcessError`."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p}|{f}|", *call]
    lines = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    return {(" ".join(line.split("|")[0].split()[:2]), line.split("|")[1]) for line in lines if line}


if __name__ == "__main__":
    sys.exit(main())
