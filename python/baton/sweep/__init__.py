"""Sweeps: a scenario over many values and seeds, on all cores."""

from __future__ import annotations

from .code import Found, run

__all__ = ["Found", "run"]
