"""Checks that only the right process of a container is recognized as the broker."""

from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from topologies.runtimes.containers import broker_container as brokercontainer
from topologies.runtimes.containers.broker_container import BrokerContainer

COMMAND = ["java", "-jar", "broker.jar"]
SHELL = ["/bin/sh", "-c", 'exec "$@"', "broker", *COMMAND]


class FakeEngine:
    """A Docker engine that reports process 7 for a container."""

    def __init__(self) -> None:
        self.attrs = {"State": {"Running": True, "Pid": 7}}

    def start(self) -> None: ...
    def reload(self) -> None: ...
    def get_wrapped_container(self) -> "FakeEngine":
        return self


class FakeContainerProcess:
    """Process 7. Its command line changes to each given value, and stays at the last."""

    pid = 7

    def __init__(self, lines: list[list[str]]) -> None:
        self._lines = lines

    def cmdline(self) -> list[str]:
        return self._lines.pop(0) if len(self._lines) > 1 else self._lines[0]

    def is_running(self) -> bool:
        return True

    def status(self) -> str:
        return str(psutil.STATUS_RUNNING)


@pytest.mark.parametrize(
    ("lines", "is_recognised"),
    [
        ([COMMAND], True),
        ([SHELL, COMMAND], True),
        ([["runc", "init"], [], ["runc", "init"], COMMAND], True),
        ([["somebody", "else"]], False),
    ],
)
def test_the_brokers_process_is_known_also_where_the_engines_own_is_seen_first(
    lines: list[list[str]], is_recognised: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise its memory and CPU are not sampled: on a busy machine, this happened with two of three brokers."""
    monkeypatch.setattr(brokercontainer.psutil, "Process", lambda _pid: FakeContainerProcess(list(lines)))
    container = BrokerContainer(
        "b", cast("Any", FakeEngine()), COMMAND, log=tmp_path / "log", host="unix:///nobody.sock"
    )
    container.start()
    assert container.pid == (7 if is_recognised else None)
