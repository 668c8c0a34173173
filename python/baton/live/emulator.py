"""The program `baton-emulator`: its place, its start, and its events.

`baton` reads scenarios, checks expectations and writes reports; `baton-emulator` builds the namespaces and runs the
world in real time. It reports events as JSON lines on a pipe of its own, so that the program's output stays untouched.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from baton import RunError
from baton.errors import InputError
from baton.summary import Json

NAME = "baton-emulator"
# From one look at whether the emulator still lives to the next. What it tells is read at once.
LOOK_EVERY_S = 0.5


def places() -> list[Path]:
    """Returns the places where the emulator may be, the first choice first."""
    checkout = Path(__file__).resolve().parents[3]
    found = [Path(sysconfig.get_path("scripts")) / NAME]
    if (checkout / "crates" / "live").is_dir():
        target = Path(os.environ.get("CARGO_TARGET_DIR", checkout / "target"))
        found.append(target / "release" / NAME)
    on_path = shutil.which(NAME)
    return [*found, *([Path(on_path)] if on_path else [])]


def find() -> Path:
    """Returns the emulator's path. Raises `InputError`, which says how to get it."""
    for place in places():
        if os.access(place, os.X_OK) and place.is_file():
            return place
    looked = ", ".join(str(place.parent) for place in places())
    raise InputError(
        f"{NAME}, which runs scenarios in real time, is missing (searched {looked} and PATH);"
        " in a checkout, build it with `make build`; elsewhere, reinstall Baton's wheel, which contains it"
    )


def ask(*arguments: str) -> tuple[int, Json]:
    """Runs a command of the emulator, and returns its exit status and one JSON object. Raises `InputError` or
    `RunError`."""
    process = subprocess.run([find(), *arguments], capture_output=True, text=True, check=False)
    try:
        answer = json.loads(process.stdout)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        message = process.stderr.strip().removeprefix(f"{NAME}: ") or ended(process.returncode)
        raise (InputError if process.returncode == 2 else RunError)(message)
    return process.returncode, answer


class Emulator:
    """A running `baton-emulator world`."""

    def __init__(self, arguments: Sequence[str], program: Sequence[str], decisions: int | None = None) -> None:
        reading, writing = os.pipe()
        passed = {"--events": writing} | ({} if decisions is None else {"--decisions": decisions})
        named = [word for name, number in passed.items() for word in (name, str(number))]
        command = [str(find()), "world", *arguments, *named, *(["--", *program] if program else [])]
        try:
            self.process = subprocess.Popen(command, pass_fds=list(passed.values()), **as_root())
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self._events = reading

    def events(self) -> Iterator[Json]:
        """Yields the events of the emulator, until it has ended. A line that is no event raises `RunError`."""
        for line in self._lines():
            try:
                event = json.loads(line)
            except ValueError:
                event = None
            if not isinstance(event, dict) or "event" not in event:
                raise RunError(f"{NAME} sent a line that is not an event: {line[:200]!r}; is it of another version?")
            yield event

    def _lines(self) -> Iterator[bytes]:
        # A process that outlives the emulator may hold the pipe open: its end is not waited for.
        rest = b""
        while True:
            has_ended = self.process.poll() is not None
            if select.select([self._events], [], [], 0 if has_ended else LOOK_EVERY_S)[0]:
                read = os.read(self._events, 65536)
                *lines, rest = (rest + read).split(b"\n")
                yield from lines
                if read:
                    continue
            elif not has_ended:
                continue
            if rest:
                yield rest
            return

    def wait(self) -> int:
        """Waits for the end and returns the exit status; negative if a signal killed the emulator."""
        return self.process.wait()

    def close(self) -> None:
        """Ends the emulator if it still runs, since nobody would read its events."""
        os.close(self._events)
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


def as_root() -> dict[str, Any]:
    """Returns options to start the emulator as root, even while this process writes with the rights of the user who
    called sudo."""
    return {"user": 0, "group": os.getgid()} if os.getuid() == 0 != os.geteuid() else {}


@contextmanager
def running(arguments: Sequence[str], program: Sequence[str], decisions: int | None) -> Iterator[Emulator]:
    """Yields an emulator that learns of Ctrl-C and of a request to end, and has ended afterwards.

    `decisions` is the descriptor of the socket by which it asks classes in Python.
    """
    started = Emulator(arguments, program, decisions)

    def forward(number: int, _: FrameType | None) -> None:
        started.process.send_signal(number)

    before: dict[int, Any] = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield started
    finally:
        started.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def ended(status: int) -> str:
    """Describes the emulator's end."""
    if status < 0:
        return f"{NAME} was killed by {signal.Signals(-status).name}: nothing of this run is kept"
    return f"{NAME} ended with status {status} and gave no reason"
