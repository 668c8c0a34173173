"""The commands of the command line, from the Typer application."""

from __future__ import annotations

import re
from typing import Any

import typer.main

from baton import plan, trace_import
from baton.cli import app

from . import table


def commands() -> dict[str, Any]:
    """Returns the commands, by their name."""
    root = typer.main.get_command(app)
    found: dict[str, Any] = dict(root.commands)
    for group, its_app in (("plan", plan.app), ("trace", trace_import.app)):
        found.pop(group, None)  # there or not, as another test may have added it
        inner: Any = typer.main.get_command(its_app)
        found |= {f"{group} {name}": command for name, command in inner.commands.items()}
    return found


def command(*words: str) -> str:
    """Returns the help of a command and its parameters."""
    name = " ".join(words)
    found = commands()[name]
    context = found.make_context(name, [], resilient_parsing=True)
    records = [each.get_help_record(context) for each in found.params if each.name != "help"]
    rows = [[f"`{spelling(name)}`", meaning(text)] for name, text in records]
    parameters = [table(["parameter", "meaning"], rows)] if rows else []
    return "\n\n".join([found.help.strip(), *parameters])


def spelling(text: str) -> str:
    """Returns the spelling of a parameter, from Typer's own words for it."""
    text = re.sub(r"(?<!-) <(str|list\[\w+\])>$", "", text) if not text.startswith("-") else text
    return text.replace("<int range>", "N").replace("<str>", "NAME")


def meaning(text: str) -> str:
    """Returns the meaning of a parameter: options, keys and angle brackets are code, a range or a default is told in
    words."""
    text = re.sub(r"\s*\[required\]", "", text)
    text = re.sub(r"\s*\[(default: [^];]+; )?(\d+)<=x<=(\d+)\]", r" \1From \2 to \3.", text)
    text = re.sub(r"\s*\[default: ([^]]+)\]", r" Default: \1.", text).replace(" default: ", " default: ", 1)
    text = re.sub(r"default: (\d+); From", r"Default: \1, from", text)
    return re.sub(r"(?<![`\w])([\w./-]*<[\w<>/-]+|flows\.[\w.]+=\S*?)(?=[\s.,;:)]|$)", r"`\1`", text)
