"""Finds the classes that scenarios name as `python:module.Class`.

Importing a module runs its code, and so does running a scenario that names one. The command line says by `permit` where
modules may come from; other programs import from anywhere, as `import` does.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NoReturn

from baton.errors import InputError, nearest

METHODS = {
    "congestion control": ("on_acknowledged", "on_loss", "on_timeout", "on_idle_restart"),
    "remedy": ("on_signal",),
    "decision": ("on_event",),
}

Permission = Literal["anywhere", "beside", "never", "look"]
"""Classes that may be run: whatever Python imports, those in files beside the scenario, or none; with "look" none
either, but their existence is checked."""
_permission: Permission = "anywhere"

FILES: set[str] = set()
"""The files of modules whose classes were loaded: a failure there is their author's."""


def permit(permission: Permission) -> None:
    """Sets which classes scenarios may run from now on, in the whole process."""
    global _permission  # the engine calls `load`, and a process runs one command
    _permission = permission


def load(name: str, directory: str | os.PathLike[str], kind: str) -> type:
    """Returns the class `module.Class`, which is of a kind of `METHODS`.

    The module is a file in `directory`, the scenario's folder, or else what Python imports by that name. If classes are
    only looked for, the result is a class that cannot be used. Raises `InputError`, whose text continues a sentence
    that begins with the name.
    """
    module_name, _, class_name = name.rpartition(".")
    file = Path(directory) / (module_name.replace(".", "/") + ".py")
    beside = file if file.is_file() else None
    if _permission == "look":
        return _looked_for(module_name, class_name, kind, beside)
    if _permission == "never":
        raise InputError("is a class in Python, whose code would run here; allow it with --allow-python")
    if _permission == "beside" and beside is None:
        raise InputError(
            f"is not beside the scenario (there is no {file}); a class from elsewhere runs only with --allow-python"
        )
    try:
        module = importlib.import_module(module_name) if beside is None else _run(module_name, beside)
    except Exception as error:  # the module's own code runs here, and may raise anything
        raise InputError(f"cannot be imported: {type(error).__name__}: {error}") from error
    FILES.add(getattr(module, "__file__", None) or "")
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        _refuse_name(module_name, class_name, [key for key, value in vars(module).items() if isinstance(value, type)])
    _refuse_lack(kind, [method for method in METHODS[kind] if not callable(getattr(found, method, None))])
    return found


def _run(name: str, file: Path) -> ModuleType:
    """Runs the module in a file, each time anew, since the file may have changed."""
    # A name of its own: a file `random.py` beside a scenario must not become Python's `random`.
    spec = importlib.util.spec_from_file_location(f"baton_class.{name}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _refuse_name(module_name: str, class_name: str, classes: list[str]) -> NoReturn:
    raise InputError(f"cannot be found: {module_name} has no class `{class_name}`; {nearest(class_name, classes)}")


def _refuse_lack(kind: str, missing: list[str]) -> None:
    if missing:
        raise InputError(f"is not a {kind}: it lacks {', '.join(missing)}")


def _looked_for(module_name: str, class_name: str, kind: str, beside: Path | None) -> type:
    """Returns a class that cannot be used, in place of one that exists as far as its source tells; nothing of it is
    run."""
    file = beside or _source(module_name)
    about: dict[str, Any] = {}
    if file is not None:
        try:
            tree = ast.parse(file.read_bytes(), str(file))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise InputError(f"cannot be imported: {type(error).__name__}: {error}") from error
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        if class_name in classes:
            about = _class_body(classes[class_name])
            inherits = bool(classes[class_name].bases)
            _refuse_lack(kind, [] if inherits else [method for method in METHODS[kind] if method not in about])
        elif not _may_bind(tree, class_name):
            _refuse_name(module_name, class_name, list(classes))
    # A remedy says by its `place` at which end it works.
    return type(class_name, (), {"place": about["place"]} if about.get("place") else {})


def _class_body(node: ast.ClassDef) -> dict[str, Any]:
    """Returns the names that the body of a class binds, with the values of constants."""
    found: dict[str, Any] = {}
    for each in node.body:
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[each.name] = None
        targets = (
            each.targets if isinstance(each, ast.Assign) else [each.target] if isinstance(each, ast.AnnAssign) else []
        )
        value = each.value if isinstance(each, (ast.Assign, ast.AnnAssign)) else None
        for target in targets:
            if isinstance(target, ast.Name):
                found[target.id] = value.value if isinstance(value, ast.Constant) else None
    return found


def _may_bind(tree: ast.Module, name: str) -> bool:
    """Returns true if a module may get a name by other means than a class of its own: an import, an assignment, a
    condition."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return True
        if isinstance(node, ast.alias) and (node.asname or node.name) in (name, "*"):
            return True
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            return True
    return False


def _source(module_name: str) -> Path | None:
    """Returns the source of a module that Python would import, without importing it; none if it has none."""
    top, *below = module_name.split(".")
    try:
        spec: ModuleSpec | None = importlib.util.find_spec(top)
        name = top
        for part in below:  # `find_spec` of a dotted name would import the packages before it
            name = f"{name}.{part}"
            spec = spec and PathFinder.find_spec(name, spec.submodule_search_locations)
    except (ImportError, ValueError) as error:
        raise InputError(f"cannot be imported: {type(error).__name__}: {error}") from error
    if spec is None:
        raise InputError(
            f"cannot be imported: there is no file of that name beside the scenario, and no module `{module_name}`"
        )
    return Path(spec.origin) if spec.origin is not None and spec.origin.endswith(".py") else None
