"""A results folder as one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path

from .describe import describe
from .figures import Description
from .render import page
from .tables import read_run

__all__ = ["Description", "describe", "page", "read_run", "write", "write_page"]


def write(folder: Path) -> Path:
    """Writes `report.html` into a results folder and returns its path.

    Reads `manifest.json`, and where they exist `summary.json`, `series.parquet`, `packets.parquet` and
    `signals.parquet`.
    Raises `FileNotFoundError` when there is no manifest, `ValueError` when a table cannot be read, `InputError` when a
    JSON file is damaged or newer, `OSError` when the page cannot be written; no part of it is left then.
    """
    run = read_run(folder)
    return write_page(folder / "report.html", page(run, describe(run)))


def write_page(file: Path, page: bytes) -> Path:
    """Writes a page completely or not at all, and returns its path. Raises `OSError`."""
    staged = file.with_name(f".partial-{file.name}")
    try:
        staged.write_bytes(page)
        return staged.replace(file)
    except OSError as error:
        staged.unlink(missing_ok=True)
        reason = f"cannot be written: {error.strerror}; the data beside it is whole"
        raise OSError(error.errno, reason, str(file)) from error
