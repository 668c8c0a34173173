"""The program's own numbers: lines `NAME=NUMBER` in the file that `BATON_REPORT` names in its environment."""

from __future__ import annotations

import math
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .owner import as_invoker

VARIABLE = "BATON_REPORT"
LARGEST_FILE = 1_000_000
_LINE = re.compile(r"\s*([A-Za-z][\w-]{0,99})\s*=\s*(\S+)\s*", re.ASCII)


@contextmanager
def file_for_program() -> Iterator[Path]:
    """Yields an empty file that only the program may write to; the emulator passes its name on."""
    with as_invoker():
        folder = tempfile.TemporaryDirectory(prefix="baton-")
    file = Path(folder.name, "report")
    with as_invoker():
        file.touch()
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(file)
    try:
        yield file
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before
        with as_invoker():
            folder.cleanup()


def read(file: Path) -> dict[str, float]:
    """Reads the numbers that the program wrote, the last one of each name. Warns of other lines."""
    try:
        with as_invoker(file), file.open("rb") as opened:
            text = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        warn(f"cannot be read: {error.strerror}")
        return {}
    if len(text) > LARGEST_FILE:
        warn("is larger than 1 MB and is ignored")
        return {}
    numbers = {}
    for place, line in enumerate(text.decode("utf-8", errors="replace").splitlines(), start=1):
        found = parse(line)
        if found is not None:
            numbers[found[0]] = found[1]
        elif line.strip():
            warn(f"line {place}: is `{line.strip()[:60]}`; expected NAME=NUMBER, as in longest_stall_s=0.25")
    return numbers


def parse(line: str) -> tuple[str, float] | None:
    """Reads a name and its number; returns nothing if the line is something else."""
    form = _LINE.fullmatch(line)
    try:
        number = float(form[2]) if form else math.nan
    except ValueError:
        return None
    return (form[1], number) if form and math.isfinite(number) else None


def warn(message: str) -> None:
    """Warns of a mistake in the file."""
    print(f"baton: warning: {VARIABLE}: {message}", file=sys.stderr)
