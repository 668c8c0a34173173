"""Known causes of differences between simulated figures and the kernel's: `causes.toml` beside the list."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from baton.errors import InputError
from baton.toml import loads

from .rules import QUANTITIES

FILE = "causes.toml"
UNKNOWN = "not explained yet"

#: Texts by what they explain: `soft-*/bbr/to_90_percent_s`. The first that matches counts.
Causes = dict[str, str]


def read(list_file: Path) -> Causes:
    """Reads the causes beside a list; none without the file. Raises `InputError`."""
    file = list_file.with_name(FILE)
    if not file.exists():
        return {}
    try:
        causes: Causes = loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: {error}") from error
    quantities = [quantity.key for quantity in QUANTITIES]
    for name, text in causes.items():
        parts = name.split("/")
        if len(parts) != 3 or not any(fnmatchcase(key, parts[2]) for key in quantities):
            raise InputError(
                f'{file}: "{name}": expected CASE/CONTROL/QUANTITY, as in "soft-*/bbr/timeouts", where QUANTITY is one'
                f" of {', '.join(quantities)}"
            )
        if not isinstance(text, str) or not text.strip():
            raise InputError(f'{file}: "{name}": expected a sentence, in quotation marks')
    return causes


def cause(causes: Causes, case: str, control: str, quantity: str) -> str:
    """Returns the cause of a figure's difference."""
    name = f"{case}/{control}/{quantity}"
    return next((" ".join(text.split()) for pattern, text in causes.items() if fnmatchcase(name, pattern)), UNKNOWN)
