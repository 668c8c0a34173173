"""The places to touch, counted in a tree made here."""

from __future__ import annotations

import pytest

import places


@pytest.fixture(autouse=True)
def tree(tmp_path, monkeypatch):
    """Vegas in its own file, named in code at one place, in a comment at another, and in a test."""
    files = {
        "crates/proto/src/tcp/congestion/vegas.rs": "struct Vegas;",
        "crates/proto/src/tcp/congestion/mod.rs": "mod vegas;",
        "crates/sim/src/world.rs": "    // As Vegas does.\nfn world() {}",
        "crates/sim/src/tests/vegas.rs": "use vegas;",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    vegas = places.Kind("control", 1, {"vegas": ("crates/proto/src/tcp/congestion/vegas",)})
    monkeypatch.setattr(places, "ROOT", tmp_path)
    monkeypatch.setattr(places, "KINDS", (vegas,))
    places.code.cache_clear()
    yield tmp_path
    places.code.cache_clear()


def test_code_that_names_a_thing_counts_and_comments_and_tests_do_not(capsys):
    assert places.main(["--files"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| control | 1 | 1 | `vegas` |",
        "    crates/proto/src/tcp/congestion/mod.rs",
    ]


def test_a_place_more_than_the_bound_fails(tree, capsys):
    assert places.main(["--check"]) == 0
    (tree / "crates/sim/src/flow.rs").write_text("let control = Vegas::new();")
    places.code.cache_clear()
    assert places.main(["--check"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("control: `vegas` is named in 2 files outside its own, 1 at the most:\n")
    assert "    crates/sim/src/flow.rs\n" in out
