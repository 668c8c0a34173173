"""The pages about the models name tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs" / "models").glob("*.md"))
CLAIM = re.compile(r"`(\w+)`\s+in\s+`([\w./-]+\.(?:rs|py))`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page):
    missing = []
    for name, path in CLAIM.findall(page.read_text(encoding="utf-8")):
        file = ROOT / path
        if not file.is_file() or not re.search(rf"\b(fn|def) {name}\(", file.read_text(encoding="utf-8")):
            missing.append(f"{name} in {path}")
    assert not missing, "named in the page, but not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_has_its_parts(page):
    if page.name == "README.md":
        listed = re.findall(r"\]\((\w+\.md)\)", page.read_text(encoding="utf-8"))
        assert sorted(listed) == [other.name for other in PAGES if other.name != "README.md"]
    else:
        parts = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        wanted = ["Scope and limitations", "Usage", "Parameters", "Validation"]
        assert [part for part in parts if part in wanted] == wanted
