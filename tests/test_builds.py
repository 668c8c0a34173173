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
