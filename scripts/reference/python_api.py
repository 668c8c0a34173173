"""Page about the interface of Python programs, from the stub, the docstrings and the signatures."""

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
from baton import classes

from . import GENERATED

PACKAGE = Path(baton.__file__).parent

INTRODUCTION = f"""\
# Python

{GENERATED}

How to use it: [Run from Python](../how-to/run-from-python.md), [Drive one end by hand](../how-to/drive-a-connection.md),
[Write a congestion control](../how-to/write-a-congestion-control.md),
[Write a remedy or a handover decision](../how-to/write-a-remedy-or-a-decision.md).

```python
import baton

result = baton.Scenario.load("scenarios/wavelan-to-gsm.toml").run()
print(result.summary["scenario"], result.complete)
```

```text
wavelan-to-gsm True
```
"""

Definition = ast.ClassDef | ast.FunctionDef


def page() -> str:
    """The page."""
    stub, plots = definitions(PACKAGE / "_baton.pyi"), definitions(PACKAGE / "plot" / "__init__.py")
    plots |= definitions(PACKAGE / "results.py")
    raised, sweeps = definitions(PACKAGE / "errors.py"), definitions(PACKAGE / "sweep" / "code.py")
    public = [name for name in baton.__all__ if not isinstance(getattr(baton, name), ModuleType)]
    errors = [name for name in public if name.endswith("Error")]
    others = [name for name in public if name not in errors and name in stub]
    figures = [name for name in public if name not in stub and name in plots]
    left = set(public) - set(errors) - set(others) - set(figures)
    if left:
        raise ValueError(f"scripts/reference/python_api.py shows no {', '.join(sorted(left))} of `baton`")
    parts = [
        INTRODUCTION,
        "## baton\n",
        *(render("baton", stub[name]) for name in others),
        "## Errors\n\nAll are `baton.BatonError`; their text is that of the command line.\n",
        *(render("baton", stub.get(name) or raised[name]) for name in errors),
        "## Figures\n",
        *(render("baton", plots[name]) for name in figures),
        f"## baton.sweep\n\n{flat(baton.sweep.__doc__ or '')} More: [Sweeps](../sweeps.md).\n",
        *(render("baton.sweep", sweeps[name]) for name in baton.sweep.__all__),
        f"## baton.tcp\n\n{flat(baton.tcp.__doc__ or '')}\n",
        *(render("baton.tcp", stub[name]) for name in baton.tcp.__all__),
        f"## baton.aerotp\n\n{flat(baton.aerotp.__doc__ or '')}\n",
        *(
            render("baton.aerotp", stub[f"Aerotp{name}"]).replace(f"Aerotp{name}", name)
            for name in baton.aerotp.__all__
        ),
        f"## baton.crosslayer\n\n{flat(baton.crosslayer.__doc__ or '')}\n",
        *(render("baton.crosslayer", stub[name]) for name in baton.crosslayer.__all__),
        "## A congestion control\n\nA class of yours that a scenario names as `python:module.Class` has these methods, "
        f"{', '.join(f'`{name}`' for name in classes.METHODS['congestion control'])}, and the attributes `window` and `slow_start_threshold`. "
        "[How to write one](../how-to/write-a-congestion-control.md).\n",
    ]
    return "\n".join(parts).rstrip() + "\n"


def definitions(path: Path) -> dict[str, Definition]:
    """Classes and functions of a file, by name."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {each.name: each for each in body if isinstance(each, (ast.ClassDef, ast.FunctionDef))}


def render(module: str, definition: Definition) -> str:
    """A class with its members, or a function."""
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
    """A member in a line: a property with its type, or a method with its parameters."""
    decorators = {ast.unparse(each) for each in member.decorator_list}
    if "property" in decorators:
        assert member.returns is not None
        return f"{member.name}: {ast.unparse(member.returns)}"
    return call(member)


def call(function: ast.FunctionDef) -> str:
    """A function's parameters and what it returns."""
    arguments = function.args
    for listed in (arguments.posonlyargs, arguments.args):
        listed[:] = [each for each in listed if each.arg != "self"]
    returns = f" -> {ast.unparse(function.returns)}" if function.returns is not None else ""
    return f"{function.name}({ast.unparse(arguments)}){returns}"


def signature(function: ast.FunctionDef) -> str:
    """The same as a paragraph."""
    return f"`{call(function)}`"


def text(definition: Definition) -> str:
    """The docstring."""
    found = ast.get_docstring(definition)
    if not found:
        raise ValueError(f"`{definition.name}` has no docstring")
    return found


def indented(docstring: str) -> str:
    """A docstring as part of a list's item."""
    return textwrap.indent(docstring, "  ")


def flat(docstring: str) -> str:
    """A docstring without surrounding blank lines."""
    return docstring.strip()
