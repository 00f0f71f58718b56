"""Checks that a container's process is recognised as the broker, and that other processes are not."""

from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from topologies.runtimes.containers import broker_container as brokercontainer
from topologies.runtimes.containers.broker_container import BrokerContainer

COMMAND = ["java", "-jar", "broker.jar"]
SHELL = ["/bin/sh", "-c", 'exec "$@"', "broker", *COMMAND]


class Engine:
    """A container that the engine says runs as process 7."""

    def __init__(self) -> None:
        self.attrs = {"State": {"Running": True, "Pid": 7}}

    def start(self) -> None: ...
    def reload(self) -> None: ...
    def get_wrapped_container(self) -> "Engine":
        return self


class Process:
    """Process 7. Its command line is each of the given ones in turn, and then stays the last one."""

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
    """Its memory and CPU would not be sampled, which a busy machine showed of two brokers in three."""
    monkeypatch.setattr(brokercontainer.psutil, "Process", lambda _pid: Process(list(lines)))
    container = BrokerContainer("b", cast("Any", Engine()), COMMAND, log=tmp_path / "log", host="unix:///nobody.sock")
    container.start()
    assert container.pid == (7 if is_recognised else None)
