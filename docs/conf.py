"""The site of the documentation: `make docs` builds it, and every warning is an error."""

import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent
REPOSITORY = DOCS.parent

project = "Baton"
author = "the Baton authors"
copyright = "the Baton authors, MIT or Apache-2.0"
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
exclude_patterns = ["_static"]
# Headings that a link may name, as code hosts derive them.
myst_heading_anchors = 4
smartquotes = False
html_theme = "furo"
html_title = "Baton"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False

# The order of the pages. It stands here and not in index.md, which is to be read in a plain view of the repository too.
NAVIGATION = {
    "Learn": ["tutorial/*", "gallery"],
    "Tasks": [
        "how-to/write-a-scenario",
        "how-to/import-a-trace",
        "Live runs <live>",
        "batond <batond>",
        "ci",
        "sweeps",
        "how-to/read-the-packet-table",
        "how-to/*",
    ],
    "Reference": ["glossary", "measures", "reference/*", "formats", "trust", "AeroTP <aerotp>"],
    "Models and validation": [
        "models/README",
        "models/*",
        "studies",
        "validation",
        "fidelity",
        "performance",
        "gateways-beside-others",
    ],
}
# Pages below a page, in the side bar too.
BELOW = {"reference/scenario": "scenario/*", "validation": "validation/*"}

LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?:\.\./)+[^)#\s]*)(#[^)\s]*)?\)")


def name_files_outside(page: Path, text: str) -> str:
    """A link to a file of the repository that is no page becomes the file's name: the site has no copy of it."""

    def replace(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(page.parent / match[3]))
        if target.is_relative_to(DOCS) or not target.exists():
            return match[0]  # a page, or a broken link for Sphinx to find
        name = target.relative_to(REPOSITORY).as_posix()
        return f"`{name}`" if match[2].strip("`") == name else f"{match[2]} (`{name}`)"

    return LINK.sub(replace, text)


def read_source(app, docname: str, source: list[str]) -> None:
    """Changes a page before it is parsed."""
    source[0] = name_files_outside(Path(app.env.doc2path(docname)), source[0])
    if docname == root_doc:
        for caption, pages in NAVIGATION.items():
            listed = "\n".join(pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{listed}\n```\n"
    if docname in BELOW:
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{BELOW[docname]}\n```\n"


def setup(app) -> None:
    """Called by Sphinx."""
    app.connect("source-read", read_source)
