"""Checks which proxies each link gets, how they are set, and the error where there can be none."""

import shutil
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from topologies.artemis.broker import Acceptor, ArtemisBroker
from topologies.artemis.links import AddressMatch, BrokerConnection
from topologies.artemis.product import ARTEMIS
from topologies.catalogue.lookup import build
from topologies.model.impaired_links import impaired
from topologies.model.impairment import Impairment
from topologies.model.topology import Topology
from topologies.runtimes.choice import Seen, choose, containers_for
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.proxies import toxiproxy
from topologies.runtimes.proxies.link_proxies import Carried, LinkProxies, Place, no_proxies
from topologies.runtimes.proxies.proxy_plan import API, PlannedProxy, ProxyEndpoint, Use, proxy_endpoints, proxy_plan
from topologies.runtimes.proxies.socket_bytes import (
    HEADER,
    LISTEN,
    NLMSG_DONE,
    SEQUENCE_NUMBERS,
    Connection,
    _asked,
    connections_at,
    listening_ports,
)
from topologies.runtimes.proxies.toxiproxy import ToxiproxyUnavailable, find_toxiproxy, toxics


def test_links_that_are_as_they_come_need_no_proxy() -> None:
    assert proxy_endpoints(build("mesh")) == []
    assert no_proxies(build("mesh"), "containers") == ""


def test_every_broker_that_a_link_may_call_has_a_door() -> None:
    topology = impaired(build("mesh-of-pairs(pairs=2)"), "*:delay=1ms")
    link = "broker-1-to-broker-2"
    assert proxy_endpoints(topology) == [API, ProxyEndpoint(link, "broker-2"), ProxyEndpoint(link, "broker-2-standby")]


def test_a_way_leads_from_its_door_to_the_listener_that_the_link_calls() -> None:
    topology = impaired(build("source-and-sink"), "*:delay=7ms")
    door = ProxyEndpoint("source-to-sink", "sink")
    found = proxy_plan(
        topology, {API: 1, door: 2}, {("sink", "openwire"): "127.0.0.1:3", ("sink", "amqp"): "127.0.0.1:4"}
    )
    assert found == (PlannedProxy(door, 2, "127.0.0.1:3", Impairment(delay_ms=7)),)


def test_an_amqp_connection_calls_the_listener_for_amqp() -> None:
    topology = impaired(build("senders"), "*")
    door = ProxyEndpoint("source-to-sink", "sink")
    address = {("sink", each): f"127.0.0.1:{n}" for n, each in enumerate(topology.broker("sink").protocols)}
    (way,) = proxy_plan(topology, {API: 1, door: 2}, address)
    assert way.upstream == address["sink", topology.broker("sink").listener("amqp")]


def test_a_door_is_open_while_its_broker_listens() -> None:
    proxies = LinkProxies(None, 1, [PlannedProxy(ProxyEndpoint("a-to-b", "b"), 2, "127.0.0.1:10", Impairment())])  # type: ignore[arg-type]
    told: list[tuple[str, bool]] = []
    proxies._api.enable = lambda proxy, enabled: told.append((proxy, enabled))  # type: ignore[method-assign]
    for listening in ({11}, {10, 11}, {10}, set[int](), {10}):
        proxies._set_doors(listening)
    assert told == [("a-to-b~b", True), ("a-to-b~b", False), ("a-to-b~b", True)]


def doors(*ways: PlannedProxy) -> tuple[LinkProxies, dict[str, bool]]:
    """Proxies whose brokers all listen, and what Toxiproxy was told last of each."""
    sockets = SimpleNamespace(listening=lambda: {10})
    proxies = LinkProxies(None, 1, ways, Place(sockets))  # type: ignore[arg-type]
    told: dict[str, bool] = {}
    proxies._api.enable = told.__setitem__  # type: ignore[method-assign]
    proxies._set_doors({10})
    return proxies, told


def test_a_link_that_is_cut_stays_shut_while_its_brokers_listen_until_it_is_mended() -> None:
    of_a, of_b = (PlannedProxy(ProxyEndpoint(link, "hub"), 2, "127.0.0.1:10", Impairment()) for link in ("a", "b"))
    proxies, told = doors(of_a, of_b)
    proxies.cut("a")
    proxies._set_doors({10})
    assert (told, proxies.is_shut("a"), proxies.is_shut("b")) == ({"a~hub": False, "b~hub": True}, True, False)
    proxies.mend("a")
    assert (told, proxies.is_shut("a")) == ({"a~hub": True, "b~hub": True}, False)


def test_a_link_that_is_made_slow_gets_back_what_it_was_set_to() -> None:
    way = PlannedProxy(ProxyEndpoint("a", "hub"), 2, "127.0.0.1:10", Impairment(delay_ms=5))
    proxies, _ = doors(way)
    there = {toxic["name"]: toxic for toxic in toxics(way.impairment)}
    proxies._api.add_toxic = lambda _, toxic: there.update({toxic["name"]: toxic})  # type: ignore[method-assign]
    proxies._api.remove_toxic = lambda _, toxic: there.pop(toxic["name"]) and None  # type: ignore[method-assign]
    for wanted in (Impairment(delay_ms=40, jitter_ms=3), Impairment(bandwidth_kb_per_s=9), None):
        proxies.shape("a", wanted)
        assert list(there.values()) == toxics(wanted or way.impairment)
    with pytest.raises(RuntimeFailed, match="link 'b' goes through no proxy"):
        proxies.shape("b", None)


def test_a_link_that_shares_its_door_with_others_cannot_be_cut_alone() -> None:
    uses = (("east", Use("east-west", False)), ("north", Use("north-west", False)))
    proxies, told = doors(PlannedProxy(ProxyEndpoint("", "west"), 2, "127.0.0.1:10", Impairment(), "", True, uses))
    with pytest.raises(RuntimeFailed, match="shares the door to a member of its cluster with north-west"):
        proxies.cut("east-west")
    with pytest.raises(RuntimeFailed, match="cannot have a fault alone"):
        proxies.swallow("east-west")
    with pytest.raises(RuntimeFailed, match="link 'nowhere' goes through no proxy"):
        proxies.cut("nowhere")
    assert told == {"west": True}


def test_a_door_that_cannot_be_set_is_told_once_and_keeps_no_other_shut(caplog: pytest.LogCaptureFixture) -> None:
    every = [PlannedProxy(ProxyEndpoint(name, "b"), 2, "127.0.0.1:10", Impairment()) for name in ("stuck", "well")]
    proxies = LinkProxies(None, 1, every)  # type: ignore[arg-type]
    told: list[str] = []

    def enable(proxy: str, enabled: bool) -> None:
        if proxy == "stuck~b" and len(told) < 2:
            raise ToxiproxyUnavailable("its port is taken")
        told.append(proxy)

    proxies._api.enable = enable  # type: ignore[method-assign]
    for listening in ({10}, {10}, set[int](), {10}):
        proxies._set_doors(listening)
    assert told == ["well~b", "well~b", "stuck~b", "well~b"]
    assert caplog.messages == ["link stuck: its door to b cannot be set: its port is taken"]


class Process:
    """Toxiproxy's process, for as long as somebody says that it lives."""

    alive, log = True, Path("toxiproxy.log")

    def log_lines(self) -> list[str]:
        return ["it was well", "and then"]

    def kill(self) -> None:
        self.alive = False

    def wait(self, timeout_s: float) -> bool:
        return True


def test_a_toxiproxy_that_ends_is_told_unless_it_was_stopped() -> None:
    process = Process()
    proxies = LinkProxies(process, 1, [])  # type: ignore[arg-type]
    assert proxies.loss() == ""
    process.alive = False
    assert proxies.loss().endswith("ended though nobody stopped it; its log toxiproxy.log ends: it was well | and then")
    proxies.close()
    assert proxies.loss() == ""


def test_each_broker_that_an_amqp_connection_may_call_is_called_by_its_own_listener() -> None:
    first, second = ArtemisBroker("first", acceptors=(Acceptor("all"),)), ArtemisBroker("second")
    opener = ArtemisBroker("opener")
    link = BrokerConnection(opener, first, senders=(AddressMatch("x"),), alternates=(second,), impairment=Impairment())
    topology = Topology("t", (opener, first, second), (link,), (), ARTEMIS)
    ports = {door: number for number, door in enumerate(proxy_endpoints(topology), start=1)}
    upstream = {(each.name, each.listener("amqp")): f"127.0.0.1:{n}" for n, each in enumerate((first, second))}
    assert [way.upstream for way in proxy_plan(topology, ports, upstream)] == ["127.0.0.1:0", "127.0.0.1:1"]


def test_the_kernel_knows_who_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as four, socket.create_server(("", 0)) as everywhere:
        ports = {each.getsockname()[1] for each in (four, everywhere)}
        assert ports <= listening_ports()
    assert not ports & listening_ports()


def test_both_ways_are_delayed_before_they_are_narrowed() -> None:
    found = [(each["stream"], each["type"], each["attributes"]) for each in toxics(Impairment(40, 5, 1000))]
    latency, rate = {"latency": 40, "jitter": 5}, {"rate": 1000}
    assert found == [
        ("upstream", "latency", latency),
        ("upstream", "bandwidth", rate),
        ("downstream", "latency", latency),
        ("downstream", "bandwidth", rate),
    ]


def test_a_link_that_is_only_measured_has_no_toxic() -> None:
    assert toxics(Impairment()) == []


@pytest.fixture
def no_toxiproxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toxiproxy.sys, "executable", str(tmp_path / "python"))


@pytest.mark.usefixtures("no_toxiproxy")
def test_where_there_is_no_toxiproxy_the_link_and_the_line_that_installs_it_are_named() -> None:
    topology = impaired(build("source-and-sink"), "*:delay=1ms")
    with pytest.raises(ToxiproxyUnavailable, match=r"link 'source-to-sink' .* bash \.ci/install-toxiproxy\.sh"):
        find_toxiproxy("source-to-sink")
    for runtime in ("processes", "containers"):
        assert "bash .ci/install-toxiproxy.sh" in no_proxies(topology, runtime)
    assert (toxiproxy.Path(__file__).parents[2] / ".ci" / "install-toxiproxy.sh").exists()


def test_a_toxiproxy_beside_this_python_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = tmp_path / "toxiproxy-server"
    server.symlink_to(shutil.which("true") or pytest.fail("no true"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(toxiproxy.sys, "executable", str(tmp_path / "python"))
    assert find_toxiproxy("any") == server


@pytest.mark.parametrize(
    ("runtime", "which"),
    [("external", "brokers that run already"), ("memory", "brokers in memory")],
)
def test_only_links_between_brokers_that_a_run_starts_go_through_proxies(runtime: str, which: str) -> None:
    told = no_proxies(impaired(build("mesh"), "*"), runtime)
    assert told.startswith("link 'broker-1-to-broker-2' goes through Toxiproxy, which gets between brokers that a run")
    assert told.endswith(f"not between {which}; use --runtime containers or processes, or leave the links as they are")


def test_links_that_are_delayed_go_with_containers_where_these_can_be_had() -> None:
    def there(_flavour: str, _image: str | None) -> Seen:
        return Seen("Docker engine 1", image="an image")

    assert choose("", None, containers_for(impaired(build("mesh"), "*:delay=1ms"), there)).runtime == "containers"


def test_the_version_that_is_built_is_the_one_that_the_error_names() -> None:
    script = (Path(__file__).parents[2] / ".ci" / "install-toxiproxy.sh").read_text(encoding="utf-8")
    assert f"version=v{toxiproxy.VERSION} " in script


def test_the_kernel_counts_what_a_connection_carried_each_way() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        caller = socket.create_connection(("127.0.0.1", port))
        called, (_, caller_port) = server.accept()
        with caller, called:
            caller.sendall(b"a" * 1000)
            assert len(called.recv(1000, socket.MSG_WAITALL)) == 1000
            called.sendall(b"b" * 300)
            assert len(caller.recv(300, socket.MSG_WAITALL)) == 300
            caller.sendall(b"c")  # with it the caller's kernel confirms what it has received
            called.recv(1)
            assert connections_at(port) == [Connection(("127.0.0.1", caller_port), 1001, 300)]
        assert connections_at(port) == []


def test_connections_are_found_at_a_socket_that_takes_both_kinds_of_addresses() -> None:
    """As Go's "0.0.0.0" does, which is where doors in a container are."""
    with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as caller, server.accept()[0] as called:
            caller.sendall(b"abc")
            assert called.recv(3, socket.MSG_WAITALL) == b"abc"
            assert connections_at(port) == [Connection(("::ffff:127.0.0.1", caller.getsockname()[1]), 3, 0)]


def test_what_is_left_of_an_answer_is_not_taken_for_the_next_one() -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 4) as netlink, socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            given_up = _asked(socket.AF_INET, LISTEN, netlink=Interrupted(netlink))  # type: ignore[arg-type]
            assert given_up == []
            with pytest.raises(OSError, match="the kernel tells nothing of sockets"):  # it is busy with the old answer
                connections_at(port, netlink)
            assert len(connections_at(port, netlink)) == 1


class Interrupted:
    """A netlink socket whose user asks, and then goes away without its answer."""

    def __init__(self, netlink: socket.socket) -> None:
        self.sendto = netlink.sendto

    def recv(self, _size: int) -> bytes:
        return HEADER.pack(HEADER.size, NLMSG_DONE, 0, next(SEQUENCE_NUMBERS) - 1, 0)


class Told:
    """Sockets of which the next thing is told each time."""

    def __init__(self, *seen: list[Connection]) -> None:
        self.seen = list(seen)

    def connections(self, port: int, address: str = "") -> list[Connection]:
        return self.seen.pop(0)


def carried_of(told: Told, times: int) -> list[Carried]:
    way, place = PlannedProxy(ProxyEndpoint("a-to-b", "b"), 2, "", Impairment()), Place(told)  # type: ignore[arg-type]
    proxies = LinkProxies(None, 1, [way], place)  # type: ignore[arg-type]
    return [proxies.carried()["a-to-b"] for _ in range(times)]


def test_callers_with_the_same_port_at_two_addresses_are_two() -> None:
    both = [Connection(("172.18.0.2", 50_000), 100, 10), Connection(("172.18.0.3", 50_000), 7, 1)]
    assert carried_of(Told(both, both[1:]), 2) == [Carried(107, 11), Carried(107, 11)]


def test_what_a_link_carried_stays_counted_when_its_connections_change() -> None:
    first, second = ("127.0.0.1", 50_000), ("127.0.0.1", 50_001)
    told = Told(
        [Connection(first, 100, 10)],
        [],  # it broke
        [Connection(second, 7, 1)],  # and came back
        [Connection(second, 9, 1), Connection(first, 5, 5)],  # a third one, from the port of the first
        [Connection(first, 6, 5)],
    )
    assert carried_of(told, 5) == [
        Carried(100, 10),
        Carried(100, 10),
        Carried(107, 11),
        Carried(114, 16),
        Carried(115, 16),
    ]
