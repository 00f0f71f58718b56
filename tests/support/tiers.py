"""Chooses the tests of a tier, and writes down what ran: a plugin of pytest, for `python -m tests.run`.

Without ``--tier`` it only adds the markers of `tests.support.needs`, and nothing is left out.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.floors import groups_of
from tests.support.needs import is_file_of, missing_here, needs_of
from tests.support.parts import parse_part, part_of_each, recorded_s, weight_s
from tests.support.slow import is_slow

TIERS = ("test", "rest", "all", "nightly")
STAGES = ("parallel", "serial")
NOT_PARALLEL = frozenset({"brokers", "containers", "browser", "spark", "java", "links", "namespaces", "alone"})
"""Tests with one of these start brokers, another engine or another machine, or they measure."""
SHARES_SPARK = "tests/analysis/"
"""Tests in this folder share a Spark session, and neither start anything else nor measure."""
MEASURES_NOTHING = (
    SHARES_SPARK,
    "tests/brokerbench/",
    "tests/lifecycle/test_ci.py",
    "tests/lifecycle/test_our_own_faults.py",
    "tests/planted/test_missing_rows.py",
    "tests/topologies_runtime/test_java.py",
)
"""Of the tests with Spark, those in these files and folders do not measure. Their runs are on brokers in memory."""
MAKES_RUNS = "tests/analysis/test_planted_runs.py"
"""Its tests have a session of their own: half of the time they wait for a run, so another session works meanwhile."""
OUTCOMES = ("passed", "failed", "error", "skipped")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--tier", choices=TIERS, help="which tests: python -m tests.run says what each tier is")
    group.addoption("--stage", choices=STAGES, help="of these, those that may run beside each other, or the others")
    group.addoption("--part", type=parse_part, help="of these, one part of several: 2/4")
    group.addoption("--counts", type=Path, help="a JSON file for what ran")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Tiers(config), "brokerbench-tiers")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return BySession(config, log)


class BySession(LoadScopeScheduling):
    """Hands out tests one by one, and those of a Spark session together.

    Markers `xdist_group` do the same, but not with pytest 9.2 and xdist 3.8: xdist adds a group to a test's name by an
    attribute that pytest does not read any more.
    """

    def _split_scope(self, nodeid: str) -> str:
        return session_of(nodeid) or nodeid


class Tiers:
    """``left_out``: how many tests were left out, by the marker of what this machine lacks.

    ``of_other_stage``: the files that have tests of this tier's other stage; empty if files were not read.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._counts = config.getoption("counts")
        self._missing = [need.marker for need in missing_here()] if config.getoption("tier") == "test" else []
        self.left_out: Counter[str] = Counter()
        self.of_other_stage: list[str] = []
        self.outcomes: dict[str, str] = {}
        self.groups: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Files that import proton are not read where it is missing; their tests are counted by their definitions."""
        if "amqp" not in self._missing or collection_path.suffix != ".py" or not self._is_amqp(collection_path):
            return None
        if self._config.getoption("stage") != "parallel":  # once for both stages
            self.left_out["amqp"] += len(re.findall(r"^def test_", collection_path.read_text(encoding="utf-8"), re.M))
        return True

    def _is_amqp(self, path: Path) -> bool:
        root = self._config.rootpath
        return path.is_relative_to(root) and is_file_of(path.relative_to(root).as_posix(), "amqp")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for need in sorted(needs_of(item)):
                item.add_marker(need)
            if is_slow(item.nodeid):
                item.add_marker("slow")
        if tier := self._config.getoption("tier"):
            self._keep(items, self._of_tier(items, tier))

    def _of_tier(self, items: Iterable[pytest.Item], tier: str) -> list[pytest.Item]:
        of_tier = [item for item in items if in_tier(tier, markers_of(item))]
        chosen = [item for item in of_tier if self._in_stage(item)]
        if "amqp" not in self._missing:
            others = set(map(id, of_tier)) - set(map(id, chosen))
            self.of_other_stage = sorted({item.nodeid.partition("::")[0] for item in of_tier if id(item) in others})
        kept = [item for item in chosen if not self._lacks(item)]
        part, parts = self._config.getoption("part") or (1, 1)
        known = recorded_s()
        weights = [weight_s(item.nodeid, markers_of(item), known) for item in kept]
        return [item for item, its in zip(kept, part_of_each(weights, parts), strict=True) if its == part]

    def _in_stage(self, item: pytest.Item) -> bool:
        stage = self._config.getoption("stage")
        return stage is None or (stage == "parallel") == may_run_beside_others(item.nodeid, markers_of(item))

    def _lacks(self, item: pytest.Item) -> bool:
        markers = markers_of(item)
        lacking = next((need for need in self._missing if need in markers), None)
        if lacking:
            self.left_out[lacking] += 1
        return lacking is not None

    def _keep(self, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
        staying = set(map(id, kept))
        self._config.hook.pytest_deselected(items=[item for item in items if id(item) not in staying])
        items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.when == "call" or report.outcome != "passed":
            failed_around = report.when != "call" and report.failed
            self.outcomes[report.nodeid] = "error" if failed_around else report.outcome
        if report.when == "call" and report.passed:
            self.groups.update(groups_of(report.nodeid, report.keywords))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of xdist ends: each of them has collected everything, so what one tells is enough."""
        told = getattr(node, "workeroutput", {})
        self.left_out = Counter(told.get("left_out", self.left_out))
        self.of_other_stage = told.get("of_other_stage", self.of_other_stage)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput.update(left_out=dict(self.left_out), of_other_stage=self.of_other_stage)
        elif self._counts:
            self._counts.parent.mkdir(parents=True, exist_ok=True)
            self._counts.write_text(json.dumps(self.counts(), indent=1), encoding="utf-8")

    def counts(self) -> dict[str, Any]:
        found = Counter(self.outcomes.values())
        return {
            **{outcome: found[outcome] for outcome in OUTCOMES},
            "bad": [name for name, outcome in self.outcomes.items() if outcome in ("failed", "error")],
            "groups": dict(self.groups),
            "left_out": dict(self.left_out),
            "of_other_stage": self.of_other_stage,
            "seconds": {nodeid: round(value, 3) for nodeid, value in self.seconds.items()},
        }


def session_of(nodeid: str) -> str:
    """The name of the Spark session that a test shares with others, in one process; '' for a test on its own."""
    if not nodeid.startswith(SHARES_SPARK):
        return ""
    return "runs" if nodeid.startswith(MAKES_RUNS) else "rows"


def markers_of(item: pytest.Item) -> set[str]:
    return {marker.name for marker in item.iter_markers()}


def may_run_beside_others(nodeid: str, markers: Collection[str]) -> bool:
    """Whether it is of the parallel stage."""
    alone = NOT_PARALLEL.intersection(markers)
    return not alone or (alone == {"spark"} and nodeid.startswith(MEASURES_NOTHING))


def in_tier(tier: str, markers: set[str]) -> bool:
    """``rest`` is what ``test`` leaves to `make test-all`; ``all`` is both. None of them has a nightly test."""
    if "router" in markers:
        return False
    if tier == "nightly" or "nightly" in markers:
        return tier == "nightly" and "nightly" in markers
    return tier == "all" or ("slow" in markers) == (tier == "rest")
