"""The check of the builds finds what it is there to find, and nothing in the project."""

import shutil

import pytest

import check_builds

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")


@needs_cargo
def test_the_project_keeps_its_rules(capsys):
    assert check_builds.main() == 0
    assert capsys.readouterr().err == ""


def test_a_crate_with_other_features_in_another_call_is_named():
    calls = [{("syn v3.0.9", "full"), ("libc v0.2.1", "std")}, {("syn v3.0.9", ""), ("libc v0.2.1", "std")}]
    assert check_builds.compiled_twice("make run", calls) == [
        "make run compiles syn v3.0.9 once for each of these features: none; full"
    ]


def test_two_versions_are_two_crates():
    assert check_builds.compiled_twice("make run", [{("syn v2.0.119", ""), ("syn v3.0.9", "full")}]) == []


def test_what_writes_tables_is_not_for_a_daemon():
    assert check_builds.too_heavy({("parquet v60.1.0", "arrow"), ("crc v3.4.0", "")}) == [
        "baton-proto links parquet v60.1.0; a daemon must not"
    ]


@needs_cargo
def test_the_laboratory_would_be_too_heavy():
    """So the names in the rule are those of today's crates."""
    linked = check_builds.crates(("--package", "baton-sim", "--edges", "normal"))
    heavy = " ".join(check_builds.too_heavy(linked))
    assert all(name in heavy for name in check_builds.LABORATORY)
