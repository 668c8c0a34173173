"""Tests of how the blocks of a page are understood: the test of the documentation is only as good as this."""

from __future__ import annotations

import pytest

import snippets
from snippets import ROOT, read, same


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Reads a page of this text."""
    monkeypatch.setattr(snippets, "ROOT", tmp_path)

    def write(text):
        path = tmp_path / "page.md"
        path.write_text(text)
        return read(path)

    return write


def test_a_block_without_a_language_is_refused_with_its_line(page):
    with pytest.raises(ValueError, match=r"page\.md:3: a block in `` is not tested; expected console, python"):
        page("Text\n\n```\nls\n```\n")


def test_a_paragraph_names_the_file_and_comments_say_the_rest(page):
    saved, run, left = page(
        "Now save this as `a/b.toml`, please:\n```toml\nx = 1\n```\n"
        "<!-- volatile: 0.5 | 2,000 -->\n<!-- exit 3 -->\n```console\n$ a\n```\n"
        "<!-- not run: no reason -->\n```yaml\na: b\n```\n"
    )
    assert (saved.do, saved.save_as, saved.text) == ("save", "a/b.toml", "x = 1\n")
    assert (run.do, run.exit_status, run.volatile) == ("console", 3, ("0.5", "2,000"))
    assert (left.do, left.reason) == ("not run", "no reason")


def test_a_comment_holds_for_the_block_right_below_it_only(page):
    first, second = page("<!-- not run: so -->\n\nText.\n```sh\nls\n```\n```sh\nls\n```\n")
    assert (first.do, second.do) == ("sh", "sh")


def test_only_volatile_numbers_may_differ():
    assert same("took 0.5 s, 7 packets\n", "took 12.25 s, 7 packets\n\n", ("0.5",))
    assert not same("took 0.5 s, 7 packets\n", "took 0.5 s, 8 packets\n", ("0.5",))
    assert not same("took 0.5 s\n", "took 0.5 s\nand more\n", ("0.5",))


def test_the_pages_are_found():
    names = {page.relative_to(ROOT).as_posix() for page in snippets.PAGES}
    assert names > {"README.md", "docs/live.md", "docs/how-to/write-a-scenario.md", "docs/models/wired.md"}
