"""Every model has a page; the pages' tables hold every key, and the tests and figures that they name exist."""

import re
from pathlib import Path

import pytest

from baton import catalogue
from reference import models, scenario

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "docs" / "models"
PAGES = sorted(MODELS.glob("*.md"))
CLAIM = re.compile(r"`(\w+)`\s+in\s+`([\w./-]+\.(?:rs|py))`")
OVERVIEWS = {
    *("README.md", "presets.md", "queues.md", "channel.md", "tcp.md", "handover.md", "traffic.md"),
    *(
        "mobile-ipv4.md",
        "mobile-ipv6.md",
        "micro-mobility.md",
        "hierarchical-mobile-ipv6.md",
        "retransmission.md",
        "demand-assignment.md",
        "link-coding.md",
        "flow-control.md",
        "shapers.md",
        "t-tcp.md",
        "fec.md",
        "aerotp.md",
        "dtn.md",
        "quic.md",
        "tp-plus-plus.md",
    ),
}
"""Pages that are not a link kind's, a queue's, a channel's, a profile's or a control's."""
PRESETS = {"wifi6", "lte", "5g", "starlink"}
"""Kinds of links that are numbers only, and share a page."""


def text(page):
    return page.read_text(encoding="utf-8")


def model_pages():
    """The page of each model that the code knows."""
    yield from (f"{name}.md" for name in catalogue.links() if name not in PRESETS)
    yield from (f"queue-{name}.md" for name in catalogue.queues())
    yield from (f"profile-{name}.md" for name in catalogue.profiles())
    yield from (f"congestion-{name}.md" for name in [*catalogue.congestion(), "python"])
    yield from (f"channel-{name}.md" for name in ("packet-errors", "bit-errors", "burst-loss", "jitter"))


def remedies():
    """The page of each remedy: what it does at a handover, the studies' tables show."""
    yield from (f"remedy-{name}.md" for name in [*catalogue.remedies(), "python"] if name != "none")


def test_every_model_has_a_page_and_every_page_a_model():
    pages = sorted(page.name for page in PAGES if page.name not in OVERVIEWS)
    assert pages == sorted([*model_pages(), *remedies()])


def test_the_defaults_are_of_everything_that_there_is():
    assert sorted(scenario.DEFAULTS["links"]) == sorted(catalogue.links())
    assert sorted(scenario.DEFAULTS["profiles"]) == sorted(catalogue.profiles())


@pytest.mark.parametrize("schema", [scenario.at("links.*"), models.tcp()], ids=["link", "tcp"])
def test_every_key_is_in_some_table(schema):
    told = {key for page in PAGES for key in re.findall(r"^\| `([\w.]+)` \|", text(page), re.MULTILINE)}
    tables = {"queue", "framing", "between", "kind", "profile"}  # told by their own keys, or in prose
    tables |= {"recording", *(f"recording.{key}" for key in scenario.at("links.*.down.recording")["properties"])}
    assert set(models.flat(schema)[0]) - told - tables == set()


def test_a_table_has_the_schema_s_words_and_the_engine_s_values():
    gsm = models.link("gsm")
    assert '| `rate` | rate | `"9.6 kbit/s"` | Rate at which bits leave the queue. |' in gsm
    assert "| `framing.bits_per_byte` |" in gsm
    assert gsm.count("| `10` |") == 1
    weight = "| `queue.weight` | number from 0 to 1 | `0.002` | Weight of the present queue in the average, above 0. |"
    assert weight in models.queue("red")
    assert '| `tick` | time | `"10 ms"` | Granularity of the stack\'s clock; "0 s" is exact. |' in models.profile("ns2")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page):
    missing = []
    for name, path in CLAIM.findall(text(page)):
        file = ROOT / path
        if not file.is_file() or not re.search(rf"\b(fn|def) {name}\(", file.read_text(encoding="utf-8")):
            missing.append(f"{name} in {path}")
    assert not missing, "named in the page, but not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_has_its_parts(page):
    if page.name == "README.md":
        listed = re.findall(r"\]\(([\w.-]+\.md)\)", text(page))
        assert sorted(listed) == [other.name for other in PAGES if other.name != "README.md"]
    else:
        parts = re.findall(r"^## (.*)$", text(page), re.MULTILINE)
        wanted = ["Scope and limitations", "Usage", "Parameters", "Validation"]
        assert [part for part in parts if part in wanted] == wanted


@pytest.mark.parametrize("name", sorted(model_pages()))
def test_every_model_s_page_has_a_figure_and_rows_of_the_validation(name):
    page = text(MODELS / name)
    figures = re.findall(r"!\[.+\]\((figures/[\w.-]+\.png)\)", page)
    assert figures == [f"figures/{name.removesuffix('.md')}.png"]
    assert (MODELS / figures[0]).stat().st_size < 100_000
    assert "(../validation/" in page


@pytest.mark.parametrize(
    "page",
    [*PAGES, ROOT / "docs" / "validation.md", *(ROOT / "docs" / "validation").glob("*.md")],
    ids=lambda page: page.name,
)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#:]+)\)", text(page))
    assert [target for target in targets if not (page.parent / target).exists()] == []
