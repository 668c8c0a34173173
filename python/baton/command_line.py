"""Parts of a command line beside those of click: the order of commands, and imports when one is called."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import click

PATH = click.Path(path_type=Path)

CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}
"""Settings of the outermost command, which the others inherit."""


class Group(click.Group):
    """Commands, listed in the order in which they are declared. Some have two words: `baton sweep merge`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns their names."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command at the head of the arguments, and the rest of them."""
        both = " ".join(args[:2])
        return super().resolve_command(ctx, [both, *args[2:]] if both in self.commands else args)


class Later(click.Group):
    """A group whose module is imported when one of its commands is called: other commands need not wait for it."""

    def __init__(self, name: str, module: str, help: str) -> None:
        super().__init__(name, help=help)
        self.module = module

    def loaded(self) -> click.Group:
        """Imports the module, and returns its own group, `app`."""
        group: click.Group = importlib.import_module(self.module).app
        return group

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parses the command line with the module's own group."""
        return self.loaded().make_context(info_name, args, parent, **extra)
