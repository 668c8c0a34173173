"""Work with the results of a run, from Python."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from baton._baton import Result
from baton.errors import InputError


def write_report(run: Result | str | PathLike[str]) -> Path:
    """Writes `report.html` into the folder of a run's results, as `baton run` does, and returns its path.

    `run` is what `Scenario.run` returns, or the folder. Raises `InputError` for a run that has no folder, or one that
    holds no results; `OSError` if the page cannot be written.
    """
    from baton import report

    folder = run.folder if isinstance(run, Result) else run
    if folder is None:
        raise InputError('the run has no folder; give one to Scenario.run, as in `run(out="results/mine")`')
    try:
        return report.write(Path(folder))
    except (FileNotFoundError, ValueError) as error:
        raise InputError(str(error)) from error
