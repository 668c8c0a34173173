#!/usr/bin/env python3
"""Checks the locked crates against deny.toml: with cargo-deny where it is installed, which also looks for known
vulnerabilities if their database can be fetched; elsewhere licences and sources alone, as cargo reports them. Prints
what was not checked."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from baton.toml import loads

ROOT = Path(__file__).resolve().parent.parent
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def main() -> int:
    """Runs the check; returns the exit status."""
    if shutil.which("cargo-deny"):
        return with_cargo_deny()
    allowed = set(loads((ROOT / "deny.toml").read_text(encoding="utf-8"))["licenses"]["allow"])
    described = json.loads(cargo("metadata", "--locked", "--all-features", "--format-version", "1"))
    wrong = [line for package in described["packages"] for line in complaints(package, allowed)]
    print("\n".join(wrong) or f"dependencies: licences and sources of {len(described['packages'])} crates are allowed")
    print("dependencies: cargo-deny is not installed: nobody looked for known vulnerabilities")
    return 1 if wrong else 0


def with_cargo_deny() -> int:
    """Checks everything that cargo-deny can check here."""
    checks = ["licenses", "bans", "sources"]
    if subprocess.run(["cargo", "deny", "fetch", "db"], cwd=ROOT, capture_output=True, check=False).returncode:
        print("dependencies: the database of advisories cannot be fetched: nobody looked for known vulnerabilities")
    else:
        checks.append("advisories")
    return subprocess.run(["cargo", "deny", "check", *checks], cwd=ROOT, check=False).returncode


def complaints(package: dict[str, Any], allowed: set[str]) -> list[str]:
    """Returns the parts of a crate that deny.toml forbids. Crates without a source are the workspace's own."""
    name = f"{package['name']} {package['version']}"
    wrong = []
    if package["source"] not in (None, CRATES_IO):
        wrong.append(f"{name}: comes from {package['source']}; expected crates.io")
    if not permits(package["license"] or "", allowed):
        wrong.append(f"{name}: its licence is {package['license']!r}; deny.toml allows {', '.join(sorted(allowed))}")
    return wrong


def permits(expression: str, allowed: set[str]) -> bool:
    """Returns true if a choice of the SPDX expression is allowed. `/` is an old sign for OR; AND binds closer than
    OR."""
    text = expression.replace("/", " OR ")
    while inner := re.search(r"\(([^()]*)\)", text):
        text = text.replace(inner[0], "yes" if permits(inner[1], allowed) else "no")
    choices = [[term.strip() for term in re.split(r"\bAND\b", choice)] for choice in re.split(r"\bOR\b", text)]
    return any(all(term == "yes" or term in allowed for term in choice) for choice in choices)


def cargo(*arguments: str) -> str:
    """Returns the output of cargo. Raises `CalledProcessError`."""
    return subprocess.run(["cargo", *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
