"""CITATION.cff is valid as far as the format's own rules go, and names the version that is built."""

import re
from pathlib import Path

from baton import version

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def value(key):
    """A plain value at the top of the file."""
    return re.search(rf'^{key}: "?([^"\n]+)"?$', TEXT, re.MULTILINE).group(1)


def test_the_versions_agree():
    cargo = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    assert value("version") == re.search(r'^version = "(.*)"$', cargo, re.MULTILINE).group(1) == version.installed()


def test_it_has_what_the_format_requires():
    # https://github.com/citation-file-format, schema guide 1.2.0: cff-version, message, title, authors.
    assert value("cff-version") == "1.2.0"
    assert value("message")
    assert value("title").startswith("Baton")
    assert value("type") == "software"
    assert re.search(r'^authors:\n  - name: "The Baton developers"$', TEXT, re.MULTILINE)
