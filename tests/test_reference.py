"""The pages of the reference are those that the code makes, and what they describe is what a run leaves."""

from __future__ import annotations

from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import pytest

import generate_reference
from baton import Scenario
from baton.summary import Summary

MADE = generate_reference.pages()


@pytest.mark.parametrize("name", MADE)
def test_a_page_is_what_the_code_makes(name):
    committed = (generate_reference.FOLDER / name).read_text(encoding="utf-8")
    assert committed == MADE[name], "run scripts/generate_reference.py"


def test_there_are_no_other_pages():
    committed = {
        path.relative_to(generate_reference.FOLDER).as_posix() for path in generate_reference.FOLDER.rglob("*.md")
    }
    assert committed == set(MADE), "run scripts/generate_reference.py"


def test_no_table_of_the_format_shares_a_page():
    """A page a table: a reader who looks a key up reads a screen or two, not fifty thousand pixels."""
    tables = [line for name, page in MADE.items() if name.startswith("scenario/") for line in page.splitlines()
              if line.startswith("| key |")]  # fmt: skip
    assert len(tables) == sum(name.startswith("scenario/") for name in MADE)


# Keys that only some flows and handovers have.
SELDOM = {"ping", "aerotp", "quic", "flow_class", "mobile_class"}


def test_a_summary_has_the_keys_that_are_described(scenario):
    ping = 'name = "ping"\nfrom = "laptop"\nto = "server"\ntraffic = "ping"\n'
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
