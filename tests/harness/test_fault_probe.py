"""Checks the measurements of a probe: gone, frozen, serving, or standing by behind a partner that serves."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from drivers.memory.connector import MemoryConnector
from harness.faults import probe as probe_module
from harness.faults.probe import RuntimeProbe, partners
from harness.memory_runtime import MemoryRuntime
from tests.support.waiting import until
from tests.topologies.test_classic_link_log import GAVE_UP, LOG, URI
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.management import links as links_module
from topologies.management.links import UnprovenLink
from topologies.model.endpoints import Endpoint
from topologies.model.link import Link
from topologies.model.management import ManagementFailed


@pytest.fixture
def memory() -> Iterator[tuple[MemoryRuntime, RuntimeProbe]]:
    runtime = MemoryRuntime(["broker-1", "broker-1-standby"])
    connectors: Any = {"memory": MemoryConnector(runtime.network)}
    yield runtime, RuntimeProbe(runtime, build("active-standby"), connectors)  # type: ignore[arg-type]
    runtime.close()


def test_a_broker_serves_until_it_is_killed_and_again_when_it_is_started(
    memory: tuple[MemoryRuntime, RuntimeProbe],
) -> None:
    runtime, probe = memory
    assert (probe.gone("broker-1"), probe.serves("broker-1")) == (False, True)
    runtime.kill("broker-1")
    assert (probe.gone("broker-1"), probe.serves("broker-1")) == (True, False)
    runtime.start("broker-1")
    assert (probe.gone("broker-1"), probe.serves("broker-1")) == (False, True)


def test_a_broker_of_a_pair_may_stand_by_while_its_partner_takes_logins(
    memory: tuple[MemoryRuntime, RuntimeProbe],
) -> None:
    runtime, probe = memory
    runtime.network.kill("broker-1")  # accepts no login, but its process exists
    assert probe.serves("broker-1")
    runtime.network.kill("broker-1-standby")
    assert not probe.serves("broker-1")


class MeshRuntime:
    """A runtime of a mesh. All brokers except ``absent`` run, and no agent answers."""

    name = "processes"

    def __init__(self, absent: Collection[str] = ()) -> None:
        self._absent = absent

    def alive(self, broker: str) -> bool:
        return broker not in self._absent


def test_a_broker_has_joined_once_its_links_to_running_brokers_are_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    proven: list[list[str]] = []
    doubts: list[str] = ["a link"]

    def unproven(_runtime: object, _topology: object, links: Sequence[Link]) -> list[str]:
        proven.append([link.name for link in links])
        return doubts

    monkeypatch.setattr(probe_module, "still_connecting", unproven)
    monkeypatch.setattr(RuntimeProbe, "serves", lambda _self, _broker: True)
    for absent, links in (
        ((), ["broker-1-to-broker-3", "broker-2-to-broker-3"]),
        (("broker-1",), ["broker-2-to-broker-3"]),
    ):
        probe = RuntimeProbe(MeshRuntime(absent), build("mesh"), {})  # type: ignore[arg-type]
        doubts[:] = ["a link"]
        assert not probe.joined("broker-3")
        doubts.clear()
        assert probe.joined("broker-3")
        assert proven[-1] == links


def test_a_join_does_not_wait_for_links_whose_user_a_broker_rejects(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "links: {broker-1-to-broker-3: {user_name: links}}\nbrokers: {broker-1: {users: [{name: links}]}}\n"
    topology = Overlay(Path("users.yaml"), text).apply(build("mesh"))
    down = {"broker-1-to-broker-3"}
    monkeypatch.setattr(
        probe_module, "still_connecting", lambda _runtime, _topology, links: down & {link.name for link in links}
    )
    monkeypatch.setattr(RuntimeProbe, "serves", lambda _self, _broker: True)
    probe = RuntimeProbe(MeshRuntime(), topology, {})  # type: ignore[arg-type]
    assert probe.joined("broker-3")
    down.add("broker-2-to-broker-3")
    assert not probe.joined("broker-3")


def test_a_broker_that_takes_no_login_or_cannot_be_asked_has_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object) -> list[str]:
        raise ManagementFailed("broker 'broker-1' has no management agent")

    monkeypatch.setattr(links_module, "unproven", silent)
    probe = RuntimeProbe(MeshRuntime(), build("mesh"), {})  # type: ignore[arg-type]
    monkeypatch.setattr(RuntimeProbe, "serves", lambda _self, _broker: False)
    assert not probe.joined("broker-3")
    monkeypatch.setattr(RuntimeProbe, "serves", lambda _self, _broker: True)
    assert not probe.joined("broker-3")


def test_links_are_up_only_if_all_are_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = RuntimeProbe(MeshRuntime(), build("mesh"), {})  # type: ignore[arg-type]
    down: set[str] = set()
    monkeypatch.setattr(
        probe_module, "unproven", lambda _runtime, _topology, links: down & {link.name for link in links}
    )
    assert probe.links_are_up()
    for link in build("mesh").links:
        down = {link.name}
        assert not probe.links_are_up()


def test_links_of_a_broker_that_does_not_answer_are_not_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object) -> list[str]:
        raise ManagementFailed("broker 'broker-1' did not answer")

    monkeypatch.setattr(probe_module, "unproven", silent)
    assert not RuntimeProbe(MeshRuntime(), build("mesh"), {}).links_are_up()  # type: ignore[arg-type]


class GaveUpRuntime(MeshRuntime):
    """All brokers run. The openers of one-way links have written these log lines."""

    def __init__(self, log: Path, lines: Sequence[str]) -> None:
        super().__init__()
        self._log = log
        log.write_text("\n".join(lines), encoding="utf-8")

    def log_path(self, broker: str) -> Path:
        return self._log

    def rendered(self) -> dict[str, str]:
        connectors = "".join(
            f'<networkConnector name="{name}" uri="static:({URI})"/>' for name in ("queues-1", "queues-2", "topics")
        )
        return {"source/activemq.xml": f'<broker xmlns="http://activemq.apache.org/schema/core">{connectors}</broker>'}


def test_a_broker_has_joined_although_its_links_gave_up_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a link cannot come up, so the join does not wait for it. The log does not name the link."""
    topology = build("parallel-connectors(queue_connectors=2)")
    down = ["queues-1", "queues-2", "topics"]

    def unproven(_runtime: object, _topology: object, links: Sequence[Link]) -> list[UnprovenLink]:
        return [UnprovenLink(link, ("no bridge",)) for link in links if link.name in down]

    monkeypatch.setattr(links_module, "unproven", unproven)
    monkeypatch.setattr(RuntimeProbe, "serves", lambda _self, _broker: True)

    def joined(*lines: str) -> bool:
        return RuntimeProbe(GaveUpRuntime(tmp_path / "log", lines), topology, {}).joined("sink")  # type: ignore[arg-type]

    assert not joined(*LOG[:-1])
    assert not joined(*LOG), "one of the three gave up; two may come up"
    assert joined(*LOG, GAVE_UP, GAVE_UP)
    assert not joined(*LOG, GAVE_UP, GAVE_UP, LOG[0]), "the opener was started again"
    down[:] = ["topics"]
    assert joined(*LOG)


def test_partners_are_the_other_brokers_of_a_pair() -> None:
    pair, mesh = build("active-standby"), build("mesh")
    assert [partners(pair, broker.name) for broker in pair.brokers] == [["broker-1-standby"], ["broker-1"]]
    assert [partners(mesh, broker.name) for broker in mesh.brokers] == [[], [], []]


class DeadBrokerRuntime:
    """A runtime with one broker whose process has ended, with a port that another process may still hold."""

    def __init__(self, port: int, pid: int | None = None) -> None:
        self._port, self._pid = port, pid

    def alive(self, broker: str) -> bool:
        return False

    def pid(self, broker: str) -> int | None:
        return self._pid

    def endpoint(self, broker: str, protocol: str) -> Endpoint:
        return Endpoint(broker, protocol, f"stomp://127.0.0.1:{self._port}")


def probe_of(runtime: DeadBrokerRuntime) -> RuntimeProbe:
    return RuntimeProbe(runtime, build("single"), {"stomp": SimpleNamespace()})  # type: ignore[arg-type, dict-item]


def test_a_broker_is_not_gone_while_its_port_accepts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        probe = probe_of(DeadBrokerRuntime(listener.getsockname()[1]))
        assert not probe.gone("broker-1")
    assert probe.gone("broker-1")


def test_a_broker_is_frozen_while_its_process_is_stopped() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        probe = probe_of(DeadBrokerRuntime(1, process.pid))
        assert not probe.frozen("broker-1")
        os.kill(process.pid, signal.SIGSTOP)
        until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)
        assert probe.frozen("broker-1")
    finally:
        process.kill()
        process.wait()
