"""What can go wrong, with the exit status of the command line for each."""

from __future__ import annotations

from collections.abc import Iterable


class BatonError(Exception):
    """An error whose text is written for the user."""

    exit_status = 1


class InputError(BatonError):
    """What the user gave is wrong: the text names it, what was expected, and the nearest valid name."""

    exit_status = 2


def nearest(name: str, valid: Iterable[str]) -> str:
    """A clause for the end of an error message that names what was probably meant, and else what there is."""
    import difflib

    names = sorted(set(valid))
    if not names:
        return "there is none"
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean `{close[0]}`?"
    return "there is " + ", ".join(f"`{valid_name}`" for valid_name in names)
