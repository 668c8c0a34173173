"""Runs the blocks of one page, in the current folder, as a program of its own: `__main__` is the page's.

Reads snippets as JSON from standard input, and prints as JSON what came of each: nothing, or what is wrong with it.
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

PROGRAMS = ("batond", "curl", "iperf3", "tshark")
LIMIT_S = 300


class Skip(Exception):
    """A block that cannot run here, and why."""


def main() -> None:
    """Runs them all, also those after one that fails: each has its own verdict."""
    steps = json.load(sys.stdin)
    outcomes, printed = [], io.StringIO()
    for step in steps:
        try:
            wrong = STEPS[step["do"]](step, printed)
            outcomes.append({"wrong": wrong or ""})
        except Skip as reason:
            outcomes.append({"skip": str(reason)})
        except BaseException:
            outcomes.append({"wrong": traceback.format_exc()})
    if left := printed.getvalue():
        last = max(index for index, step in enumerate(steps) if step["do"] == "python")
        outcomes[last] = {"wrong": f"the page does not say that it prints:\n{left}"}
    json.dump(outcomes, sys.__stdout__)


def save(step: dict, _: io.StringIO) -> None:
    """Writes the block to its file."""
    path = Path(step["save_as"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(step["text"], encoding="utf-8")


def python(step: dict, printed: io.StringIO) -> None:
    """Runs the block as part of the page's program."""
    code = compile("\n" * step["line"] + step["text"], step["page"], "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, vars(sys.modules["__main__"]))


def text(step: dict, printed: io.StringIO) -> str | None:
    """Compares with what the Python blocks have printed since the last time."""
    found = printed.getvalue()
    printed.seek(0)
    printed.truncate()
    return differs(step, step["text"], found)


def sh(step: dict, _: io.StringIO) -> str | None:
    """Runs a script; it may print what it likes."""
    status, output = shell(step["text"])
    return f"exit status {status}\n{output}" if status else None


def console(step: dict, _: io.StringIO) -> str | None:
    """Runs a session's commands, one after the other."""
    session = re.split(r"^\$ ", step["text"], flags=re.MULTILINE)
    assert session.pop(0) == "", "a console begins with `$ `"
    for number, part in enumerate(session, 1):
        command, expected = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", part, re.DOTALL).groups()
        status, output = shell(command)
        wanted = step["exit_status"] if number == len(session) else 0
        if status != wanted:
            return f"$ {command}exit status {status}, expected {wanted}\n{output}"
        if wrong := differs(step, expected, output):
            return f"$ {command}{wrong}"
    return None


def toml(step: dict, _: io.StringIO) -> None:
    """Checks a scenario, or keys of one."""
    from scenario_fragments import check

    check(step["text"])


def shell(script: str) -> tuple[int, str]:
    """Runs a script; what it prints and says, and its status."""
    for program in PROGRAMS:
        if program in script and shutil.which(program) is None:
            raise Skip(f"needs {program}")
    if "sudo " in script:
        return live(script.replace("sudo ", ""))
    return bash(script)


def live(script: str) -> tuple[int, str]:
    """Runs a script that makes live runs, by the rule for them."""
    from live_tests import until_quiet, why_not_here

    if os.geteuid() != 0:
        raise Skip("needs root")
    if why := why_not_here():
        raise Skip(why)
    outcome, why = until_quiet(lambda: bash(script), lambda outcome: outcome[0] != 0, Path())
    if why:
        raise Skip(why)
    return outcome


def bash(script: str) -> tuple[int, str]:
    """Runs a script; its status, and what it printed and said."""
    process = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    return process.returncode, process.stdout


def differs(step: dict, expected: str, found: str) -> str | None:
    """Describes the mistake in a printed text, if there is one."""
    from snippets import same

    if same(expected, found, tuple(step["volatile"])):
        return None
    return f"printed:\n{found}\nexpected, with {step['volatile'] or 'nothing'} volatile:\n{expected}"


STEPS = {"save": save, "python": python, "text": text, "sh": sh, "console": console, "toml": toml}

if __name__ == "__main__":
    main()
