"""Writes the checks of a run as JUnit XML, the format in which CI systems take the results of tests.

A run is a test suite, a check a test case. A check that could not be decided is skipped: JUnit has no word for unknown.
The verdict has a test case of its own where no check says the same.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from records.summary import CheckResult, Summary
from reports.numbers import sentence

NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""

PROPERTIES = ("verdict", "scenario", "topology", "runtime", "protocol")
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


def junit(summary: Summary) -> str:
    """The XML document of a run."""
    cases = [_case(check, summary) for check in summary["checks"]]
    if not _told_by_checks(summary):
        reasons = " ".join(map(sentence, summary["reasons"]))
        cases.append(Case("verdict", summary["verdict"], reasons or f"The verdict is {summary['verdict']}."))
    properties = {name: str(summary[name]) for name in PROPERTIES}  # type: ignore[literal-required]
    took_s = sum(summary["phases"].values())
    classname = f"brokerbench.{summary['scenario']}"
    return document([Suite(summary["run_id"], classname, properties, tuple(cases), took_s, summary["wall"])])


def _case(check: CheckResult, summary: Summary) -> Case:
    message = unknown_reason(check, summary) if check["outcome"] == "unknown" else failure_message(check)
    return Case(check["name"], check["outcome"], message)


def document(suites: Iterable[Suite]) -> str:
    """The XML document, one line an element. Text of any kind is escaped."""
    root = ET.Element("testsuites", name="brokerbench")
    for suite in suites:
        _add_suite(root, suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def failure_message(check: CheckResult) -> str:
    value = "null" if check["value"] is None else f"{check['value']:.6g}"
    return f"{check['metric']} is {value}, it must be {check['rule']}"


def unknown_reason(check: CheckResult, summary: Summary) -> str:
    """Why a check could not be decided."""
    doubt = summary["timing"]["doubtful"].get(check["metric"])
    if doubt:
        return f"{failure_message(check)}; the figure is doubtful: {doubt}"
    return f"the run has no figure {check['metric']}, it must be {check['rule']}"


def _told_by_checks(summary: Summary) -> bool:
    """A pass is told by checks that all passed, another verdict by a check of that outcome."""
    return summary["verdict"] in {check["outcome"] for check in summary["checks"]}


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
