"""Standard output and error of the command line, which may be closed, full, or without a reader."""

from __future__ import annotations

import io
import os
import select
import sys
from contextlib import suppress

STANDARD_OUTPUT, STANDARD_ERROR = 1, 2


class _Lossy(io.FileIO):
    """Standard error that drops what it cannot write, since there is nowhere else to report it. The exit status
    stays."""

    def write(self, text: object, /) -> int:
        try:
            return super().write(text)  # type: ignore[arg-type]
        except OSError:
            return memoryview(text).nbytes  # type: ignore[arg-type]


def prepare() -> str | None:
    """Makes standard error safe to print to; returns the reason why a command cannot begin without standard output."""
    closed = [number for number in (0, STANDARD_OUTPUT, STANDARD_ERROR) if not _is_open(number)]
    for _ in closed:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: a file of results must not
    raw = io.BufferedWriter(_Lossy(STANDARD_ERROR, "wb", closefd=False))
    sys.stderr = io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True)
    if STANDARD_OUTPUT in closed:
        return f"standard output is closed; send it to a file, or to {os.devnull}"
    return None


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def output_failure() -> str | None:
    """Returns the reason why standard output cannot be written, if it cannot."""
    try:
        print(end="", flush=True)
    except OSError as error:
        return error.strerror or str(error)
    return None


def silence() -> None:
    """Discards unwritten output, so that Python does not complain of it at the end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), STANDARD_OUTPUT)


def reader_is_gone() -> bool:
    """Returns true if nobody reads standard output any more. Other pipes break too, such as one of a Python class."""
    poll = select.poll()
    poll.register(STANDARD_OUTPUT, 0)
    return bool(poll.poll(0))
