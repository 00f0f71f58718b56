"""Hides tools from a test unless its markers name them: a pytest plugin.

Without the marker ``amqp`` a test cannot import proton. Without ``links``, ``prometheus``, ``containers``,
``browser``, ``namespaces`` and ``disks`` a test cannot find these programs or a Docker engine. So a missing marker
fails on the machine of the test's author, who has all of them. Processes that a test starts have the same limits.
"""

import os
import re
import sys
import tempfile
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.support.bare import PROGRAMS, path_without
from tests.support.hidden import sitecustomize
from tests.support.needs import NEEDS, is_file_of

MARKERS = frozenset(need.marker for need in NEEDS)
PROTON = ("proton", "cproton")
OUTSIDE = {name: os.environ.get(name) for name in ("PATH", "DOCKER_HOST", "PYTHONPATH")}
BESIDE = Path(sys.executable).parent
FOLDERS = tempfile.TemporaryDirectory(prefix="brokerbench-tests-path-")


@contextmanager
def only(markers: Collection[str]) -> Iterator[None]:
    """Hide the tools of all other needs inside the block."""
    hidden = MARKERS - set(markers)
    variables = environment(hidden)
    before = {name: os.environ.get(name) for name in variables}
    set_variables(variables)
    try:
        with without_modules(PROTON if "amqp" in hidden else ()):
            yield
    finally:
        set_variables(before)


@cache
def environment(hidden: frozenset[str]) -> dict[str, str | None]:
    """Return the environment that hides the programs of these markers. None: the variable is not set."""
    pattern = re.compile("|".join(PROGRAMS[marker] for marker in sorted(hidden)) or "(?!)")
    beside = [str(program) for program in BESIDE.iterdir() if pattern.fullmatch(program.name)]
    folder = str(Path(sitecustomize.__file__).parent)
    nobody = f"unix://{FOLDERS.name}/no-engine.sock"
    return {
        "PATH": path_without(hidden, OUTSIDE["PATH"] or "", Path(FOLDERS.name)),
        "DOCKER_HOST": nobody if "containers" in hidden else OUTSIDE["DOCKER_HOST"],
        "PYTHONPATH": os.pathsep.join(filter(None, (folder, OUTSIDE["PYTHONPATH"]))),
        sitecustomize.PROGRAMS: os.pathsep.join(beside),
        sitecustomize.MODULES: " ".join(PROTON) if "amqp" in hidden else "",
    }


def set_variables(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def without_modules(packages: Collection[str]) -> Iterator[None]:
    """Make imports of these packages fail inside the block."""
    imported = {}
    if any(name in sys.modules for name in packages):  # a look at thousands of modules would cost each test 1 ms
        imported = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in packages}
    for name in imported:
        del sys.modules[name]
    sys.modules.update(dict.fromkeys(packages))  # type: ignore[arg-type]  # None: there is no such module
    try:
        yield
    finally:
        for name in packages:
            del sys.modules[name]
        sys.modules.update(imported)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with only({marker.name for marker in item.iter_markers()}):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        named = {marker.name for marker in item.iter_markers()}
        unseen = [f"{need.marker}: {need.missing}" for need in NEEDS if need.marker not in named]
        report.sections.append(("what this test does not see, as it lacks the marker", "\n".join(unseen)))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Also hide tools during collection: a file may import proton only if all its tests need AMQP."""
    with only(MARKERS if is_file_of(collector.nodeid, "amqp") else MARKERS - {"amqp"}):
        return (yield)
