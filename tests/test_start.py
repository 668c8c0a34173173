"""Start of the command line: a short command does not wait for modules that it does not need."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import zlib
from importlib import metadata
from pathlib import Path

import pytest

SCENARIO = """name = "short"
duration = "1 s"
links.path = { between = ["server", "laptop"], kind = "wired", rate = "4 Mbit/s", delay = "60 ms", queue = "64 kB" }
flows = [{ name = "download", from = "server", to = "laptop" }]
"""
#: Never needed by a command on one run, in a pipe, without a figure to print.
OTHERS = {"matplotlib", "pandas", "plotly", "pyarrow", "pydantic", "rich", "scipy", "typer", "xml"}
OTHERS |= {"baton.live", "baton.compare"}
#: Needed by a run that is live or has recordings, or at a terminal.
SELDOM = {"base64", "bz2", "csv", "gzip", "hashlib", "lzma", "shlex", "shutil", "baton.live_words"}
#: Needed by the report alone.
REPORT = {"numpy", "baton.report"}
#: Notes the modules, the bytes that were compressed at once, the texts that the command compiled, and the threads that
#: are left at the end.
PROBE = """import atexit, builtins, os, sys, zlib
from pathlib import Path
compress, sizes = zlib.compress, []
zlib.compress = lambda raw, level: sizes.append(len(raw)) or compress(raw, level)
atexit.register(lambda: Path("modules").write_text("\\n".join(sys.modules)))
atexit.register(lambda: Path("threads").write_text(" ".join(os.listdir("/proc/self/task"))))
atexit.register(lambda: Path("compressed").write_text(" ".join(map(str, sizes))))
atexit.register(lambda: Path("texts").write_text("\\n".join(texts)))
from baton.cli import main
compiled, texts = compile, []
def noting(text, *rest, **named):
    texts.extend([text] if isinstance(text, str) else [])  # a module without bytecode is compiled from bytes
    return compiled(text, *rest, **named)
builtins.compile = noting
main()
"""
#: Bytes of a column of this scenario's run are fewer, those of plotly's script more.
LARGE = 100_000


def imported(folder: Path, *arguments: str, completes: bool = False) -> tuple[str, set[str]]:
    """Runs a command to its end, and returns its output and the modules that it had imported."""
    shell = {"_BATON_COMPLETE": "bash_complete", "COMP_WORDS": "baton re", "COMP_CWORD": "1"} if completes else {}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        cwd=folder,
        env=os.environ | shell,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, set((folder / "modules").read_text(encoding="utf-8").split("\n"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "short.toml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


def test_a_run_imports_what_its_report_needs(folder: Path) -> None:
    said, modules = imported(folder, "run", "short.toml", "--expect", "flows.download.longest_stall_s < 2")
    assert "holds" in said
    assert (folder / "results/short-1/report.html").exists()
    assert not modules & (OTHERS | SELDOM)


def test_no_annotation_is_compiled(folder: Path) -> None:
    imported(folder, "run", "short.toml")
    of_toml = {"NestedDict", "Flags"}  # the reader of TOML has annotations that are texts
    assert set((folder / "texts").read_text(encoding="utf-8").splitlines()) <= of_toml


@pytest.mark.skipif(os.cpu_count() == 1, reason="numpy starts a thread for each core but the first")
def test_no_thread_waits_for_linear_algebra(folder: Path) -> None:
    imported(folder, "run", "short.toml")
    assert len((folder / "threads").read_text(encoding="utf-8").split()) == 1


def test_a_page_carries_the_drawing_library_as_the_build_packed_it(folder: Path) -> None:
    imported(folder, "run", "short.toml")
    sizes = [int(size) for size in (folder / "compressed").read_text(encoding="utf-8").split()]
    assert sizes
    assert max(sizes) < LARGE
    page = (folder / "results/short-1/report.html").read_text(encoding="utf-8")
    packed = re.search(r'<script type="text/plain" id="plotly">([^<]*)</script>', page)
    assert packed
    plotly = Path(metadata.distribution("plotly").locate_file("plotly/package_data/plotly.min.js"))
    assert zlib.decompress(base64.b64decode(packed[1])) == plotly.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--help"], "Traces that drive links"),
        (["check", "short.toml"], "no mistakes"),
        (["--version"], "0"),
    ],
)
def test_other_commands_import_nothing_of_the_report(folder: Path, arguments: list[str], told: str) -> None:
    said, modules = imported(folder, *arguments)
    assert told in said
    assert not modules & (OTHERS | REPORT)


def test_a_shell_is_told_what_completes_a_word(folder: Path) -> None:
    said, modules = imported(folder, completes=True)
    assert said.split() == ["plain,rerun", "plain,reproduce"]
    assert not modules & (OTHERS | REPORT)
