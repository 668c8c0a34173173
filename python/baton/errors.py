"""Errors of the package's own, beside those of the engine."""

from __future__ import annotations

from collections.abc import Iterable

from baton._baton import BatonError


class InputError(BatonError):
    """A mistake in the user's input: the text names it, what was expected, and the nearest valid name."""


class Interrupted(BatonError):
    """The user ended a command, and nothing of it is kept."""


def refuse_newer(file: object, format: object, known: int) -> None:
    """Raises `InputError` if a file is of a newer format than this version reads; `format` is what the file says."""
    if isinstance(format, int) and format > known:
        raise InputError(
            f"{file}: is of format {format}, which a newer Baton wrote; this one reads format {known}:"
            " take a newer version of Baton"
        )


def nearest(name: str, valid: Iterable[str]) -> str:
    """A clause for the end of an error message that names what was probably meant, and else what there is.

    Names that hold the word come before those that are written nearly so.
    """
    import difflib

    names = sorted(set(valid))
    if not names:
        return "there is none"
    holding = [each for each in names if name and name in each][:3]
    if close := holding or difflib.get_close_matches(name, names, n=1, cutoff=0.5):
        return f"did you mean {' or '.join(f'`{each}`' for each in close)}?"
    return "there is " + ", ".join(f"`{valid_name}`" for valid_name in names)
