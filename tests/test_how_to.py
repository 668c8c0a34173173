"""The programs in the how-to pages run, and print what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).resolve().parent.parent / "docs" / "how-to").glob("*.md"))
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_programs_of_a_page_print_what_it_says(page, tmp_path):
    """The blocks of a page are one program; its text blocks, one after the other, are what it prints."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    program = "\n".join(text for kind, text in blocks if kind == "python")
    printed = "".join(text for kind, text in blocks if kind == "text")
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert run.stderr == ""
    assert run.stdout == printed
