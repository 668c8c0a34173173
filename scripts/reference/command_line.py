"""The commands of the command line, from the declarations that click reads."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from baton.cli import app
from baton.command_line import Later

from . import table


def commands() -> dict[str, click.Command]:
    """Returns the commands, by their name."""
    return dict(named(app, ""))


def named(group: click.Group, before: str) -> Iterator[tuple[str, click.Command]]:
    """Yields the commands of a group and of the groups in it."""
    for name, found in group.commands.items():
        if isinstance(found, Later):
            yield from named(found.loaded(), f"{name} ")
        else:
            yield before + name, found


def command(*words: str) -> str:
    """Returns the help of a command and its parameters."""
    name = " ".join(words)
    found = commands()[name]
    context = found.make_context(name, [], resilient_parsing=True, show_default=True)
    records = [each.get_help_record(context) for each in found.params if each.name != "help"]
    rows = [[f"`{spelling(record[0])}`", meaning(record[1])] for record in records if record]
    parameters = [table(["parameter", "meaning"], rows)] if rows else []
    return "\n\n".join([inspect.cleandoc(found.help or ""), *parameters])


def spelling(text: str) -> str:
    """Returns the spelling of a parameter, from click's own words for it."""
    text = re.sub(r"\[([\w|-]+)\]$", r"<\1>", text) if text.startswith("-") else text
    return text.replace("INTEGER RANGE", "N").replace("TEXT", "NAME")


def meaning(text: str) -> str:
    """Returns the meaning of a parameter: options, keys and angle brackets are code, a range or a default is told in
    words."""
    text = re.sub(r"\s*\[required\]", "", text)
    text = re.sub(r"\s*\[(default: [^];]+; )?(\d+)<=x<=(\d+)\]", r" \1From \2 to \3.", text)
    text = re.sub(r"\s*\[default: ([^]]+)\]", r" Default: \1.", text).replace(" default: ", " default: ", 1)
    text = re.sub(r"default: (\d+); From", r"Default: \1, from", text)
    return re.sub(r"(?<![`\w])([\w./-]*<[\w<>/-]+|flows\.[\w.]+=\S*?)(?=[\s.,;:)]|$)", r"`\1`", text)
