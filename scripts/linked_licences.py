"""Prints the licences of a package of this workspace, and of all crates that are linked into it.

    python scripts/linked_licences.py PACKAGE

Licences such as MIT's and BSD's want their text to go with a binary. A crate without a file of its licence is named
with the licence that its manifest tells.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ("LICENSE*", "LICENCE*", "COPYING*", "COPYRIGHT*", "NOTICE*", "UNLICENSE*")


def main(package: str) -> None:
    """Prints the licences, the project's own first."""
    print("Baton is licensed under MIT or Apache-2.0, at the user's choice.\n")
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        print((ROOT / name).read_text(encoding="utf-8"))
    # Many crates have the same text.
    owners: dict[str, list[str]] = {}
    for crate in linked(package):
        title = f"{crate['name']} {crate['version']} ({crate['license']})"
        for text in texts(crate) or [""]:
            owners.setdefault(text, []).append(title)
    for text, titles in owners.items():
        print(f"{'-' * 80}\n" + "\n".join(titles) + f"\n\n{text}")


def linked(package: str) -> list[dict[str, Any]]:
    """Returns the crates of others that are linked, as cargo describes them."""
    tree = cargo("tree", "--locked", "--package", package, "--edges", "normal", "--prefix", "none", "--format", "{p}")
    names = {tuple(line.split(" ")[:2]) for line in tree.splitlines() if line}
    described = json.loads(cargo("metadata", "--locked", "--format-version", "1"))["packages"]
    others = [crate for crate in described if crate["source"]]
    return [crate for crate in others if (crate["name"], f"v{crate['version']}") in names]


def texts(crate: dict[str, Any]) -> list[str]:
    """Returns the texts of licences that come with a crate."""
    folder = Path(crate["manifest_path"]).parent
    files = sorted({file for pattern in TEXTS for file in folder.glob(pattern) if file.is_file()})
    return [file.read_text(encoding="utf-8", errors="replace").strip() for file in files]


def cargo(*arguments: str) -> str:
    """Returns what cargo prints. Raises `CalledProcessError`."""
    return subprocess.run(["cargo", *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout


if __name__ == "__main__":
    main(sys.argv[1])
