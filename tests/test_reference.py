"""Generated parts of pages are up to date, the reference is complete, and a run leaves what it describes."""

from __future__ import annotations

import re
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import pytest

import generate_reference
from baton import Scenario, classes
from baton.summary import Summary
from reference import command_line, python_api, scenario

PAGES = generate_reference.pages()
TABLES = sorted(scenario.FOLDER.glob("*.md"))
#: The table of a whole scenario stands on the page of all tables.
WHOLE = scenario.FOLDER.with_suffix(".md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_what_the_code_makes(page):
    found = page.read_text(encoding="utf-8")
    assert found == generate_reference.fill(found), "run scripts/generate_reference.py"


def test_a_part_without_an_end_is_refused():
    begin, end = "<!-- generated: units -->\n", "<!-- end of generated -->\n"
    assert generate_reference.fill(begin + end) == f"{begin}\n{scenario.units()}\n\n{end}"
    for broken in (begin, begin + begin + end):
        with pytest.raises(ValueError, match="have an end"):
            generate_reference.fill(broken)


def test_no_table_of_the_format_shares_a_page():
    """A page a table: a reader who looks a key up reads a screen or two, not fifty thousand pixels."""
    for page in TABLES:
        found = page.read_text(encoding="utf-8")
        assert found.count("<!-- generated: ") == 1
        # Keys of a kind have a table of their own below the shared ones.
        assert found.count("\n| key |") == 1 + found.count("\nWith `")


@pytest.mark.parametrize(
    ("page", "parts"),
    [
        ("python.md", {f"python {group}" for group in ("baton", "errors", "figures", *python_api.MODULES)}),
        ("results.md", {"columns packets", "columns series", "columns signals", "series", "summary"}),
        ("scenario.md", {"scenario", "units", "tables"}),
    ],
)
def test_a_page_of_the_reference_has_all_its_parts(page, parts):
    found = (generate_reference.DOCS / "reference" / page).read_text(encoding="utf-8")
    assert set(re.findall("<!-- generated: (.*) -->", found)) == parts


def test_every_table_of_the_format_has_a_page():
    shown = [scenario.at(""), *(scenario.at(scenario.path_of(page)) for page in TABLES)]
    for keys in scenario.every_table():
        assert any(set(each["properties"]).issuperset(keys) for each in shown), keys


@pytest.mark.parametrize("page", [WHOLE, *TABLES], ids=lambda page: page.name)
def test_the_example_of_a_table_has_every_key_that_its_kinds_share(page):
    found = scenario.at("" if page == WHOLE else scenario.path_of(page))
    tag, kinds = scenario.kinds_of(found)
    shared = scenario.keys_of(found).keys() - {name for each in kinds for name in each["properties"]} - {tag}
    (example,) = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert {name for name in shared if not re.search(rf"\b{name}\b", example)} == set()


def test_every_command_has_a_section():
    page = (generate_reference.DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## baton (.*)\n\n<!-- generated: command (.*) -->$", page, re.MULTILINE)
    assert [name for name, _ in sections] == [mark for _, mark in sections] == list(command_line.commands())


def test_the_page_on_python_names_the_methods_of_a_control():
    page = (generate_reference.DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    assert ", ".join(f"`{name}`" for name in classes.METHODS["congestion control"]) in page


# Keys that only some flows, handovers and runs have.
SELDOM = {
    *("ping", "aerotp", "quic", "tp_plus_plus", "flow_class", "mobile_class"),
    *("unlisted_handovers", "unlisted_flows", "cut"),
}


def test_a_summary_has_the_keys_that_are_described(scenario):
    ping = 'name = "ping"\nfrom = "laptop"\nto = "server"\ntraffic.kind = "ping"\n'
    scenario.write_text(f"{scenario.read_text()}\n[[flows]]\n{ping}")
    assert undescribed(Scenario.load(scenario).run().summary, Summary, "") == []


def undescribed(found: Any, kind: Any, path: str) -> list[str]:
    """Keys of a summary that the types lack, and the other way round."""
    if get_origin(kind) is list:
        return [each for item in found for each in undescribed(item, get_args(kind)[0], f"{path}[]")]
    if not is_typeddict(kind):
        return []
    hints = get_type_hints(kind)
    differing = [f"{path}.{name}" for name in (found.keys() ^ hints.keys()) - SELDOM]
    for name in found.keys() & hints.keys():
        differing += undescribed(found[name], hints[name], f"{path}.{name}")
    return differing
