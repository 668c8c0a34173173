"""Counts the methods of a node that the laboratory calls while a world runs.

    python scripts/node_calls.py [--check]

Prints them with the files that call them: those that drive a node, those that applications call, and those by which
probes only look at it. `--check` prints only what exceeds the bound, and exits with status 1 if something does.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOST = ROOT / "crates/proto/src/host"
LABORATORY = ROOT / "crates/sim/src"
#: Files that make a world, before anything happens in it.
SET_UP = (
    "mobility/",
    "world/aerotp_gateways.rs",
    "world/dtn_gateways.rs",
    "world/paths.rs",
    "world/build.rs",
    "world/gateways.rs",
    "world/handover/build.rs",
    "world/ingress_filters.rs",
    "world/notifiers.rs",
    "world/ports/build.rs",
    "world/wires.rs",
)
#: Files in which the methods that applications call are written.
APPLICATIONS = ("transports.rs", "aerotp/on_host.rs", "tp_plus_plus/on_host.rs")
#: Most methods that may drive a node.
BOUND = 21

METHOD = re.compile(r"^ {4}pub (?:const )?fn (\w+)(?:<[^(]*>)?\(\s*(&mut self|&self|)", re.MULTILINE)
CALL = re.compile(r"\bhost(?:\(\)|\.host)?\s*\.\s*(\w+)\s*(?:::<[^>]*>)?\(")


def main(arguments: list[str]) -> int:
    """Prints the methods or the excess; returns the exit status."""
    if set(arguments) - {"--check"}:
        print(__doc__, file=sys.stderr)
        return 2
    drives, applications, looks = calls()
    if "--check" in arguments:
        if len(drives) > BOUND:
            print(f"the laboratory drives a node by {len(drives)} methods, {BOUND} at the most: {', '.join(drives)}")
        return int(len(drives) > BOUND)
    titles = {"that drive a node": drives, "that applications call": applications, "that only look at it": looks}
    for title, found in titles.items():
        print(f"{len(found)} methods {title}:")
        for method, files in found.items():
            print(f"    {method}: {', '.join(files)}")
    return 0


Calls = dict[str, list[str]]


def calls() -> tuple[Calls, Calls, Calls]:
    """Returns the methods that drive a node, those that applications call and those that only look, each with its
    callers."""
    of_applications = {name for file in APPLICATIONS for name, _ in METHOD.findall((HOST / file).read_text("utf-8"))}
    methods = {
        name: receiver for file in HOST.rglob("*.rs") if "tests" not in file.parts for name, receiver in of_host(file)
    }
    drives, applications, looks = Calls(), Calls(), Calls()
    for path in sorted(LABORATORY.rglob("*.rs")):
        file = str(path.relative_to(LABORATORY))
        if "tests" in path.relative_to(LABORATORY).parts or path.stem == "tests" or file.startswith(SET_UP):
            continue
        for name in sorted(set(CALL.findall(path.read_text("utf-8"))) & methods.keys()):
            only_looks = methods[name] == "&self"
            kind = applications if name in of_applications else looks if only_looks else drives
            kind.setdefault(name, []).append(file)
    return drives, applications, looks


def of_host(file: Path) -> list[tuple[str, str]]:
    """Returns the public methods of a host that a file has, each with how it takes the host."""
    blocks = re.split(r"^impl ", file.read_text("utf-8"), flags=re.MULTILINE)
    return [method for block in blocks if block.startswith("Host {") for method in METHOD.findall(block)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
