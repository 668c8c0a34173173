"""A results folder as one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path

from .describe import describe
from .figures import Description
from .render import page
from .tables import read_run

__all__ = ["Description", "describe", "write"]


def write(folder: Path) -> Path:
    """Writes `report.html` into a results folder and returns its path.

    Reads `manifest.json`, and where they exist `summary.json`, `series.parquet` and `packets.parquet`.
    Raises `FileNotFoundError` when there is no manifest, `ValueError` when a file cannot be read, `OSError` when
    the page cannot be written, of which nothing is left then.
    """
    run = read_run(folder)
    text = page(run, describe(run))
    report = folder / "report.html"
    staged = folder / ".partial-report.html"
    try:
        staged.write_text(text, encoding="utf-8")
        return staged.replace(report)
    except OSError as error:
        staged.unlink(missing_ok=True)
        reason = f"cannot be written: {error.strerror}; the data beside it is whole"
        raise OSError(error.errno, reason, str(report)) from error
