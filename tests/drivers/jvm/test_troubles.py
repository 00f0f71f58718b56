"""Checks that unexpected errors in the JVM are always reported to Python and to the brokers."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import jpype
import numpy as np
import pytest

from drivers.jvm import vm
from drivers.jvm.event_buffers import SEND_ROW
from harness.java_parts import find_java_parts
from records.store.packing import NULL_INT64
from tests.drivers.java_loading import ask_for_sender, classes
from tests.support.waiting import until

pytestmark = pytest.mark.java
vm.use(find_java_parts)
LACKING = "NoClassDefFoundError: org/example/Lacking"


@pytest.fixture(scope="module", params=["core", "openwire"])
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def java(library: str) -> Callable[[str], Any]:
    return classes(library)


@pytest.fixture
def hub(java: Callable[[str], Any]) -> Iterator[Any]:
    reading, writing = os.pipe()
    hub = java("brokerbench.Hub")(writing)
    yield hub
    os.close(reading)
    os.close(writing)


@pytest.fixture
def books(java: Callable[[str], Any], hub: Any) -> list[Any]:
    """What every client is given."""
    rows = (java(f"brokerbench.{name}")(hub, 1) for name in ("SendRows", "ReceiptRows"))
    return [hub, java("brokerbench.Names")(), *rows]


@pytest.fixture
def broken(java: Callable[[str], Any], books: list[Any]) -> Any:
    return java("brokerbench.Broken")(*books)


def next_event(hub: Any) -> tuple[str, str]:
    """The next event and its first value."""
    _, event, value, _, _ = until(lambda: list(hub.take()))[0]
    return str(event), str(value)


def test_an_error_while_it_connects_is_told_and_that_it_is_closed(hub: Any, broken: Any) -> None:
    broken.open("", "", "", "", "")
    assert next_event(hub) == ("unreachable", LACKING)


def test_an_error_while_a_sender_is_made_is_told_to_who_asked(
    java: Callable[[str], Any], hub: Any, broken: Any
) -> None:
    ask_for_sender(java, broken)
    assert next_event(hub) == ("unsendable", LACKING)


def test_a_sender_whose_connection_goes_as_it_is_made_is_made_by_the_next_one(
    java: Callable[[str], Any], books: list[Any], hub: Any
) -> None:
    ask_for_sender(java, java("brokerbench.Fleeting")(*books, 3))
    _, event, sender, _, request = until(lambda: list(hub.take()))[0]
    assert (str(event), int(request)) == ("sender", 7)
    sender.stop()


def test_a_sender_that_no_connection_will_make_any_more_was_not_refused(
    java: Callable[[str], Any], books: list[Any], hub: Any
) -> None:
    client = java("brokerbench.Fleeting")(*books, 1_000_000)
    ask_for_sender(java, client)
    client.give()
    events: list[Any] = []
    until(lambda: events.extend(hub.take()) or len(events) == 2)  # by two threads, in any order
    by_name = {str(event): values for _, event, *values in events}
    assert str(by_name["over"][0]) == "there is nobody"
    words, refused, request = by_name["unsendable"]
    assert (str(words), bool(refused), int(request)) == ("the connection is gone: reset", False, 7)


@pytest.mark.parametrize("losses", [1_000_000, -1])
def test_a_leaving_client_sends_no_further_requests(
    java: Callable[[str], Any], books: list[Any], hub: Any, losses: int
) -> None:
    client = java("brokerbench.Fleeting")(*books, losses)
    for request in (7, 8):
        ask_for_sender(java, client, request)
    until(lambda: client.asked > 0)
    client.close()
    events: dict[str, list[Any]] = {}
    until(lambda: events.update({str(event): values for _, event, *values in hub.take()}) or len(events) == 2)
    assert set(events) == {"closed", "unsendable"}
    assert not events["unsendable"][1], "no broker said no"
    until(lambda: "brokerbench-leave-4243" not in java_threads())


def test_a_client_that_leaves_a_message_unanswered_says_so(
    java: Callable[[str], Any], books: list[Any], hub: Any
) -> None:
    client = java("brokerbench.Fleeting")(*books, 0)
    ask_for_sender(java, client, body=jpype.JArray(jpype.JByte)(64))
    _, event, sender, _, _ = until(lambda: list(hub.take()))[0]
    assert str(event) == "sender"
    sender.add(jpype.JArray(jpype.JLong)([time.perf_counter_ns()]), True)
    until(lambda: client.written == 1)
    client.abandon()
    events: dict[str, Any] = {}
    until(lambda: events.update({str(event): value for _, event, value, _, _ in hub.take()}) or "abandoned" in events)
    assert str(events["abandoned"]) == "1 message is in doubt"


def test_a_message_in_doubt_is_told_of_the_broker_by_whose_connection_it_was_written(
    java: Callable[[str], Any], books: list[Any]
) -> None:
    sends = books[2]
    java("brokerbench.Held").send(java("brokerbench.Fleeting")(*books, 0), 7)
    size, half = divmod(int(sends.take()), 2)
    (row,) = np.frombuffer(bytes(memoryview(sends.buffer(half))[:size]), SEND_ROW)
    assert (row["attempt"], row["broker"], row["settled_ns"]) == (1, 7, NULL_INT64)


def test_a_task_that_fails_keeps_no_other_one_waiting(java: Callable[[str], Any]) -> None:
    ran = threading.Event()

    class Fails:
        def run(self) -> None:
            raise jpype.JClass("java.lang.StackOverflowError")("as a test wants it")

    class Goes:
        def run(self) -> None:
            ran.set()

    work = java("brokerbench.Worker")("work-of-a-test")
    for task in (Fails(), Goes()):
        work.add(jpype.JProxy("java.lang.Runnable", inst=task))
    assert ran.wait(60)
    work.end()


class Message:
    """An empty delivery; ``torn``: its connection is lost while it is read."""

    def __init__(self, torn: Any) -> None:
        self._torn, self.acknowledged = torn, False

    def getBodyLength(self) -> int:  # noqa: N802 (Java's name)
        if self._torn:
            raise self._torn
        return 0

    def readBytes(self, _into: Any) -> int:  # noqa: N802 (Java's name)
        return 0

    def acknowledge(self) -> None:
        self.acknowledged = True


def test_a_message_that_could_not_be_recorded_is_not_acknowledged(
    library: str, java: Callable[[str], Any], broken: Any
) -> None:
    message = Message(java("javax.jms.JMSException")("the connection is going"))
    try:
        broken.receiver().onMessage(jpype.JProxy(java("javax.jms.BytesMessage"), inst=message))
        acknowledged = message.acknowledged or library == "core"  # its client does so when the listener returns
    except jpype.JClass("java.lang.RuntimeException"):
        acknowledged = False
    assert not acknowledged


def test_an_error_while_a_message_is_recorded_ends_its_client_with_the_reason(
    java: Callable[[str], Any], hub: Any, broken: Any
) -> None:
    with pytest.raises(jpype.JClass("java.lang.NoClassDefFoundError")):
        broken.receiver().onMessage(jpype.JProxy(java("javax.jms.BytesMessage"), inst=Message(None)))
    assert next_event(hub) == ("over", f"nothing more can be received: {LACKING}")


def test_a_client_that_was_abandoned_leaves_no_thread_behind(hub: Any, broken: Any) -> None:
    broken.abandon()
    assert next_event(hub)[0] == "abandoned"
    until(lambda: "brokerbench-abandon-4242" not in java_threads())


def java_threads() -> list[str]:
    threads = jpype.JClass("java.lang.Thread").getAllStackTraces().keySet()
    return [str(thread.getName()) for thread in threads]
