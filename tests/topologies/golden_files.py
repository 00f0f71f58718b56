"""Compares texts with golden files. BROKERBENCH_REGENERATE=1 makes pytest write the files again: then read the diff."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from lxml import etree

from tests.support.golden import REGENERATE
from topologies.model.validity import TopologyInvalid

FOLDER = Path(__file__).parent / "golden"
OPTION = re.compile(r"([\w.]+)=")
SCHEME = re.compile(r"([a-z+]+):[(/$]")
QUOTED_NAME = re.compile(r'"[^"]*"')


def assert_golden(name: str, text: str) -> None:
    """Assert that ``text`` equals the content of the file ``golden/name``."""
    path = FOLDER / name
    if REGENERATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no golden file {name}: run with BROKERBENCH_REGENERATE=1, then read the file"
    assert text == path.read_text(encoding="utf-8")


def assert_golden_refusals(name: str, mistakes: Mapping[str, Callable[[], object]]) -> None:
    """Assert that each mistake, by its title, raises the error in the file ``golden/name``."""
    refusals = []
    for title, make in mistakes.items():
        with pytest.raises(TopologyInvalid) as caught:
            make()
        refusals.append(f"{title}\n" + "".join(f"    {problem}\n" for problem in caught.value.problems))
    assert_golden(name, "".join(refusals))


def settings_in(files: Mapping[str, str]) -> set[tuple[str, ...]]:
    """Return each file, element, attribute and URI option in the rendered files, without values and broker names."""
    settings = {(filename,) for filename in files}
    for filename, text in files.items():
        if filename.endswith(".xml"):
            settings |= {(filename, *setting) for setting in _settings_of(etree.fromstring(text.encode()))}
        else:
            keys = (line.partition("=")[0] for line in text.splitlines() if "=" in line)
            settings |= {(filename, QUOTED_NAME.sub("NAME", key)) for key in keys}
    return settings


def _settings_of(root: etree._Element) -> Iterator[tuple[str, ...]]:
    for element in root.iter("{*}*"):
        parents = reversed([*element.iterancestors()])
        path = "/".join(etree.QName(part).localname for part in (*parents, element))
        yield (path,)
        for attribute, value in (*element.attrib.items(), ("", element.text or "")):
            yield from ((path, str(attribute), part) for part in ("", *OPTION.findall(value), *SCHEME.findall(value)))
