"""Every command and every snippet of the documentation runs, and prints what its page says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from snippets import PAGES, ROOT, Snippet, read

# Some pages make live runs, and all of them run beside each other.
pytestmark = pytest.mark.quiet

# A page is a session of its own, but those of the tutorial are one, in their order; so are those of a scenario's
# tables, which only hold scenarios.
JOINED = (ROOT / "docs" / "tutorial", ROOT / "docs" / "reference" / "scenario")
SESSIONS: dict[Path, list[Snippet]] = {}
for page in PAGES:
    SESSIONS.setdefault(page.parent if page.parent in JOINED else page, []).extend(read(page))
SNIPPETS = [(session, index) for session, snippets in SESSIONS.items() for index in range(len(snippets))]


def run_session(session: Path, folder: Path) -> dict[int, dict[str, str]]:
    """Runs a session's blocks in a folder of their own; what came of each, by its number."""
    numbered = [(index, each) for index, each in enumerate(SESSIONS[session]) if each.do != "not run"]
    # Files of a reader who follows the page in the repository.
    (folder / ".venv").symlink_to(sys.prefix)
    for name in ("examples", "scenarios", "studies"):
        (folder / name).symlink_to(ROOT / name)
    built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    path = os.pathsep.join([str(built), str(Path(sys.executable).parent), os.environ["PATH"]])
    process = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "run_snippets.py")],
        input=json.dumps([each.as_json() for _, each in numbered]),
        env={**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "MPLBACKEND": "agg"},
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if process.returncode:
        return {index: {"wrong": process.stdout + process.stderr} for index, _ in numbered}
    outcomes = json.loads(process.stdout)
    if process.stderr:
        outcomes[-1] = {"wrong": f"the page's programs said:\n{process.stderr}"}
    return {index: outcome for (index, _), outcome in zip(numbered, outcomes, strict=True)}


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """Runs each session that is asked for, and returns the outcomes. Live ones mostly wait: they go first, and beside
    the others."""
    asked = {item.callspec.params["place"][0] for item in request.session.items if item.fspath == request.fspath}

    def waits(session: Path) -> bool:
        return any("sudo " in snippet.text for snippet in SESSIONS[session] if snippet.do != "not run")

    with ThreadPoolExecutor(max_workers=5) as pool:
        running: dict[Path, Future[dict[int, dict[str, str]]]] = {}
        for session in sorted(asked, key=lambda session: (not waits(session), session)):
            running[session] = pool.submit(run_session, session, tmp_path_factory.mktemp("session"))
        yield lambda session, index: running[session].result()[index]


def described(place: tuple[Path, int]) -> str:
    session, index = place
    return f"{SESSIONS[session][index].name}-{SESSIONS[session][index].do}"


@pytest.mark.parametrize("place", SNIPPETS, ids=described)
def test_a_snippet_does_what_its_page_says(place, outcomes):
    session, index = place
    snippet = SESSIONS[session][index]
    if snippet.do == "not run":
        pytest.skip(f"{snippet.name}: not run: {snippet.reason}")
    outcome = outcomes(session, index)
    if "skip" in outcome:
        pytest.skip(f"{snippet.name}: {outcome['skip']}")
    assert not outcome["wrong"], f"{snippet.name}\n{snippet.text}\n{outcome['wrong']}"
