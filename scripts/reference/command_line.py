"""The command line, from the Typer application."""

from __future__ import annotations

import re
from typing import Any

import typer.main

from baton import plan, trace_import
from baton.cli import app

from . import GENERATED, table

INTRODUCTION = f"""\
# The command line

{GENERATED}

`baton COMMAND --help` prints the same. Where a command takes a scenario, that is a file or the name of one that comes with
Baton (`baton list scenarios`).

Exit status: 0 done, 1 a run failed, 2 the input is wrong, 3 an expectation did not hold, 4 the given program failed, 130
interrupted, 141 the reader of standard output went away, as `head` does. Errors go to standard error. With `--json` standard output is exactly one JSON object; for an error it is
`{{"error": {{"message": …, "exit_status": …}}}}`.
"""

# An example of each command. Commands that need another machine's files stand in the pages on them.
EXAMPLES = {
    "run": "baton run wavelan-to-gsm --set flows.download.profile=rfc --seed 2 --pcap --expect 'flows.download.timeouts < 9'",
    "live": "sudo .venv/bin/baton live train --handover '2 s soft' --set 'duration=4 s'",
    "check": "baton check train --set 'links.tunnel.rate=2 Mbit/s'",
    "schema": "baton schema > baton.schema.json",
    "rerun": "baton rerun results/wavelan-to-gsm-2",
    "pack": "baton pack results/wavelan-to-gsm-2 --out reviewers.zip\nbaton rerun reviewers.zip",
    "sweep": "baton sweep wavelan-to-gsm --set flows.download.congestion=reno,cubic --seeds 3",
    "compare": "baton run wavelan-to-gsm --seed 3\nbaton compare results/wavelan-to-gsm-2 results/wavelan-to-gsm-3",
    "list": "baton list congestion",
    "plan coverage": "baton plan coverage --latitude 45 --latitude 60 --obstacle '100 m' --plot coverage.svg",
    "plan window": "baton plan window --rate '2 Mbit/s' --round-trip '4 ms' --new-rate '7680 bit/s' --new-round-trip '0.7 s'",
    "plan link-budget": "baton plan link-budget --distance '180 km' --aircraft-power '38 dBm'",
    "trace import": "baton trace import scenarios/traces/lte-drive.down scenarios/traces/lte-drive.up --out drive",
}
NO_EXAMPLE = {
    "handover": ("baton handover train tunnel --hard '2 s'", "needs a live run that is under way"),
    "set": ("baton set train 'links.tunnel.rate=2 Mbit/s'", "needs a live run that is under way"),
    "fidelity": (
        "baton fidelity --only 'hard-*' --repetitions 3",
        "takes minutes in real time, and needs root or user namespaces",
    ),
    "reproduce": ("baton reproduce T", "`tests/test_reproduce.py` runs it"),
}


def page() -> str:
    """The page. Raises `KeyError` if a command has no example."""
    parts = [INTRODUCTION]
    root = typer.main.get_command(app)
    commands: dict[str, Any] = dict(root.commands)
    for group, its_app in (("plan", plan.app), ("trace", trace_import.app)):
        commands.pop(group, None)  # there or not, as another test may have added it
        inner: Any = typer.main.get_command(its_app)
        commands |= {f"{group} {name}": command for name, command in inner.commands.items()}
    for name, command in commands.items():
        parts.append(section(name, command))
    return "\n".join(parts).rstrip() + "\n"


def section(name: str, command: Any) -> str:
    """A command: what it does, its parameters, an example."""
    context = command.make_context(name, [], resilient_parsing=True)
    records = [each.get_help_record(context) for each in command.params if each.name != "help"]
    rows = [[f"`{spelling(name)}`", meaning(text)] for name, text in records]
    parameters = f"\n{table(['parameter', 'meaning'], rows)}\n" if rows else ""
    mark, example = "", EXAMPLES.get(name)
    if example is None:
        example, reason = NO_EXAMPLE[name]
        mark = f"<!-- not run: {reason} -->\n"
    return f"## baton {name}\n\n{command.help.strip()}\n{parameters}\n{mark}```sh\n{example}\n```\n"


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
