"""Checks that the JVM's events arrive even if the process has more descriptors than select() can handle."""

import fcntl
import os
import queue
import resource
from collections.abc import Iterator
from typing import Any

import pytest

from drivers.jvm.hub import JavaHub

BEYOND_SELECT = 1_500


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """A process may have more than select() can wait for, as Locust sees to."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * BEYOND_SELECT), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Bell:
    """Replaces Hub.java: rings once for each event."""

    def __init__(self, writing: int) -> None:
        self._writing, self._events = writing, list[tuple[Any, ...]]()

    def tell(self, *event: object) -> None:
        self._events.append((*event, None, None, None)[:5])
        os.write(self._writing, b".")

    def take(self) -> list[tuple[Any, ...]]:
        events, self._events = self._events, []
        return events


def test_events_are_heard_by_a_descriptor_beyond_those_that_select_waits_for(
    many_descriptors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, BEYOND_SELECT) for end in os.pipe()]
    monkeypatch.setattr("drivers.jvm.hub.os.pipe", lambda: ends)
    monkeypatch.setattr(JavaHub, "java_class", lambda _hub, _name: Bell)
    hub, heard = JavaHub("of a test"), queue.SimpleQueue[tuple[str, Any]]()
    number = hub.listen(lambda event, value, _second, _third: heard.put((event, value)))
    for seq in range(3):
        hub.java.tell(number, "settled", seq)
    assert [heard.get(timeout=60) for _ in range(3)] == [("settled", seq) for seq in range(3)]
