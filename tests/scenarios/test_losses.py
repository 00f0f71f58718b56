"""What is said of brokers that are gone though nobody stopped them?"""

from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace

import pytest

from records.rundir import RunDirectory
from records.writer import Recorder
from scenarios.harness.stage import Stage
from topologies.catalogue import build

GONE = "the Docker engine at unix:///engine.sock does not answer any more"


class Runtime:
    """Tells of brokers that are not there."""

    def __init__(self, dead: Collection[str], outage: str) -> None:
        self._dead, self._outage = dead, outage

    def alive(self, broker: str) -> bool:
        return broker not in self._dead

    def outage(self) -> str:
        return self._outage

    def log_tail(self, broker: str) -> list[str]:
        return [f"{broker} was well", "and then"]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    directory = RunDirectory.create(tmp_path, "run")
    options = SimpleNamespace(runtime="memory", protocol="memory")
    return Stage(options, build("mesh(brokers=3)"), directory, Recorder(directory, "main"), "main", None, ())  # type: ignore[arg-type]


def losses(stage: Stage, dead: Collection[str], outage: str) -> list[str]:
    stage.runtime = Runtime(dead, outage)  # type: ignore[assignment]
    return stage.losses()


def test_an_engine_that_took_all_brokers_along_is_one_sentence(stage: Stage) -> None:
    assert losses(stage, {"broker-1", "broker-2", "broker-3"}, GONE) == [GONE]


def test_a_broker_that_went_by_itself_is_told_with_its_last_words(stage: Stage) -> None:
    assert losses(stage, {"broker-2"}, "") == [
        "broker broker-2 ended though nobody stopped it; the last lines of its log:\nbroker-2 was well\nand then"
    ]


def test_where_all_brokers_live_nothing_is_lost(stage: Stage) -> None:
    assert losses(stage, (), GONE) == []
