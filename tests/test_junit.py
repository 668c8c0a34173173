"""The JUnit file holds what the expectations found, and other tools can read it."""

from xml.etree import ElementTree

import pytest

from baton import junit
from baton.expect import Expectation

SUMMARY = {"seed": 1, "flows": [{"name": "a", "end": None}]}
# The part of our output that the schema of Jenkins and others (junit-10.xsd) allows.
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "disabled", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id"},
    "testcase": {"name", "classname", "time", "status", "assertions"},
    "failure": {"message", "type"},
}
REQUIRED = {"testsuite": {"name", "tests"}, "testcase": {"name", "classname"}}


def written(path, *texts):
    cases = [junit.case_of(Expectation.parse(text).check(SUMMARY)) for text in texts]
    junit.write(path, [junit.Suite('a "scenario" & <more>', 1.5, cases)])
    root = ElementTree.parse(path).getroot()
    for element in root.iter():
        assert set(element.attrib) <= ATTRIBUTES[element.tag]
        assert set(element.attrib) >= REQUIRED.get(element.tag, set())
    return root


def test_one_test_case_an_expectation(tmp_path):
    root = written(tmp_path / "new" / "folder" / "out.xml", "seed == 1", "seed > 1", "flows.a.end < 2")
    (suite,) = root
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ('a "scenario" & <more>', "3", "2")
    passed, failed, unfinished = suite
    assert passed.get("name") == "seed == 1"
    assert len(passed) == 0
    assert failed.find("failure").get("message") == "expected > 1, measured 1"
    assert "did not finish" in unfinished.find("failure").text


@pytest.mark.parametrize("texts", [[], ["seed == 1"]])
def test_it_is_written_when_nothing_fails(tmp_path, texts):
    root = written(tmp_path / "out.xml", *texts)
    assert root.get("failures") == "0"
    assert root.get("tests") == str(len(texts))


def test_characters_that_xml_cannot_hold_are_replaced(tmp_path):
    outcome = Expectation.parse("seed < 0").check(SUMMARY)
    junit.write(tmp_path / "out.xml", [junit.Suite("escape \x1b and nothing \x00", 1.5, [junit.case_of(outcome)])])
    (suite,) = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert suite.get("name") == "escape \ufffd and nothing \ufffd"
    assert suite[0].get("name") == "seed < 0"
