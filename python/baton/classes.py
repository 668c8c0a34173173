"""Finds the classes that scenarios name as `python:module.Class`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from baton.errors import InputError, nearest

METHODS = {
    "congestion control": ("on_acknowledged", "on_loss", "on_timeout", "on_idle_restart"),
    "remedy": ("on_signal",),
    "decision": ("on_event",),
}


def load(name: str, directory: str | os.PathLike[str], kind: str) -> type:
    """The class `module.Class`, which is of a kind of `METHODS`.

    Its module is a file in `directory`, where the scenario lies, and otherwise what Python imports by that name. Raises
    `InputError` with a text that follows the name in a sentence.
    """
    module_name, _, class_name = name.rpartition(".")
    try:
        module = _beside(module_name, Path(directory)) or importlib.import_module(module_name)
    except Exception as error:  # the module's own code runs here, and may raise anything
        raise InputError(f"cannot be imported: {type(error).__name__}: {error}") from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        classes = [key for key, value in vars(module).items() if isinstance(value, type)]
        raise InputError(f"cannot be found: {module_name} has no class `{class_name}`; {nearest(class_name, classes)}")
    missing = [method for method in METHODS[kind] if not callable(getattr(found, method, None))]
    if missing:
        raise InputError(f"is no {kind}: it lacks {', '.join(missing)}")
    return found


def _beside(name: str, directory: Path) -> ModuleType | None:
    """The module in a file of the directory, run anew each time, so that it may have changed."""
    file = directory / (name.replace(".", "/") + ".py")
    if not file.is_file():
        return None
    # A name of its own: a file `random.py` beside a scenario must not become Python's `random`.
    spec = importlib.util.spec_from_file_location(f"baton_class.{name}", file)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
