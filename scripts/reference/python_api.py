"""The interface of Python programs, from the stub, the docstrings and the signatures."""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path
from types import ModuleType

import baton
import baton.aerotp
import baton.crosslayer
import baton.plot
import baton.sweep
import baton.tcp

PACKAGE = Path(baton.__file__).parent
MODULES = {each.__name__: each for each in (baton.sweep, baton.tcp, baton.aerotp, baton.crosslayer)}

Definition = ast.ClassDef | ast.FunctionDef


def python(group: str) -> str:
    """Returns the classes and functions of a module, or the errors or figures of `baton`. Raises `KeyError` for a
    public name that no file defines."""
    stub, plots = definitions(PACKAGE / "_baton.pyi"), definitions(PACKAGE / "plot" / "__init__.py")
    plots |= definitions(PACKAGE / "results.py")
    if group in MODULES:
        module = MODULES[group]
        defined = definitions(PACKAGE / "sweep" / "code.py") if module is baton.sweep else stub
        own = "Aerotp" if module is baton.aerotp else ""
        parts = [render(group, defined[own + name]).replace(own + name, name) for name in module.__all__]
        return "\n".join([f"{(module.__doc__ or '').strip()}\n", *parts]).rstrip()
    public = [name for name in baton.__all__ if not isinstance(getattr(baton, name), ModuleType)]
    errors = {name for name in public if name.endswith("Error")}
    sources = {
        "baton": {name: stub[name] for name in public if name not in errors and name in stub},
        "errors": {name: (definitions(PACKAGE / "errors.py") | stub)[name] for name in public if name in errors},
        "figures": {name: plots[name] for name in public if name not in errors and name not in stub},
    }
    return "\n".join(render("baton", each) for each in sources[group].values()).rstrip()


def definitions(path: Path) -> dict[str, Definition]:
    """Returns classes and functions of a file, by name."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {each.name: each for each in body if isinstance(each, (ast.ClassDef, ast.FunctionDef))}


def render(module: str, definition: Definition) -> str:
    """Returns a class with its members, or a function."""
    if isinstance(definition, ast.FunctionDef):
        return f"### {module}.{definition.name}\n\n{signature(definition)}\n\n{text(definition)}\n"
    lines = [f"### {module}.{definition.name}\n", f"{text(definition)}\n"]
    for member, after in zip(definition.body, [*definition.body[1:], None], strict=True):
        if isinstance(member, ast.AnnAssign) and isinstance(after, ast.Expr):  # a field, and the text below it
            described = inspect.cleandoc(ast.literal_eval(after.value))
            lines.append(
                f"- `{ast.unparse(member.target)}: {ast.unparse(member.annotation)}`\n\n{indented(described)}\n"
            )
        if isinstance(member, ast.ClassDef):  # one of several kinds, with the fields of its constructor
            made = next(each for each in member.body if isinstance(each, ast.FunctionDef) and each.name == "__new__")
            fields = ast.unparse(ast.arguments(**{**vars(made.args), "args": made.args.args[1:]}))
            lines.append(f"- `{member.name}({fields})`\n\n{indented(text(member))}\n")
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            lines.append(f"- `{heading(member)}`\n\n{indented(text(member))}\n")
    return "\n".join(lines)


def heading(member: ast.FunctionDef) -> str:
    """Returns a member in a line: a property with its type, or a method with its parameters."""
    decorators = {ast.unparse(each) for each in member.decorator_list}
    if "property" in decorators:
        assert member.returns is not None
        return f"{member.name}: {ast.unparse(member.returns)}"
    return call(member)


def call(function: ast.FunctionDef) -> str:
    """Returns a function's parameters and what it returns."""
    arguments = function.args
    for listed in (arguments.posonlyargs, arguments.args):
        listed[:] = [each for each in listed if each.arg != "self"]
    returns = f" -> {ast.unparse(function.returns)}" if function.returns is not None else ""
    return f"{function.name}({ast.unparse(arguments)}){returns}"


def signature(function: ast.FunctionDef) -> str:
    """Returns the same as a paragraph."""
    return f"`{call(function)}`"


def text(definition: Definition) -> str:
    """Returns the docstring."""
    found = ast.get_docstring(definition)
    if not found:
        raise ValueError(f"`{definition.name}` has no docstring")
    return found


def indented(docstring: str) -> str:
    """Returns a docstring as part of a list's item."""
    return textwrap.indent(docstring, "  ")
