"""Packs plotly's script, from the Python package of that name, into Baton's package, as every page carries it."""

from __future__ import annotations

import base64
import importlib.util
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKED = ROOT / "python" / "baton" / "report" / "assets" / "plotly.packed"
"""Its place; pyproject.toml names it for the wheel."""


def pack() -> None:
    """Writes it: deflate in the zlib format, then base64. Raises `FileNotFoundError` where plotly is not installed."""
    found = importlib.util.find_spec("plotly")
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError("the Python package plotly, whose plotly.min.js the report carries, is not installed")
    script = Path(found.submodule_search_locations[0]) / "package_data" / "plotly.min.js"
    PACKED.write_bytes(base64.b64encode(zlib.compress(script.read_bytes(), 9)))


if __name__ == "__main__":
    pack()
