"""Report of the emulator on this machine and on a scenario, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from baton.errors import InputError

from . import emulator

UNSUPPORTED = 2


def check_machine(*, as_json: bool) -> int:
    """Prints whether live runs are possible here, and if not, what to do; returns 0 or 1."""
    _, machine = emulator.ask("machine")
    if as_json:
        print(json.dumps(machine))
        return 0 if machine["ok"] else 1
    for problem in machine["problems"]:
        print(problem)
    print(f"kernel {machine['kernel']}; congestion controls: {', '.join(machine['congestion'])}")
    print(f"rights: {machine['rights']}; priority over other programs: {'yes' if machine['priority'] else 'no'}")
    print("live runs are possible here" if machine["ok"] else "live runs are NOT possible here")
    return 0 if machine["ok"] else 1


def require() -> None:
    """Raises `InputError`, which says what to do, if live runs are not possible."""
    _, machine = emulator.ask("machine")
    if not machine["ok"]:
        raise InputError("live runs are not possible here:\n" + "\n".join(machine["problems"]))


def check_scenario(scenario: Path, overrides: Sequence[str]) -> int:
    """Prints the parts of a scenario that the kernel cannot honour, and what comes nearest; returns 0 or 2."""
    settings = [part for override in overrides for part in ("--set", override)]
    _, answer = emulator.ask("check", str(scenario), *settings)
    for refusal in answer["refused"]:
        nearest = f"; nearest: {refusal['nearest']}" if refusal["nearest"] else ""
        print(f"{refusal['key']}: {refusal['message']}{nearest}")
    return UNSUPPORTED if answer["refused"] else 0
