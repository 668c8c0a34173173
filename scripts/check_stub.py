"""Checks that the extension's documentation, which `help()` shows, equals that of its stub, which editors show.

Types and signatures are compared by stubtest. Prints each difference; exit status 1 if there is one.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STUB = Path(__file__).resolve().parent.parent / "python" / "baton" / "_baton.pyi"
Documented = ast.ClassDef | ast.FunctionDef


def differences(stub: str, module: Any) -> Iterator[str]:
    """Yields names in the stub without documentation there, or with another one at run time."""
    for node in ast.parse(stub).body:
        if not isinstance(node, Documented):
            continue
        yield from _difference(node, getattr(module, node.name), node.name)
        members = [each for each in getattr(node, "body", []) if isinstance(each, ast.FunctionDef)]
        for member in members if isinstance(node, ast.ClassDef) else []:
            # Python has words of its own for its operators.
            found = getattr(getattr(module, node.name), member.name)
            if not isinstance(found, type(object.__init__)) and member.name != "__new__":
                yield from _difference(member, found, f"{node.name}.{member.name}")


def _difference(node: Documented, found: Any, name: str) -> Iterator[str]:
    written, shown = ast.get_docstring(node), inspect.getdoc(found)
    if not written:
        yield f"{name}: has no documentation in the stub"
    elif written.split() != (shown or "").split():
        yield f"{name}: help() says {shown!r}, the stub {written!r}"


def main() -> int:
    """Compares stub and extension."""
    from baton import _baton

    found = list(differences(STUB.read_text(encoding="utf-8"), _baton))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
