"""The fenced blocks of the documentation, and what a test is to do with each.

A page, or the tutorial as a whole, is a session in one folder, from its first block to its last. What a block is, its
language says:

`python`   runs; all blocks of a page are one program
`text`     is what the Python blocks since the last one print
`sh`       runs, and ends with status 0; with `sudo` by the rule for live runs (`live_tests.py`)
`console`  runs what stands behind `$ `, and compares with what it prints
`toml`     is a scenario, or keys of one that are completed to it, and is checked

A paragraph that says "save this as `NAME`" and ends in a colon makes the block below it a file of the session, whatever
its language. A comment right above a block, for whoever edits the page, says more: `<!-- not run: WHY -->`;
`<!-- exit 3 -->`, the status of a console's last command; `<!-- volatile: 0.02 | 2,995 -->`, numbers that differ from
run to run.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "scenarios" / "README.md",
        *ROOT.glob("studies/*/README.md"),
        *ROOT.glob("docs/**/*.md"),
    ]
)
LANGUAGES = {"python", "text", "sh", "console", "toml"}
SAVE = re.compile(r"\bsave\s+(?:it\s+|this\s+)?as\s+`([\w./-]+)`.*:$", re.IGNORECASE | re.DOTALL)
COMMENT = re.compile(r"<!-- (not run|exit|volatile):? (.*?) -->")


@dataclass(frozen=True)
class Snippet:
    """A fenced block. `do` is its language, or `save`, or `not run`."""

    page: str
    line: int
    do: str
    text: str
    save_as: str = ""
    reason: str = ""
    exit_status: int = 0
    volatile: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name for pytest."""
        return f"{self.page}:{self.line}"

    def as_json(self) -> dict[str, object]:
        """For the program that runs a page."""
        return asdict(self)


def read(path: Path) -> list[Snippet]:
    """The blocks of a page, in its order. Raises `ValueError` for one that does not say what it is."""
    page = path.relative_to(ROOT).as_posix()
    found, before, mark = [], "", {}
    for token in MarkdownIt("commonmark").parse(path.read_text(encoding="utf-8")):
        if token.type == "html_block":
            mark = mark | dict(COMMENT.findall(token.content))
        elif token.type == "inline":
            before, mark = token.content, {}
        elif token.type == "fence":
            found.append(_snippet(page, token.map[0] + 1, token.info.strip(), token.content, before, mark))
            before, mark = "", {}
    return found


def _snippet(page: str, line: int, language: str, text: str, before: str, mark: dict[str, str]) -> Snippet:
    if "not run" in mark:
        return Snippet(page, line, "not run", text, reason=mark["not run"])
    if save := SAVE.search(before):
        return Snippet(page, line, "save", text, save_as=save[1])
    if language not in LANGUAGES:
        known = ", ".join(sorted(LANGUAGES))
        raise ValueError(
            f"{page}:{line}: a block in `{language}` is not tested; expected {known}, or <!-- not run: WHY --> above it"
        )
    volatile = tuple(number.strip() for number in mark.get("volatile", "").split("|") if number.strip())
    return Snippet(page, line, language, text, exit_status=int(mark.get("exit", 0)), volatile=volatile)


def same(expected: str, printed: str, volatile: tuple[str, ...]) -> bool:
    """Returns true if the text printed is the one expected, numbers that may differ apart."""
    pattern = re.escape(_tidy(expected))
    for number in volatile:
        pattern = pattern.replace(re.escape(number), r"[\d.,]+")
    return re.fullmatch(pattern, _tidy(printed)) is not None


def _tidy(text: str) -> str:
    """Without blank lines, which a page leaves out, and spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
