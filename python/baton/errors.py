"""Errors of the package itself, beside those of the engine."""

from __future__ import annotations

from collections.abc import Iterable

from baton._baton import BatonError


class InputError(BatonError):
    """A mistake in the user's input: the text names the mistake, the expected value, and the nearest valid name."""


class Interrupted(BatonError):
    """Interruption of a command by the user; no results are kept."""


def refuse_newer(file: object, format: object, known: int) -> None:
    """Raises `InputError` if a file has a newer format than this version reads; `format` is the one that the file
    states."""
    if isinstance(format, int) and format > known:
        raise InputError(
            f"{file}: has format {format}, which a newer Baton wrote; this version reads format {known}: update Baton"
        )


def nearest(name: str, valid: Iterable[str]) -> str:
    """Returns the end of an error message: the names that were probably meant, or else all valid ones.

    Names that contain the word come before names with a similar spelling.
    """
    import difflib

    names = sorted(set(valid))
    if not names:
        return "there is none"
    holding = [each for each in names if name and name in each][:3]
    if close := holding or difflib.get_close_matches(name, names, n=1, cutoff=0.5):
        return f"did you mean {' or '.join(f'`{each}`' for each in close)}?"
    return "there is " + ", ".join(f"`{valid_name}`" for valid_name in names)
