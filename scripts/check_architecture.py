"""Checks the rules of the crates: their imports, and that `proto` and `sim` know neither clock nor chance.

    python scripts/check_architecture.py [ROOT]

Prints one line per violation (file, line, rule) and exits with status 1 if there is one.

Rules:
- Imports run one way: py → sim → proto, pcapng, quic, quic → proto, live → sim, proto, linux, path → proto, and
  daemon → proto, linux, path, pcapng; of `proto`, `path` takes `time` and `rate` alone.
- Inside `proto`, a module imports itself and the foundation (`wire`, `fec`, `time`, `rate`, `packet`, `interface`,
  `crosslayer`); `host`, `gateways`, `testing` and `lib` import everything, and `mobility` imports `host`, whose layers
  its agents are.
- `batond`, the binary of `daemon`, links neither Arrow nor Parquet, nor `sim`.
- `proto`, `quic`, `sim` and `path` read no wall clock, hold no unordered map (its order differs from run to run), draw
  from no global random source, and print nothing outside tests. `proto`, `quic` and `path` open no file and no socket.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# Dependencies that each crate may have, of the workspace's own crates.
CRATE_IMPORTS = {
    "proto": set(),
    "pcapng": set(),
    "quic": {"proto"},
    "sim": {"pcapng", "proto", "quic"},
    "linux": set(),
    "live": {"linux", "proto", "sim"},
    "path": {"proto"},
    "daemon": {"linux", "path", "pcapng", "proto"},
    "py": {"proto", "sim"},
}
FOUNDATION = {"wire", "fec", "time", "rate", "packet", "interface", "crosslayer"}
IMPORTS_EVERYTHING = {"gateways", "host", "lib", "testing"}
# Imports that a module may have beside the foundation: the agents of mobility are layers of a host.
SIBLINGS = {"mobility": {"host"}}

# Crates that an operator's binary does not link, directly or not.
NOT_IN_DAEMON = re.compile(r"arrow\b|arrow-|parquet\b|baton-sim\b")

# Words that may not stand in the pure crates, tests included.
IMPURE = {
    r"\bInstant::now\b": "reads a wall clock",
    r"\bSystemTime\b": "reads a wall clock",
    r"\bthread::sleep\b": "waits for a wall clock",
    r"\bHashMap\b": "unordered map: take a Vec or a BTreeMap",
    r"\bHashSet\b": "unordered set: take a Vec or a BTreeSet",
    r"\bthread_rng\b": "global random source",
    r"\brand::rng\b": "global random source",
}
# Files that give quinn-proto the types of time that it asks for; no result depends on their values.
PERMITTED = {("quic", "stop_watch.rs"): {r"\bInstant::now\b"}, ("quic", "seeded.rs"): {r"\bSystemTime\b"}}
# Allowed in tests, which may say why they skip.
PRINTING = {r"\be?print(ln)?!": "prints", r"\bdbg!": "prints"}
# Files and sockets are for `sim` (files only) and `live`.
INPUT_OUTPUT = {
    "proto": {r"\bstd::(fs|net::(Tcp|Udp)|process|env)\b": "input or output in proto"},
    "quic": {r"\bstd::(fs|net::(Tcp|Udp)|process|env)\b": "input or output in quic"},
    "path": {
        r"\bstd::(fs|net::(Tcp|Udp)|process|env)\b": "input or output in path",
        r"\bbaton_proto::(?!(time|rate)\b)": "of proto, path may import time and rate alone",
    },
    "sim": {r"\bstd::(net::(Tcp|Udp)|process)\b": "sockets or processes in sim"},
}

STRINGS_AND_COMMENTS = re.compile(
    r"""
      //[^\n]*
    | /\*.*?\*/
    | r(?P<hashes>\#*)".*?"(?P=hashes)
    | "(?:\\.|[^"\\])*"
    | '(?:\\[^\n]+?|[^'\\\n])'
    """,
    re.VERBOSE | re.DOTALL,
)


def code_only(text: str) -> str:
    """Returns the text with comments and literals blanked, its lines kept."""
    return STRINGS_AND_COMMENTS.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def without_tests(code: str) -> str:
    """Returns code up to its test module, which by the rules of the house ends the file."""
    return re.split(r"#\[cfg\((?:test|all\(test)[^\]]*\]\s*mod \w+ \{", code, maxsplit=1)[0]


def is_test_file(path: Path) -> bool:
    """Returns true if a file holds only tests."""
    return path.stem in {"tests", "test_util"} or "tests" in path.parts


def imported_modules(code: str, prefix: str) -> Iterator[tuple[int, str]]:
    """Yields offset and first segment of every path that begins with `prefix::`, braces resolved."""
    for found in re.finditer(rf"\b{prefix}::(?:(\w+)|\{{)", code):
        if found.group(1):
            yield found.start(), found.group(1)
        else:
            for name in heads_of_group(code[found.end() :]):
                yield found.start(), name


def heads_of_group(rest: str) -> Iterator[str]:
    """Yields first segments of a use group whose opening brace has been read."""
    depth, expects_head = 1, True
    for found in re.finditer(r"[{},]|\w+|::|[^\s\w]", rest):
        token = found.group()
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if depth == 0:
                return
        elif token == "," and depth == 1:
            expects_head = True
        elif expects_head and depth == 1 and token.isidentifier():
            expects_head = False
            yield token


def line_of(code: str, offset: int) -> int:
    """Returns the line number, from 1, of an offset."""
    return code.count("\n", 0, offset) + 1


def check_words(code: str, words: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yields line and reason of every forbidden word."""
    for pattern, reason in words.items():
        for found in re.finditer(pattern, code):
            yield line_of(code, found.start()), f"`{found.group()}`: {reason}"


def check_file(crate: str, path: Path, inside: Path) -> Iterator[tuple[int, str]]:
    """Yields line and reason of every violation in one source file; `inside` is its path below `src`."""
    code = code_only(path.read_text(encoding="utf-8"))
    for other in CRATE_IMPORTS.keys() - CRATE_IMPORTS[crate] - {crate}:
        for found in re.finditer(rf"\bbaton_{other}\b", code):
            yield line_of(code, found.start()), f"{crate} may not import {other}"
    if crate not in INPUT_OUTPUT:
        return
    shipped = "" if is_test_file(inside) else without_tests(code)
    permitted = PERMITTED.get((crate, str(inside)), set())
    yield from check_words(code, {word: why for word, why in IMPURE.items() if word not in permitted})
    yield from check_words(shipped, PRINTING | INPUT_OUTPUT[crate])
    module = Path(inside.parts[0]).stem
    if crate == "proto" and module not in IMPORTS_EVERYTHING:
        root_by_super = "::".join(["super"] * (len(inside.parts) - (inside.name == "mod.rs")))
        for offset, name in imported_modules(shipped, rf"(?:crate|(?<!super::){root_by_super})"):
            if name not in FOUNDATION | {module} | SIBLINGS.get(module, set()) and name.islower():
                yield line_of(code, offset), f"{module} may not import its sibling {name}"


def check_manifest(crate: str, path: Path) -> Iterator[tuple[int, str]]:
    """Yields line and reason of every dependency on a crate that may not be imported."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = re.match(r"baton-(\w+)", line)
        if found and found.group(1) not in CRATE_IMPORTS[crate]:
            yield number, f"{crate} may not depend on {found.group(1)}"


def check(root: Path) -> list[str]:
    """Returns every violation below `root`, as `file:line: reason`."""
    violations = []
    for crate in CRATE_IMPORTS:
        folder = root / "crates" / crate
        for path in [folder / "Cargo.toml", *sorted((folder / "src").rglob("*.rs"))]:
            if path.suffix == ".toml":
                found = check_manifest(crate, path)
            else:
                found = check_file(crate, path, path.relative_to(folder / "src"))
            violations += [f"{path.relative_to(root)}:{line}: {reason}" for line, reason in sorted(found)]
    return violations


def tree(root: Path, package: str) -> list[str]:
    """Returns the crates that a package is built of, by cargo. Raises `CalledProcessError`."""
    command = ["cargo", "tree", "--locked", "--package", package, "--edges", "normal,build", "--prefix", "none"]
    return subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()


def check_daemon(crates: list[str]) -> list[str]:
    """Returns every crate in a tree of dependencies that an operator's binary must not link."""
    found = sorted({line.split(" ")[0] for line in crates if NOT_IN_DAEMON.match(line)})
    return [f"crates/daemon/Cargo.toml: batond links {name}: `cargo tree -p baton-daemon -i {name}`" for name in found]


def main() -> int:
    """Checks the project around this file, or the folder given."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    violations = check(root) + check_daemon(tree(root, "baton-daemon"))
    for violation in violations:
        print(violation, file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
