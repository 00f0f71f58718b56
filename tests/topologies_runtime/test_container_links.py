"""Checks Toxiproxy's container, and the detection of brokers that listen in containers."""

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from records.store.rundir import RunDirectory
from tests.support.docker import on_engine
from topologies.catalogue.lookup import build
from topologies.model.impaired_links import with_impairments
from topologies.model.impairment import Impairment
from topologies.runtimes.containers.broker_container import BrokerContainer
from topologies.runtimes.containers.links import (
    BrokerListeners,
    ProxyContainer,
    listeners,
    listening_among,
    listening_in,
)
from topologies.runtimes.containers.runtime import ContainerRuntime
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.proxies.proxy_plan import PlannedProxy, ProxyEndpoint
from topologies.runtimes.proxies.toxiproxy import SERVER, ToxiproxyUnavailable

TCP6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when
   0: 00000000000000000000000000000000:F0B4 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000
   1: 0000000000000000FFFF0000020012AC:F0B5 0000000000000000FFFF0000030012AC:8D0C 01 00000000:00000000 00:00000000
"""
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0B00007F:9C7F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 31027 1 0000000000000000
"""


@dataclass
class ContainerOfBroker:
    """The part of a broker's container that these tests need."""

    pid: int | None = 7
    is_leaving: bool = False


class LookCounter:
    """Counts the looks. Its clock advances only if a test sets it."""

    def __init__(self) -> None:
        self.now_s, self.count, self.found = 0.0, 0, frozenset[int]()

    def look(self, _pid: int, wanted: frozenset[int]) -> frozenset[int]:
        self.count += 1
        return wanted & self.found

    def clock(self) -> float:
        return self.now_s


def listeners_of(broker: ContainerOfBroker, looks: LookCounter) -> BrokerListeners:
    return BrokerListeners(
        {"b": cast("Any", broker), "uncalled": cast("Any", ContainerOfBroker())}, {"b": frozenset({10})},
        looks.look, looks.clock,
    )  # fmt: skip


def test_what_listens_is_told_apart_from_what_is_connected() -> None:
    assert listening_among(TCP6.splitlines()) == {0xF0B4}
    assert listening_among(TCP.splitlines()) == {0x9C7F}


def test_both_tables_of_a_process_are_read_where_the_first_does_not_do(tmp_path: Path) -> None:
    net = tmp_path / "7" / "net"
    net.mkdir(parents=True)
    (net / "tcp6").write_text(TCP6)
    assert listening_in(7, frozenset({0xF0B4}), tmp_path) == {0xF0B4}
    (net / "tcp").write_text(TCP)
    assert listening_in(7, frozenset({0xF0B4, 0x9C7F, 1}), tmp_path) == {0xF0B4, 0x9C7F}
    assert listening_in(8, frozenset({1}), tmp_path) == frozenset()


def test_a_broker_that_starts_is_looked_at_until_it_listens_and_then_seldom() -> None:
    looks, broker = LookCounter(), ContainerOfBroker()
    listeners = listeners_of(broker, looks)
    assert listeners.listening() == frozenset()
    looks.found = frozenset({10})
    assert listeners.listening() == frozenset()
    looks.now_s = 0.5
    assert listeners.listening() == {10}
    for looks.now_s in (0.6, 2.0, 5.4):
        assert listeners.listening() == {10}
    assert looks.count == 2
    looks.now_s, looks.found = 5.5, frozenset()
    assert listeners.listening() == frozenset()


def test_a_broker_whose_process_is_gone_or_another_listens_no_more() -> None:
    looks, broker = LookCounter(), ContainerOfBroker()
    looks.found = frozenset({10})
    listeners = listeners_of(broker, looks)
    assert listeners.listening() == {10}
    broker.pid = None
    assert listeners.listening() == frozenset()
    broker.pid, looks.found = 8, frozenset()
    assert listeners.listening() == frozenset()
    assert looks.count == 2


def test_a_broker_that_shuts_down_is_looked_at_often() -> None:
    looks, broker = LookCounter(), ContainerOfBroker()
    looks.found = frozenset({10})
    listeners = listeners_of(broker, looks)
    assert listeners.listening() == {10}
    broker.is_leaving, looks.found, looks.now_s = True, frozenset(), 0.1
    assert listeners.listening() == frozenset()


def test_a_broker_has_to_listen_where_links_call_it() -> None:
    every = tuple(
        PlannedProxy(ProxyEndpoint(link, broker), 1, f"{broker}:{port}", Impairment(), ())
        for link, broker, port in (("l", "a", 5), ("m", "a", 6), ("l", "b", 7))
    )
    assert listeners(every) == {"a": {5, 6}, "b": {7}}


def test_a_container_whose_process_nobody_sees_is_refused_with_the_end_of_its_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "toxiproxy.log"
    log.write_text("first\nno such program\n")
    monkeypatch.setattr(BrokerContainer, "start", lambda _: None)
    server = ProxyContainer("Toxiproxy's container", cast("Any", None), [], log=log, host="unix:///nowhere")
    with pytest.raises(
        ToxiproxyUnavailable,
        match=r"install-toxiproxy.sh .* or use --runtime processes; its log .* ends: first \| no such program",
    ):
        server.start()


@pytest.mark.containers
@pytest.mark.links
def test_a_topology_whose_files_cannot_be_written_leaves_nothing_of_its_proxies(tmp_path: Path) -> None:
    def disk_full(*_: object) -> dict[str, str]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    topology = with_impairments(build("source-and-sink"), "*")
    runtime = ContainerRuntime(topology, RunDirectory.create(tmp_path, f"run-{tmp_path.name}"), renderer=disk_full)
    before = on_engine()
    with pytest.raises(RuntimeFailed, match="No space left on device"):
        runtime.up(lambda _line: None)
    assert on_engine(tmp_path) == before


TELLS_ITS_MOUNTS = r"""#!/bin/sh
cut -d" " -f5 /proc/self/mountinfo | grep -vE "^/($|proc|sys|dev|etc/(hosts|hostname|resolv.conf)$)" | sort
exit 1
"""


@pytest.mark.containers
def test_an_unusable_toxiproxy_server_is_rejected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The server does not run in the image. Only the server and its log are mounted."""
    server = tmp_path / "bin" / SERVER
    server.parent.mkdir()
    server.write_text(TELLS_ITS_MOUNTS)
    server.chmod(0o755)
    monkeypatch.setenv("PATH", f"{server.parent}:{os.environ['PATH']}")
    runs, topology = tmp_path / "runs", with_impairments(build("source-and-sink"), "*")
    runtime = ContainerRuntime(topology, RunDirectory.create(runs, f"run-{tmp_path.name}"))
    before = on_engine()
    with pytest.raises(RuntimeFailed, match=r"Toxiproxy.*: /brokerbench/log \| /brokerbench/toxiproxy-server$"):
        runtime.up(lambda _line: None)
    runtime.close()
    assert on_engine(runs) == before
