"""Live runs as a function, for pytest and the like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from baton import cli_run

from . import emulator
from .cli_live import prepare, write_report
from .execution import LiveOptions, LiveResult, LiveTest


def run(
    scenario: str | Path,
    program: Sequence[str] = (),
    *,
    server: str | None = None,
    handovers: Sequence[str] = (),
    overrides: Sequence[str] = (),
    expect: Sequence[str] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    allow_no_handover: bool = False,
) -> LiveResult:
    """Runs a scenario in real time, as `baton live` does, and checks the expectations.

    `scenario` is a file or a shipped scenario's name; `handovers` are as for `--handover`, `overrides` as for `--set`.
    Results and the report are in `out`, by default `results/<scenario>-live-<seed>`. Call it from the main thread.
    Raises `ScenarioError` and `InputError` for wrong input, `RunError` for a run that failed.
    """
    common = cli_run.RunOptions(
        scenario=str(scenario),
        seed=seed,
        overrides=list(overrides),
        handovers=list(handovers),
        out=None if out is None else Path(out),
        force=force,
        captures=cli_run.Captures(),
        expectations=list(expect),
        junit=None,
        json=False,
    )
    test = LiveTest.load(LiveOptions(common, server, False, allow_no_handover, list(program)))
    folder = common.out or Path("results") / f"{test.scenario.name}-live-{test.seed}"
    prepare(folder, common)
    result = test.run(test.seed, folder)
    write_report(folder)
    return result


def why_not() -> str | None:
    """Returns the reason why this machine cannot run anything live, and the way to change that; nothing if it can."""
    _, machine = emulator.ask("machine")
    return None if machine["ok"] else "; ".join(machine["problems"])
