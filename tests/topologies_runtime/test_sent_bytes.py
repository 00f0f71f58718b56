"""Checks the counted bytes of links through a real Toxiproxy between plain sockets, where each byte is known."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from topologies.model.impairment import Impairment
from topologies.runtimes.ports import choose_ports
from topologies.runtimes.processes.broker import BrokerProcess
from topologies.runtimes.proxies.link_proxies import Carried, LinkProxies
from topologies.runtimes.proxies.proxy_plan import DoorUse, PlannedProxy, ProxyEndpoint
from topologies.runtimes.proxies.toxiproxy import LOG_LEVEL, command, find_toxiproxy, sent_bytes, with_open_connections

RESET = struct.pack("ii", 1, 0)  # without lingering, closing resets the connection
METRICS = """\
# TYPE toxiproxy_proxy_received_bytes_total counter
toxiproxy_proxy_received_bytes_total{direction="upstream",listener="127.0.0.1:1",proxy="a~b",upstream="127.0.0.1:2"} 9
toxiproxy_proxy_sent_bytes_total{direction="downstream",listener="127.0.0.1:1",proxy="a~b",upstream="127.0.0.1:2"} 3
toxiproxy_proxy_sent_bytes_total{direction="upstream",listener="127.0.0.1:1",proxy="a~b",upstream="127.0.0.1:2"} 4.5e+06
"""
BEGAN = '{"name":"a~b","direction":"%s","message":"Setup connection"}'
ENDED = '{"link":"127.0.0.1:9%s","proxy":"a~b","message":"Remove link 127.0.0.1:9%s from ToxicCollection"}'
FAILED = '{"link":"127.0.0.1:9upstream","proxy":"a~b","bytes":70,"message":"Could not write to destination"}'


def test_what_a_connection_sent_until_a_write_failed_is_added_to_what_others_sent() -> None:
    assert sent_bytes(METRICS, []) == {("a~b", "upstream"): 4_500_000, ("a~b", "downstream"): 3}
    assert sent_bytes(METRICS, [FAILED, BEGAN % "upstream", FAILED])["a~b", "upstream"] == 4_500_140


def test_a_connection_is_open_until_both_its_directions_have_ended() -> None:
    log = [BEGAN % "upstream", BEGAN % "downstream", ENDED % (("upstream",) * 2), ENDED % (("downstream",) * 2)]
    assert [with_open_connections(log[:count]) for count in range(5)] == [set(), {"a~b"}, {"a~b"}, {"a~b"}, set()]


Call = Callable[[], tuple[socket.socket, socket.socket]]


@contextmanager
def proxied(tmp_path: Path, impairment: Impairment) -> Iterator[tuple[LinkProxies, Call]]:
    """Provide a link to a plain socket in place of a broker. Each call opens a connection and returns both ends."""
    chosen = choose_ports(["api", "door"], None, ("127.0.0.1",))
    with socket.create_server(("127.0.0.1", 0)) as broker:
        upstream = f"127.0.0.1:{broker.getsockname()[1]}"
        planned = PlannedProxy(ProxyEndpoint("a", "b"), chosen["door"], upstream, impairment, (DoorUse("a"),))
        line = command(find_toxiproxy("a"), chosen["api"])
        server = BrokerProcess(line, LOG_LEVEL, log=tmp_path / "log", pid_file=tmp_path / "pid", remove=[])
        proxies = LinkProxies(server, chosen["api"], [planned])

        def called() -> tuple[socket.socket, socket.socket]:
            end = time.monotonic() + 20
            while True:
                try:
                    return socket.create_connection(("127.0.0.1", chosen["door"])), broker.accept()[0]
                except ConnectionRefusedError:  # the proxy is not open yet
                    assert time.monotonic() < end
                    time.sleep(0.05)

        try:
            proxies.start()
            yield proxies, called
        finally:
            proxies.close()


@pytest.mark.links
def test_bytes_count_each_way_whether_a_connection_ended_or_is_open_until_the_end(tmp_path: Path) -> None:
    with proxied(tmp_path, Impairment(delay_ms=50)) as (proxies, call):
        for ends_now in (True, False):
            caller, called = call()
            caller.sendall(b"a" * 1000)
            assert len(called.recv(1000, socket.MSG_WAITALL)) == 1000
            called.sendall(b"b" * 300)
            assert len(caller.recv(300, socket.MSG_WAITALL)) == 300
            if ends_now:
                caller.close()
                called.close()
        assert proxies.carried_at_end() == {"a": Carried(2000, 600)}
        assert proxies.is_shut("a")
        assert caller.recv(1) == b"", "its door is closed"


@pytest.mark.links
@pytest.mark.parametrize("impairment", [Impairment(), Impairment(bandwidth_kb_per_s=500)], ids=["free", "narrow"])
def test_a_connection_whose_receiver_breaks_off_under_full_load_is_counted(
    impairment: Impairment, tmp_path: Path
) -> None:
    """Toxiproxy's metrics leave the connection out if a read is in progress."""
    read_bytes = 0
    with proxied(tmp_path, impairment) as (proxies, call):
        caller, called = call()

        def pump() -> None:
            with suppress(OSError):
                while True:
                    caller.sendall(b"z" * 10_000)

        sending = threading.Thread(target=pump)
        sending.start()
        while read_bytes < 200_000:
            read_bytes += len(called.recv(65_536))
        called.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        called.close()
        sending.join(20)
        carried = proxies.carried_at_end()["a"]
    assert read_bytes <= carried.forth_bytes
    assert carried.back_bytes == 0
