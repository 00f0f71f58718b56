"""Writes JUnit XML, the format in which CI systems take the results of tests."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET

NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""
OUTCOME_ELEMENTS = {
    "fail": "failure",
    "unknown": "skipped",
    "undecided": "skipped",
    "invalid": "error",
    "interrupted": "error",
}


@dataclass(frozen=True)
class Case:
    """One test case. ``outcome``: "pass", or one of `OUTCOME_ELEMENTS`; then ``message`` says why."""

    name: str
    outcome: str
    message: str = ""


@dataclass(frozen=True)
class Suite:
    """``took_s``: how long it took; ``began``: ISO 8601, '' if unknown."""

    name: str
    classname: str
    properties: Mapping[str, str]
    cases: tuple[Case, ...]
    took_s: float = 0.0
    began: str = ""


def junit_document(suites: Iterable[Suite]) -> str:
    """The XML document, one line an element. Text of any kind is escaped."""
    root = ET.Element("testsuites", name="brokerbench")
    for suite in suites:
        _add_suite(root, suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_suite(root: ET.Element, suite: Suite) -> None:
    added = ET.SubElement(root, "testsuite", name=_text(suite.name))
    properties = ET.SubElement(added, "properties")
    for name, value in suite.properties.items():
        ET.SubElement(properties, "property", name=name, value=_text(value))
    for case in suite.cases:
        _add_case(added, suite.classname, case)
    _count(added, suite)


def _add_case(suite: ET.Element, classname: str, case: Case) -> None:
    added = ET.SubElement(suite, "testcase", name=_text(case.name), classname=_text(classname))
    if case.outcome == "pass":
        return
    told = ET.SubElement(added, OUTCOME_ELEMENTS[case.outcome], message=_text(case.message))
    if told.tag != "skipped":  # which has a message only
        told.set("type", case.outcome)
        told.text = _text(case.message)


def _count(added: ET.Element, suite: Suite) -> None:
    """The attributes by which CI systems add suites up."""
    added.set("tests", str(len(added.findall("testcase"))))
    for name, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        added.set(name, str(len(added.findall(f"testcase/{element}"))))
    added.set("time", f"{suite.took_s:.3f}")
    if suite.began:
        added.set("timestamp", _text(suite.began))


def _text(text: str) -> str:
    return NO_XML.sub("\ufffd", text)
