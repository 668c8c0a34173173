"""Numbers packed for a page: differences, bytes of equal weight together, deflate, base64.

A million segments of a steady transfer take about a megabyte. `assets/decode.js` is the other half.
"""

from __future__ import annotations

import binascii
import zlib
from typing import Any

import numpy as np

LARGEST_STEP = 2**31 - 1
"""Largest difference in a column; larger ones (2.1 s in ns) are listed beside it."""


class ColumnStore:
    """Packed columns by content, so that equal columns (times of series recorded together) are kept once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._known: dict[bytes, int] = {}

    def times(self, time_ns: np.ndarray) -> dict[str, Any]:
        """Packs times in ns as seconds, exact to a nanosecond."""
        return self._differences(time_ns.astype(np.int64), 1e-9)

    def values(self, values: np.ndarray) -> dict[str, Any]:
        """Packs whole numbers exactly, others with 24 bits of precision."""
        if np.issubdtype(values.dtype, np.integer):
            return self._differences(values.astype(np.int64), 1.0)
        return {"kind": "float", "blob": self._pack(values.astype("<f4")), "length": len(values)}

    def codes(self, codes: np.ndarray) -> dict[str, Any]:
        """Packs small whole numbers, each by itself."""
        return {"kind": "codes", "blob": self._pack(codes.astype("<u4")), "length": len(codes)}

    def _differences(self, values: np.ndarray, unit: float) -> dict[str, Any]:
        steps = np.diff(values, prepend=values[:1])
        far = np.flatnonzero(np.abs(steps) > LARGEST_STEP)
        jumps = list(zip(far.tolist(), steps[far].tolist(), strict=True))
        steps[far] = 0
        folded = np.where(steps < 0, -2 * steps - 1, 2 * steps).astype("<u4")
        start = int(values[0]) if len(values) else 0
        packed = {"blob": self._pack(folded), "length": len(values)}
        return {"kind": "differences", "start": start, "unit": unit, "jumps": jumps} | packed

    def _pack(self, values: np.ndarray) -> int:
        raw = np.ascontiguousarray(values.view(np.uint8).reshape(-1, 4).T).tobytes()
        if raw not in self._known:
            self._known[raw] = len(self.texts)
            self.texts.append(binascii.b2a_base64(zlib.compress(raw, 1), newline=False).decode())
        return self._known[raw]
