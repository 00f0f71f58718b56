"""Writes HTML, Markdown and JUnit XML: templates and whole files, escaping, tables and test suites."""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from records.files import replace_whole
from reports.parts.values import cell


def render_page(template: str, view: object) -> str:
    """Fill the template with ``view`` as its ``page``, and with the style sheet and the script that all pages share."""
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["cell"] = cell
    environment.filters["groupby_in_order"] = _groups
    script = _template("page.js")
    return environment.get_template(template).render(
        page=view,
        css=Markup(_template("report.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        svg=Markup,
    )


def _groups(items: Iterable[Any], attribute: str) -> list[tuple[Any, list[Any]]]:
    """Group adjacent items by an attribute, without sorting them as Jinja's `groupby` does."""
    return [(key, list(group)) for key, group in groupby(items, attrgetter(attribute))]


def _template(name: str) -> str:
    return files("reports").joinpath("templates", name).read_text(encoding="utf-8")


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically: a reader sees the old text or the new text, never a part. Raises RunUnwritable."""
    replace_whole(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def safe_in_script(text: str) -> str:
    """Escape JSON so that an HTML parser does not find the end of the script element inside it."""
    for character, escape in UNSAFE.items():
        text = text.replace(character, escape)
    return text


_ENTITIES = {ord(character): f"&#{ord(character)};" for character in "&\\|<>*_`[]~"} | {ord("\n"): " ", ord("\r"): " "}


def plain(text: str) -> str:
    """Escape text of a run for Markdown, on one line."""
    return text.translate(_ENTITIES)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table_lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table. Titles and cells are Markdown already."""
    return [_row(titles), "|" + " --- |" * len(titles), *map(_row, rows)]


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
class JUnitCase:
    """One test case. ``outcome``: "pass", or one of `OUTCOME_ELEMENTS`; then ``message`` says why."""

    name: str
    outcome: str
    message: str = ""


@dataclass(frozen=True)
class JUnitSuite:
    """A JUnit test suite. ``took_s``: its duration; ``began``: ISO 8601, '' if unknown."""

    name: str
    classname: str
    properties: Mapping[str, str]
    cases: tuple[JUnitCase, ...]
    took_s: float = 0.0
    began: str = ""


def junit_document(suites: Iterable[JUnitSuite]) -> str:
    """Return the XML document, with one element per line. All text is escaped."""
    root = ET.Element("testsuites", name="brokerbench")
    for suite in suites:
        _add_suite(root, suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_suite(root: ET.Element, suite: JUnitSuite) -> None:
    added = ET.SubElement(root, "testsuite", name=_text(suite.name))
    properties = ET.SubElement(added, "properties")
    for name, value in suite.properties.items():
        ET.SubElement(properties, "property", name=name, value=_text(value))
    for case in suite.cases:
        _add_case(added, suite.classname, case, suite.took_s / len(suite.cases))
    _count(added, suite)


def _add_case(suite: ET.Element, classname: str, case: JUnitCase, took_s: float) -> None:
    """Add a test case. ``took_s``: an even share of the suite's time, as CI systems add up the times of cases."""
    added = ET.SubElement(suite, "testcase", name=_text(case.name), classname=_text(classname))
    added.set("time", f"{took_s:.3f}")
    if case.outcome == "pass":
        return
    outcome = ET.SubElement(added, OUTCOME_ELEMENTS[case.outcome], message=_text(case.message))
    if outcome.tag != "skipped":  # which has a message only
        outcome.set("type", case.outcome)
        outcome.text = _text(case.message)


def _count(added: ET.Element, suite: JUnitSuite) -> None:
    """Set the attributes that CI systems use to add up suites."""
    added.set("tests", str(len(added.findall("testcase"))))
    for name, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        added.set(name, str(len(added.findall(f"testcase/{element}"))))
    added.set("time", f"{suite.took_s:.3f}")
    if suite.began:
        added.set("timestamp", _text(suite.began))


def _text(text: str) -> str:
    return NO_XML.sub("\ufffd", text)
