"""Sweeps: a scenario over many values and seeds, on all cores, or live."""

from __future__ import annotations

from .code import Found, Live, run

__all__ = ["Found", "Live", "run"]
