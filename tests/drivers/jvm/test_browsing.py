"""Does a browse by a Java client end with a sentence when its broker goes, or answers too late?"""

from collections.abc import Callable
from typing import Any, cast

import pytest

from drivers.contract import DriverError
from drivers.jvm import connector as java_connector
from drivers.jvm.core import CoreConnector
from tests.drivers.doubles import BENCH, HubDouble
from topologies.endpoints import Endpoint
from topologies.trust import Trust

AT_A = Endpoint("a", "core", "tcp://localhost:1")


class Jvm(HubDouble):
    """Stands where the hub and the JVM's connection stand: browsing does what the test says."""

    protocol = "core"

    def __init__(self) -> None:
        super().__init__()
        self.on_browse: Callable[[], None] = lambda: None
        self.on_close: Callable[[], None] = lambda: None

    def open(self, *_what: object) -> None:
        self.tell("opened", None, None, None)

    def browse(self, _queue: str) -> None:
        self.on_browse()

    def abandon(self) -> None: ...

    def close(self) -> None:
        self.on_close()
        self.tell("closed", "", None, None)


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch) -> Jvm:
    made = Jvm()
    monkeypatch.setattr(java_connector, "hub", lambda _protocol: made)
    return made


def browsed(timeout_s: float = 5.0) -> list[Any]:
    return cast(list[Any], CoreConnector(Trust()).browse(AT_A, BENCH, "orders", timeout_s=timeout_s))


def test_what_lies_there_is_told(jvm: Jvm) -> None:
    jvm.on_browse = lambda: jvm.tell("browsed", [(b"body", 0)], "", None)
    (found,) = browsed()
    assert (found.body, found.age_ns) == (b"body", None)


def test_a_broker_that_dies_while_it_is_browsed_is_an_error_that_says_so(jvm: Jvm) -> None:
    jvm.on_browse = lambda: jvm.tell("lost", "the broker was killed", None, None)
    with pytest.raises(DriverError, match="browsing queue orders of broker a: the broker was killed, 0 messages"):
        browsed()


def test_a_broker_that_died_before_it_is_browsed_is_not_waited_for(jvm: Jvm) -> None:
    opened = jvm.open

    def opened_and_lost(*_what: object) -> None:
        opened()
        jvm.tell("lost", "the broker was killed", None, None)

    jvm.open = opened_and_lost  # type: ignore[method-assign]
    jvm.on_browse = lambda: pytest.fail("it was asked, and nobody will answer")
    with pytest.raises(DriverError, match="the broker was killed"):
        browsed()


def test_an_answer_after_the_time_is_nobodys(jvm: Jvm) -> None:
    def answered_twice() -> None:
        jvm.tell("browsed", [], "", None)
        jvm.tell("browsed", [], "", None)

    jvm.on_close = answered_twice
    with pytest.raises(DriverError, match="no end in time"):
        browsed(timeout_s=0.01)
