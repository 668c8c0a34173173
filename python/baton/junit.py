"""Expectations as a JUnit file, which CI systems show as test cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from baton.expect import Outcome

# Characters that no XML 1.0 document may hold, escaped or not (XML 1.0, section 2.2).
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Case:
    """A test case that passed, failed, or was not checked."""

    name: str
    failure: str | None = None
    """Reason for its failure; nothing if it did not fail."""
    kind: str = "expectation"
    """The failure's type."""
    is_skipped: bool = False


@dataclass(frozen=True)
class Suite:
    """The test cases of a run."""

    name: str
    wall_s: float
    """The time that the run took."""
    cases: Sequence[Case]

    @property
    def failures(self) -> int:
        """Test cases that failed."""
        return sum(case.failure is not None for case in self.cases)


def case_of(outcome: Outcome) -> Case:
    """Returns an expectation as a test case."""
    message = f"expected {outcome.expected_text}, measured {outcome.measured_text}"
    return Case(outcome.expectation.text, None if outcome.holds else message)


def write(path: Path, suites: Sequence[Suite]) -> None:
    """Writes test suites with their cases."""
    root = ElementTree.Element("testsuites", _counts(suites))
    for suite in suites:
        skipped = sum(case.is_skipped for case in suite.cases)
        attributes = {"name": _clean(suite.name), **_counts([suite]), "skipped": str(skipped)}
        element = ElementTree.SubElement(root, "testsuite", attributes)
        for case in suite.cases:
            _add(element, case, suite.name)
    ElementTree.indent(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _counts(suites: Sequence[Suite]) -> dict[str, str]:
    tests = sum(len(suite.cases) for suite in suites)
    failures = sum(suite.failures for suite in suites)
    wall_s = sum(suite.wall_s for suite in suites)
    return {"tests": str(tests), "failures": str(failures), "errors": "0", "time": f"{wall_s:.3f}"}


def _add(suite: ElementTree.Element, case: Case, classname: str) -> None:
    names = {"name": _clean(case.name), "classname": _clean(classname), "time": "0"}
    element = ElementTree.SubElement(suite, "testcase", names)
    if case.is_skipped:
        ElementTree.SubElement(element, "skipped")
    if case.failure is not None:
        message = _clean(case.failure)
        failure = ElementTree.SubElement(element, "failure", {"message": message, "type": case.kind})
        failure.text = f"{names['name']}\n{message}"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
