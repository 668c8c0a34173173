"""Expectations as a JUnit file, which CI systems show as test cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from baton.expect import Outcome

# Characters that no XML 1.0 document may hold, escaped or not (XML 1.0, section 2.2).
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(
    path: Path, scenario: str, wall_s: float, outcomes: Sequence[Outcome], not_checked: Sequence[str] = ()
) -> None:
    """Writes one test case an expectation; those that were `not_checked` are skipped ones.

    `wall_s` is the time that the run took.
    """
    failures = sum(not outcome.holds for outcome in outcomes)
    tests = len(outcomes) + len(not_checked)
    counts = {"tests": str(tests), "failures": str(failures), "errors": "0", "time": f"{wall_s:.3f}"}
    suites = ElementTree.Element("testsuites", counts)
    attributes = {"name": _clean(scenario), **counts, "skipped": str(len(not_checked))}
    suite = ElementTree.SubElement(suites, "testsuite", attributes)
    for outcome in outcomes:
        name = _clean(outcome.expectation.text)
        case = ElementTree.SubElement(suite, "testcase", {"name": name, "classname": _clean(scenario), "time": "0"})
        if not outcome.holds:
            message = _clean(f"expected {outcome.expected_text}, measured {outcome.measured_text}")
            failure = ElementTree.SubElement(case, "failure", {"message": message, "type": "expectation"})
            failure.text = f"{name}\n{message}"
    for text in not_checked:
        names = {"name": _clean(text), "classname": _clean(scenario), "time": "0"}
        ElementTree.SubElement(ElementTree.SubElement(suite, "testcase", names), "skipped")
    ElementTree.indent(suites)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True) + b"\n")


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
