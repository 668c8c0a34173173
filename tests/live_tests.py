"""The rule for tests and snippets that make live runs.

They are skipped where the machine cannot make one. One that fails is tried again if Baton itself says of one of its
runs that the machine was too busy, and is skipped with that reason if it always was. What fails on a quiet machine
fails.
Tests are marked with `live`; `conftest.py` applies the rule to them, and `run_snippets.py` to snippets.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from baton.live import why_not

MOST_TRIES = 3
# As Baton judges by default: 99 % of events no later than this, and no longer standstill, in µs. A scenario's own bound
# may be longer, and a test of lateness may set a shorter one.
LATEST_US, LONGEST_STANDSTILL_US = 1_000.0, 5_000.0

T = TypeVar("T")


@cache
def why_not_here() -> str:
    """Returns the reason why this machine cannot make live runs; nothing if it can."""
    why = why_not()
    return f"no live runs here: {why}" if why else ""


def until_quiet(make: Callable[[], T], failed: Callable[[T], bool], folder: Path) -> tuple[T, str]:
    """Returns the result of `make`, which leaves results in `folder`, and why the machine was too busy for it; made
    again if it was.

    Before each further try, what the one before has left is taken away.
    """
    before = _entries(folder)
    for left in reversed(range(MOST_TRIES)):
        found = make()
        why = why_busy(folder) if failed(found) else ""
        if not why or not left:
            break
        for path in sorted(_entries(folder) - before, reverse=True):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    return found, why


def why_busy(folder: Path) -> str:
    """Returns the reasons in a folder's live runs why the machine was too busy for one of them; nothing if it was
    not."""
    readers = {"summary.json": _of_run, "statistics.json": _of_sweep}
    for path in sorted(_entries(folder)):
        if path.name in readers and (why := readers[path.name](json.loads(path.read_text(encoding="utf-8")))):
            return f"this machine was too busy for a live run: {why}"
    return ""


def _of_run(summary: dict[str, Any]) -> str:
    return _too_late(summary["live"]["lateness"]) if summary.get("live") else ""


def _of_sweep(statistics: dict[str, Any]) -> str:
    doubts = (doubt for run in statistics["untrusted"] for doubt in run["doubts"])
    return next((doubt for doubt in doubts if "too busy" in doubt or "stood still" in doubt), "")


def _too_late(lateness: dict[str, float]) -> str:
    bound = max(LATEST_US, lateness["bound_us"])
    if lateness["p99_us"] > bound:
        return f"1 % of its events were {lateness['p99_us'] / 1000:.1f} ms late or more"
    if lateness["largest_us"] > max(LONGEST_STANDSTILL_US, bound):
        return f"it stood still for {lateness['largest_us'] / 1000:.0f} ms"
    return ""


def _entries(folder: Path) -> set[Path]:
    """All files and folders below a folder; links are not followed."""
    return {Path(above, name) for above, folders, files in os.walk(folder) for name in (*folders, *files)}
