"""Options of `baton plan`: texts with units, as scenarios write them, and plain numbers with a range."""

from __future__ import annotations

import math

from baton._baton import quantity
from baton.errors import InputError


def read(option: str, format: str, text: str) -> float:
    """Reads a value with its unit, in base units: seconds, bit/s, bytes, metres, m/s, hertz, dBm. Raises
    `InputError`."""
    try:
        return quantity(format, text)
    except ValueError as error:
        raise InputError(f'{option} "{text}" {error}') from None


def above_zero(option: str, format: str, text: str) -> float:
    """Reads the same, and refuses zero."""
    value = read(option, format, text)
    if value <= 0:
        raise InputError(f'{option} "{text}": expected more than zero')
    return value


def within(option: str, value: float, low: float, high: float, unit: str) -> float:
    """Returns a plain number, refused outside its range. Raises `InputError`."""
    if not (math.isfinite(value) and low <= value <= high):
        raise InputError(f"{option} {value:g}: expected {low:g} to {high:g} {unit}")
    return value
