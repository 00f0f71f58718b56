"""Marks each test with its needs, and selects the tests of a tier: a pytest plugin. `python -m tests.run` uses it.

Without the option ``--tier``, pytest runs all requested tests.
"""

from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.support.needs import AMQP, NEEDS, is_file_of, missing_here, needs_of
from tests.support.slow import is_slow

TIERS = ("test", "rest", "all", "nightly")
NOT_PARALLEL = frozenset(
    {"brokers", "containers", "browser", "spark", "java", "links", "namespaces", "disks", "quotas", "alone"}
)
"""Tests with one of these start brokers, another engine or another machine, or they measure."""
MEASURES_NOTHING = (
    "tests/analysis/",
    "tests/brokerbench/",
    "tests/lifecycle/test_ci.py",
    "tests/lifecycle/test_our_own_faults.py",
    "tests/topologies_runtime/test_java.py",
)
"""Spark tests in these files and folders do not measure. Their runs are on brokers in memory."""


def is_of(tier: str, markers: Collection[str]) -> bool:
    """Whether a test with these markers is in a tier, on a machine that lacks nothing.

    ``all`` has every test except nightly ones. ``test`` leaves out the slow ones. ``rest`` has the tests of ``all``
    that a bare machine leaves out of ``test``. Nightly tests are a tier of their own; tests of a router are in none.
    """
    if "router" in markers:
        return False
    if tier == "nightly" or "nightly" in markers:
        return tier == "nightly" and "nightly" in markers
    if tier == "rest":
        return "slow" in markers or any(need.marker in markers for need in NEEDS)
    return tier == "all" or "slow" not in markers


def is_serial(nodeid: str, markers: Collection[str]) -> bool:
    """Whether a test must run alone."""
    alone = NOT_PARALLEL.intersection(markers)
    return bool(alone) and not (alone == {"spark"} and nodeid.startswith(MEASURES_NOTHING))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("tiers").addoption("--tier", choices=TIERS, help="run only the tests of this tier")


def pytest_configure(config: pytest.Config) -> None:
    missing = {need.marker: need.missing for need in missing_here()}
    tier = config.getoption("tier")
    if missing and tier not in (None, "test"):
        raise pytest.UsageError(
            f"--tier {tier}: {', '.join(missing.values())}; this tier leaves nothing out: "
            "make test-all and make nightly-tests install what is missing"
        )
    config.pluginmanager.register(TierSelection(config.rootpath, tier, missing), "brokerbench-tiers")


class TierSelection:
    """Marks tests, and deselects those that are not in the tier or need something that this machine lacks."""

    def __init__(self, root: Path, tier: str | None, missing: dict[str, str]) -> None:
        self._root, self._tier, self._missing = root, tier, missing
        self._left_out = Counter[str]()
        self._unread: list[str] = []

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Ignore files that import proton if it is missing."""
        if AMQP.marker not in self._missing or collection_path.suffix != ".py":
            return None
        file = collection_path.relative_to(self._root).as_posix()
        if not is_file_of(file, AMQP.marker):
            return None
        self._unread.append(file)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        for item in items:
            for marker in sorted(needs_of(item)):
                item.add_marker(marker)
            if is_slow(item.nodeid):
                item.add_marker("slow")
            if is_serial(item.nodeid, {marker.name for marker in item.iter_markers()}):
                item.add_marker("serial")
        if self._tier:
            selected = [item for item in items if self._selects(item)]
            config.hook.pytest_deselected(items=[item for item in items if item not in {*selected}])
            items[:] = selected

    def _selects(self, item: pytest.Item) -> bool:
        assert self._tier
        markers = {marker.name for marker in item.iter_markers()}
        if not is_of(self._tier, markers):
            return False
        lacking = next((marker for marker in self._missing if marker in markers), None)
        if lacking:
            self._left_out[lacking] += 1
        return lacking is None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Report the tests that were left out. With pytest-xdist, only the other processes know them."""
        lines = [f"{count:,} tests of {marker}: {self._missing[marker]}" for marker, count in self._left_out.items()]
        if self._unread:
            lines.append(f"{len(self._unread)} more files of {AMQP.marker} tests: {AMQP.missing}")
        if self._tier and lines:
            terminalreporter.section("left out; make test-all installs what is missing")
            terminalreporter.write("".join(f"{line}\n" for line in lines))
