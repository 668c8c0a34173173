"""Identity of a live sweep: its programs and its machine."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from baton.errors import InputError
from baton.live.owner import without_home
from baton.stored import SweptLive, SweptMachine

from .code import Live

# Ends of the names of programs that another program runs: they need no right to be executed.
CODE = {".jar", ".js", ".lua", ".mjs", ".pl", ".py", ".rb", ".sh"}
CPU_INFO = Path("/proc/cpuinfo")


def identity(live: Live) -> SweptLive:
    """Returns the programs as given, the hashes of their files, and the machine. Raises `InputError` for a missing
    program."""
    if live.program and shutil.which(live.program[0]) is None:
        raise InputError(f"{live.program[0]}: is not an executable program; expected a file or a name along PATH")
    files = {}
    for word in [*live.program, *([live.server] if live.server else [])]:
        for file in _programs(word):
            files[without_home(str(file))] = hashlib.sha256(file.read_bytes()).hexdigest()
    return {
        "program": [without_home(word) for word in live.program],
        "server": None if live.server is None else without_home(live.server),
        "files": files,
        "machine": machine(),
    }


def _programs(text: str) -> Iterator[Path]:
    """Returns the program files that a word of a command line names, itself or within a command for the shell.

    Other files that it names are data, which a run may write.
    """
    try:
        words = {text, *shlex.split(text)}
    except ValueError:  # quotes that do not close
        words = {text}
    for word in sorted(words):
        found = shutil.which(word)
        file = Path(found if found else word)
        try:
            if file.is_file() and (found or file.suffix in CODE):
                yield file
        except OSError:  # too long for a name
            continue


def machine() -> SweptMachine:
    """Describes this machine."""
    system = os.uname()
    return {
        "kernel": system.release,
        "architecture": system.machine,
        "processors": os.cpu_count() or 1,
        "processor": _processor(),
    }


def _processor() -> str:
    """Returns the model of the first processor, if the kernel reports one."""
    try:
        lines = CPU_INFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "")


def machine_words(told: SweptMachine) -> str:
    """Describes a machine in words."""
    processors = (
        f"{told['processors']} x {told['processor']}" if told["processor"] else f"{told['processors']} processors"
    )
    return f"Linux {told['kernel']}, {told['architecture']}, {processors}"


def program_words(live: SweptLive) -> Sequence[tuple[str, str]]:
    """Returns names and texts: the program and the server's command, or that the kernel ran the scenario's flows."""
    program = shlex.join(live["program"]) if live["program"] else "the scenario's flows, with the kernel's TCP"
    return [("Program", program), *([("Server", live["server"])] if live["server"] else [])]
