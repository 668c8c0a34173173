"""Tests of the surroundings of the code: the check of tools, and the lock files."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import check_dependencies

ROOT = Path(__file__).resolve().parent.parent


def check_tools(folder: Path, **programs: str) -> subprocess.CompletedProcess:
    """Runs the check with nothing on the path but these shell scripts."""
    for name, script in programs.items():
        program = folder / name.replace("_", ".")
        program.write_text(f"#!{shutil.which('bash')}\n{script}\n")
        program.chmod(0o755)
    command = [shutil.which("bash"), str(ROOT / "scripts" / "check-tools.sh")]
    return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


RUST = {"cargo": "exit 0", "rustc": "echo 'rustc 1.95.0 (abc 2026-01-01)'", "cc": "exit 0"}
# The check asks an interpreter for its version with `print`, whether it is new enough with `exit`, and imports venv.
PYTHON = '[[ "$2" == *print* ]] && echo 3.12; exit 0'
OLD_PYTHON = '[[ "$2" == *print* ]] && { echo 3.8; exit 0; }; exit 1'
NO_VENV = '[[ "$2" == *print* ]] && echo 3.12; [[ "$2" != *venv* ]]'


def test_a_machine_with_everything_passes_and_gets_its_python(tmp_path):
    process = check_tools(tmp_path, **RUST, python3=PYTHON)
    assert (process.returncode, process.stdout, process.stderr) == (0, "python3\n", "")


def test_a_newer_python_beside_an_old_one_is_found(tmp_path):
    process = check_tools(tmp_path, **RUST, python3=OLD_PYTHON, python3_12=PYTHON)
    assert process.stdout == "python3.12\n"


@pytest.mark.parametrize(
    ("programs", "parts"),
    [
        ({}, ["cargo is not installed", "rustup.rs", "no C compiler", "apt install gcc", "apt install python3"]),
        ({**RUST, "rustc": "echo 'rustc 1.70.0 (abc)'"}, ["Rust 1.70.0 is too old", "rustup update"]),
        ({**RUST, "rustc": "echo no default toolchain >&2; exit 1"}, ["rustc does not run: no default toolchain"]),
        ({**RUST, "python3": OLD_PYTHON}, ["no Python 3.10 or newer", "python3 is 3.8"]),
        ({**RUST, "python3": NO_VENV}, ["no venv module", "apt install python3-venv"]),
    ],
)
def test_what_is_missing_is_named_with_how_to_get_it(tmp_path, programs, parts):
    process = check_tools(tmp_path, **programs)
    assert process.returncode == 1
    assert process.stdout == ""
    for part in parts:
        assert part in process.stderr


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.lock")), ids=lambda path: path.name)
def test_lock_files_pin_version_and_hash_and_name_no_place(lock):
    text = lock.read_text()
    assert not re.search(r"://|^\s*-(?!-hash)|\bfile:|@", text, re.MULTILINE)
    pins = re.split(r"\n(?=\S)", text.strip())
    for pin in pins:
        assert re.match(r"[\w.-]+==[\w.]+ ", pin)
        assert "--hash=sha256:" in pin


def test_lock_files_agree_and_hold_what_the_project_asks_for():
    pins = {
        name: set(re.findall(r"^([\w.-]+==\S+)", (ROOT / "requirements" / f"{name}.lock").read_text(), re.MULTILINE))
        for name in ("run", "build", "dev")
    }
    assert pins["run"] < pins["build"] < pins["dev"]
    asked = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE)
    locked = {pin.split("==")[0] for pin in pins["run"]}
    assert set(re.findall(r'"([\w-]+)>=', asked[1])) <= locked


@pytest.mark.parametrize(
    ("expression", "permitted"),
    [
        # Expressions that crates have, by the rules of the SPDX specification, annex D.
        ("MIT OR Apache-2.0", True),
        ("MIT/Apache-2.0", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT AND Zlib", False),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("", False),
    ],
)
def test_a_licence_is_allowed_if_one_of_its_choices_is(expression, permitted):
    assert check_dependencies.permits(expression, {"MIT", "Apache-2.0", "Unicode-3.0"}) is permitted


def test_a_crate_from_elsewhere_is_refused():
    crate = {"name": "x", "version": "1.0.0", "license": "MIT", "source": "git+https://example.org/x"}
    (complaint,) = check_dependencies.complaints(crate, {"MIT"})
    assert complaint == "x 1.0.0: comes from git+https://example.org/x; expected crates.io"
