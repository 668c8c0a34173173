"""The check of the crates' rules finds what it is there to find, and nothing in the project."""

from pathlib import Path

import pytest

import check_architecture

ROOT = Path(__file__).resolve().parent.parent


def project(root: Path, **files: str) -> Path:
    """A workspace of empty crates and the given files (`proto__tcp__mod` is crates/proto/src/tcp/mod.rs)."""
    for crate in check_architecture.CRATE_IMPORTS:
        (root / "crates" / crate / "src").mkdir(parents=True)
        (root / "crates" / crate / "Cargo.toml").write_text("[dependencies]\n")
    for name, text in files.items():
        crate, *parts = name.split("__")
        path = root.joinpath("crates", crate, "src", *parts).with_suffix(".rs")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_the_project_keeps_its_rules():
    assert check_architecture.check(ROOT) == []


@pytest.mark.parametrize(
    ("file", "text", "violation"),
    [
        ("proto__a", "use baton_sim::kernel;", "proto may not import sim"),
        ("sim__a", "fn f() { baton_live::run() }", "sim may not import live"),
        ("live__a", "use baton_py::x;", "live may not import py"),
        ("proto__tcp__mod", "use crate::mobility::Agent;", "tcp may not import its sibling mobility"),
        ("proto__tcp__mod", "use super::mobility::Agent;", "tcp may not import its sibling mobility"),
        ("proto__tcp__rtt", "use super::super::aerotp;", "tcp may not import its sibling aerotp"),
        (
            "proto__remedies__a",
            "use crate::{time::Instant, tcp::{self, profile}};",
            "remedies may not import its sibling tcp",
        ),
        ("proto__wire__mod", "use crate::tcp::State;", "wire may not import its sibling tcp"),
        ("proto__a", "let now = std::time::Instant::now();", "reads a wall clock"),
        ("sim__a", "use std::time::SystemTime;", "reads a wall clock"),
        ("sim__a", "use std::collections::{BTreeMap, HashMap};", "unordered map"),
        ("sim__a", "let s: HashSet<u8>;", "unordered set"),
        ("sim__a", "let x = rand::rng();", "global random source"),
        ("sim__a", "let x = rand::thread_rng();", "global random source"),
        ("proto__a", 'fn f() { println!("x") }', "prints"),
        ("sim__a", 'fn f() { eprintln!("x") }', "prints"),
        ("proto__a", "use std::fs::File;", "input or output in proto"),
        ("sim__a__tests", "let m = HashMap::new();", "unordered map"),
    ],
)
def test_a_violation_is_found(tmp_path, file, text, violation):
    root = project(tmp_path, **{file: f"//! A file.\n{text}\n"})
    (found,) = check_architecture.check(root)
    assert violation in found
    assert ":2: " in found


def test_a_dependency_in_a_manifest_is_found(tmp_path):
    root = project(tmp_path)
    (root / "crates/sim/Cargo.toml").write_text("[dependencies]\nbaton-proto.workspace = true\nbaton-live = {}\n")
    assert check_architecture.check(root) == ["crates/sim/Cargo.toml:3: sim may not depend on live"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "proto__tcp__mod",
            "use crate::wire::tcp::Flags; use crate::time::Instant; use crate::tcp::rtt::Estimator;",
        ),
        ("proto__tcp__rtt", "use super::mobility_free::X; use super::super::time::Instant;"),
        ("proto__host", "use crate::{tcp::Connection, mobility::Agent};"),
        ("proto__lib", "pub use crate::tcp::Connection;"),
        ("sim__a", "use baton_proto::time::Instant; // never SystemTime or HashMap"),
        ("sim__a", 'let text = "HashMap"; let quote = \'"\'; /* println!("x") */'),
        ("sim__a", 'let text = r#"a "HashMap" b"#;'),
        ("sim__a", '#[cfg(test)]\nmod tests {\n    fn f() { eprintln!("skipped: no tshark") }\n}'),
        ("sim__a__tests", 'fn f() { eprintln!("skipped: no tshark") }'),
        ("sim__a", 'fn f(out: &mut W) { writeln!(out, "x") }'),
        ("live__main", "let now = std::time::Instant::now(); let m = HashMap::new();"),
    ],
)
def test_what_is_allowed_passes(tmp_path, file, text):
    assert check_architecture.check(project(tmp_path, **{file: text})) == []


def test_code_after_a_declared_test_module_is_still_read(tmp_path):
    text = '#[cfg(test)]\nmod tests;\n\nfn f() {\n    println!("x")\n}\n'
    (found,) = check_architecture.check(project(tmp_path, sim__a=text))
    assert found.startswith("crates/sim/src/a.rs:5: ")


def test_batond_is_built_of_what_an_operator_needs():
    tree = check_architecture.tree(ROOT, "baton-daemon")
    assert any(line.startswith("baton-proto ") for line in tree)
    assert check_architecture.check_daemon(tree) == []
    heavy = ["arrow-array v60.1.0", "parquet v60.1.0", "baton-sim v0.1.0 (path)"]
    wrong = check_architecture.check_daemon([*tree, *heavy])
    assert [line.split(": ")[1] for line in wrong] == [
        "batond links arrow-array",
        "batond links baton-sim",
        "batond links parquet",
    ]


def test_the_emulator_would_be_too_heavy_for_an_operator():
    """So the names in the rule are those of today's crates."""
    wrong = " ".join(check_architecture.check_daemon(check_architecture.tree(ROOT, "baton-live")))
    assert all(f"links {name}" in wrong for name in ("arrow-array", "parquet", "baton-sim"))
