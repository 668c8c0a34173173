"""Packed data of a page, and its largest piece, the drawing library."""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import threading
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

_packing = threading.Lock()


def pack_bytes(raw: bytes) -> str:
    """Compresses bytes in the zlib format, and encodes them in base64."""
    return base64.b64encode(zlib.compress(raw, 1)).decode("ascii")


def drawing_library() -> str:
    """Returns `plotly.min.js` from the installed package `plotly`, which is not imported for it; packed.

    Raises `FileNotFoundError` where it is not installed.
    """
    with _packing:
        return _packed_library()


def prepare_report() -> None:
    """Does the slowest work of a report in threads, beside the run: packing the library, and imports.

    Compression releases the interpreter lock, so that the imports go on beside it.
    """
    for work in (drawing_library, _import_report):
        threading.Thread(target=_attempt, args=(work,), name="prepare report").start()


def _attempt(work: Callable[[], object]) -> None:
    # A failure here comes again, and is reported, when the report is written.
    with contextlib.suppress(Exception):
        work()


def _import_report() -> None:
    importlib.import_module("baton.report")


@cache
def _packed_library() -> str:
    found = importlib.util.find_spec("plotly")
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError("the Python package plotly, whose plotly.min.js the report needs, is not installed")
    return pack_bytes((Path(found.submodule_search_locations[0]) / "package_data" / "plotly.min.js").read_bytes())
