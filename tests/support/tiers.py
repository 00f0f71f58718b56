"""Marks each test with its needs, lists all tests, and keeps the selected ones: a pytest plugin.

`python -m tests.run` selects the tests. Without its options, pytest runs all requested tests.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.needs import NEEDS, is_file_of, needs_of
from tests.support.slow import is_slow

NOT_PARALLEL = frozenset({"brokers", "containers", "browser", "spark", "java", "links", "namespaces", "disks", "alone"})
"""Tests with one of these start brokers, another engine or another machine, or they measure."""
MEASURES_NOTHING = (
    "tests/analysis/",
    "tests/brokerbench/",
    "tests/lifecycle/test_ci.py",
    "tests/lifecycle/test_our_own_faults.py",
    "tests/topologies_runtime/test_java.py",
)
"""Spark tests in these files and folders do not measure. Their runs are on brokers in memory."""


@dataclass(frozen=True)
class CollectedTest:
    """A collected test. ``count``: 1, or the number of tests in a file that cannot be read on this machine."""

    nodeid: str
    markers: frozenset[str]
    count: int = 1

    @property
    def file(self) -> str:
        return self.nodeid.partition("::")[0]

    @property
    def may_run_beside_others(self) -> bool:
        alone = NOT_PARALLEL & self.markers
        return not alone or (alone == {"spark"} and self.nodeid.startswith(MEASURES_NOTHING))

    def is_of(self, tier: str) -> bool:
        """``test`` leaves the slow tests to ``all``. Neither has a nightly one."""
        if "router" in self.markers:
            return False
        if tier == "nightly" or "nightly" in self.markers:
            return tier == "nightly" and "nightly" in self.markers
        return tier == "all" or "slow" not in self.markers


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--write-tests", type=Path, help="a JSON file for the tests that there are, with their markers")
    group.addoption("--only-tests", type=Path, help="a JSON file with the ids of the tests to run")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Tiers(config), "brokerbench-tiers")


class Tiers:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._reads_amqp = AMQP.there()
        self._unread: list[CollectedTest] = []

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Ignore files that import proton if it is missing. Their tests are counted by definition."""
        written, root = self._config.getoption("write_tests"), self._config.rootpath
        if not written or collection_path.suffix != ".py" or not collection_path.is_relative_to(root):
            return None
        file = collection_path.relative_to(root).as_posix()
        if self._reads_amqp or not is_file_of(file, AMQP.marker):
            return None
        definitions = re.findall(r"^def test_", collection_path.read_text(encoding="utf-8"), re.M)
        self._unread.append(CollectedTest(file, frozenset({AMQP.marker}), len(definitions)))
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for marker in sorted(needs_of(item)):
                item.add_marker(marker)
            if is_slow(item.nodeid):
                item.add_marker("slow")
        if written := self._config.getoption("write_tests"):
            write_tests(written, [*map(as_collected, items), *self._unread])
        if chosen := self._config.getoption("only_tests"):
            self._keep(items, frozenset(json.loads(chosen.read_text(encoding="utf-8"))))

    def _keep(self, items: list[pytest.Item], nodeids: Collection[str]) -> None:
        self._config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in nodeids])
        items[:] = [item for item in items if item.nodeid in nodeids]


AMQP = next(need for need in NEEDS if need.marker == "amqp")


def as_collected(item: pytest.Item) -> CollectedTest:
    return CollectedTest(item.nodeid, frozenset(marker.name for marker in item.iter_markers()))


def write_tests(path: Path, tests: Collection[CollectedTest]) -> None:
    rows = [[test.nodeid, sorted(test.markers), test.count] for test in tests]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows), encoding="utf-8")


def read_tests(path: Path) -> list[CollectedTest]:
    rows: list[list[Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [CollectedTest(nodeid, frozenset(markers), count) for nodeid, markers, count in rows]
