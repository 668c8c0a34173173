"""Counts the places to touch: the files outside its own folder that name one of several things of a kind.

    python scripts/places.py [--files] [--check]

Prints a row per kind: the most files of code that name one of its instances, and that instance. `--files` lists them.
`--check` prints only the kinds that exceed their bound, and exits with status 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Places where an addition may have to touch code. Tests and pages are not counted.
CODE = ("crates", "python/baton", "scripts")
#: Of these, what need not be touched for another thing of a kind: published studies, which use what is there;
#: validation against oracles, which is a test, as `fuzz` is; and the text of the reference's pages.
USERS = ("python/baton/reproduce/study_", "scripts/validation/", "scripts/reference/")
SUFFIXES = {".rs": "//", ".py": "#", ".pyi": "#", ".js": "//"}
"""Endings of files of code, and how a comment begins in them."""
PROTO, SIM, BATON = "crates/proto/src/", "crates/sim/src/", "python/baton/"


@dataclass(frozen=True)
class Kind:
    """Something of which there are several, each in a folder or a file of its own."""

    name: str
    bound: int
    """Most files outside an instance's own that may name it."""
    instances: dict[str, tuple[str, ...]]
    """Beginnings of an instance's own paths, by the words that name it, as a pattern without case."""


KINDS = (
    Kind(
        "congestion control",
        3,
        {name: (f"{PROTO}tcp/congestion/{name}",) for name in ("westwood", "vegas", "hybla")},
    ),
    Kind(
        "queue discipline",
        1,
        {
            "codel": (f"{SIM}link/queue/codel", f"{SIM}link/queue/fq_codel"),
            r"\bpie\b": (f"{SIM}link/queue/pie",),
        },
    ),
    Kind("link kind", 1, {"five_?g": (f"{SIM}link/kinds/today",)}),
    # Its own are also the study that reproduces it, and the link budget of a user's own cell.
    # The fourth is `baton plan ldacs1-errors`, a command of its own.
    Kind(
        "link with cells",
        4,
        {
            "ldacs1|l-dacs1": (
                f"{SIM}link/ldacs1",
                f"{BATON}reproduce/",
                f"{BATON}plan/budget",
                f"{BATON}plan/ldacs1",
                f"{BATON}air_traffic/scenario",
            )
        },
    ),
    Kind("shared link", 4, {"dcf": (f"{SIM}link/dcf",)}),
    Kind("channel", 7, {"burst_?loss|gilbert": (f"{SIM}link/channel",)}),
    Kind("remedy at an end", 1, {"eclair": (f"{PROTO}remedies/eclair",), "atcp": (f"{PROTO}remedies/atcp",)}),
    Kind("remedy at a gateway", 2, {"snoop": (f"{PROTO}remedies/snoop", f"{PROTO}gateways/path/snooping")}),
    Kind(
        "mobility protocol",
        3,
        {
            "mobile_?ipv4": (f"{PROTO}mobility/mobile_ipv4", f"{PROTO}wire/mobile_ipv4", f"{SIM}mobility/mobile_ipv4"),
            "mobile_?ipv6": (
                f"{PROTO}mobility/mobile_ipv6",
                f"{PROTO}wire/mobility_header",
                f"{SIM}mobility/mobile_ipv6",
            ),
        },
    ),
    Kind(
        "transport",
        29,
        {
            "aerotp": (
                f"{PROTO}aerotp",
                f"{PROTO}wire/aerotp",
                f"{PROTO}gateways/aerotp",
                f"{PROTO}host/aerotp",
                f"{SIM}transport/aerotp",
                "crates/py/src/aerotp",
                "crates/daemon/src/gateway",
                f"{BATON}aerotp",
            )
        },
    ),
    Kind("importer", 2, {"drive_log": (f"{BATON}trace_import/drive_log",)}),
    Kind("report panel", 1, {"map_svg": (f"{BATON}report/map_svg",), "ladder_svg": (f"{BATON}report/ladder_svg",)}),
    Kind("study", 2, {"study_a": (f"{BATON}reproduce/study_a",), "study_t": (f"{BATON}reproduce/study_t",)}),
)


def main(arguments: list[str]) -> int:
    """Prints the table or what exceeds it; returns the exit status."""
    unknown = set(arguments) - {"--files", "--check"}
    if unknown:
        print(f"{min(unknown)}: unknown option; expected --files or --check", file=sys.stderr)
        return 2
    check, exceeded = "--check" in arguments, False
    if not check:
        print("| kind | files that name one | bound | most named |\n|---|---|---|---|")
    for kind in KINDS:
        word, places = max(
            ((word, named(word, own)) for word, own in kind.instances.items()), key=lambda each: len(each[1])
        )
        exceeds = len(places) > kind.bound
        exceeded |= exceeds
        if check and exceeds:
            print(f"{kind.name}: `{word}` is named in {len(places)} files outside its own, {kind.bound} at the most:")
        elif not check:
            print(f"| {kind.name} | {len(places)} | {kind.bound} | `{word}` |")
        if "--files" in arguments or (check and exceeds):
            print("\n".join(f"    {place}" for place in places))
    return 1 if check and exceeded else 0


def named(word: str, own: tuple[str, ...]) -> list[str]:
    """Returns the files of code that name an instance and are not its own."""
    pattern = re.compile(word, re.IGNORECASE)
    return [place for place, text in code().items() if not place.startswith(own) and pattern.search(text)]


@cache
def code() -> dict[str, str]:
    """Returns every file of code without tests, by its path."""
    return {str(path.relative_to(ROOT)): without_comments(path) for path in sorted(files())}


def without_comments(path: Path) -> str:
    """Returns the text of a file without whole lines of comment: a file that only mentions a thing need not be
    touched."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(SUFFIXES[path.suffix]))


def files() -> Iterator[Path]:
    """Yields the files in which an addition may have to touch code."""
    for folder in CODE:
        for path in (ROOT / folder).rglob("*"):
            parts = {*path.relative_to(ROOT).parts, path.stem}
            is_user = str(path.relative_to(ROOT)).startswith(USERS) or parts & {"tests", "benches", "examples"}
            if path.suffix in SUFFIXES and path != Path(__file__) and not is_user:
                yield path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
