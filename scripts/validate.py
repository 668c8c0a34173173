"""Validates the models. Without arguments all of them: writes `docs/validation.md`, the pages of its folder and the
figures of the models' pages, and runs the simulated half of the kept fidelity again. With names of cases: prints their
rows. With `--studies`: writes the page of the published studies alone. With the folder of a `baton fidelity`: keeps its
result in `docs`, and writes the pages on it.

    .venv/bin/python scripts/validate.py [CASE ... | --studies | --fidelity DIR]
"""

from __future__ import annotations

import datetime
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from baton import version
from baton.reproduce import STUDIES, reproduce
from validation import CASES, SECTIONS, kernel_live, prose
from validation.page import area, case, file, overview, studies
from validation.row import Row

#: Page of the published studies, in the folder of validation.
STUDIES_PAGE = "published-studies.md"
DOCS = Path(__file__).resolve().parents[1] / "docs"


def main(names: list[str]) -> int:
    """Runs it; returns the exit status."""
    if names[:1] == ["--fidelity"] and len(names) == 2:
        kernel_live.keep(Path(names[1]), DOCS)
        return 0
    if names == ["--studies"]:
        (DOCS / kernel_live.FOLDER / STUDIES_PAGE).write_text(published_studies(), encoding="utf-8")
        return 0
    unknown = [name for name in names if name not in CASES]
    if unknown:
        print(f"{unknown[0]}: no such case; expected one of {', '.join(CASES)}", file=sys.stderr)
        return 2
    if names:
        for name in names:
            print(case(name, list(CASES[name]())))
        return 0
    write()
    return 0


def write() -> None:
    """Writes the pages and the figures."""
    from validation import figures

    with ThreadPoolExecutor() as pool:
        rows = dict(zip(CASES, pool.map(rows_of, CASES), strict=True))
    kernel_live.simulate_anew(DOCS)
    sections = {title: {name: rows[name] for name in cases} for title, cases in SECTIONS.items()}
    pages = {
        **{file(title): area(title, cases) for title, cases in sections.items()},
        **kernel_live.pages(DOCS),
        STUDIES_PAGE: published_studies(),
    }
    today = datetime.date.today().isoformat()
    (DOCS / "validation.md").write_text(overview(sections, today, version.installed()), encoding="utf-8")
    folder = DOCS / kernel_live.FOLDER
    for old in folder.glob("*.md"):
        old.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    figures.write(DOCS / "models" / "figures")


def published_studies() -> str:
    """Reproduces all studies, and returns their page; raises `AssertionError` if a study's own page has other
    numbers."""
    results = {study: found.checks for study, found in reproduce([]).items()}
    for study, checks in results.items():
        text = (STUDIES / study / "README.md").read_text(encoding="utf-8")
        stale = list(prose.wrong(text, {check.id: check.measured for check in checks}))
        assert not stale, f"studies/{study}/README.md: {'; '.join(stale)}"
    return studies(results)


def rows_of(name: str) -> list[Row]:
    """Returns all rows of a case."""
    rows = list(CASES[name]())
    print(f"{name}: {sum(row.agrees for row in rows)} of {len(rows)} agree", file=sys.stderr)
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
