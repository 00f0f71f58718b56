"""Checks the proxies of a cluster's links, and how their traffic is counted by link."""

import socket
from collections.abc import Collection

import pytest

from topologies.catalogue.lookup import build
from topologies.model.impaired_links import impaired
from topologies.model.impairment import Impairment
from topologies.model.topology import Topology
from topologies.runtimes.proxies.link_proxies import Carried, LinkProxies, Place
from topologies.runtimes.proxies.proxy_plan import (
    API,
    Members,
    PlannedProxy,
    ProxyEndpoint,
    Use,
    hosts_file,
    proxy_endpoints,
    proxy_plan,
)
from topologies.runtimes.proxies.socket_bytes import Connection, SocketsHere, connections_at, listening_ports

ONE_TWO = "broker-1-to-broker-2"


def cluster(brokers: int, link: str = "*:delay=5ms") -> Topology:
    return impaired(build(f"cluster(brokers={brokers})"), link)


def core_ports(topology: Topology) -> dict[tuple[str, str], str]:
    return {(broker.name, "core"): f"127.0.0.1:{5000 + n}" for n, broker in enumerate(topology.brokers, start=1)}


def ways_of(topology: Topology, members: Members) -> tuple[PlannedProxy, ...]:
    ports = {door: 7000 + n for n, door in enumerate(proxy_endpoints(topology, members))}
    return proxy_plan(topology, ports, core_ports(topology), members)


def proxies(every: Collection[PlannedProxy], place: Place) -> LinkProxies:
    return LinkProxies(None, 1, tuple(every), place)  # type: ignore[arg-type]


class Told:
    """Sockets with one connection at each door, which carried what its place in the list says."""

    def __init__(self, *seen: tuple[str, int, int, int]) -> None:
        self.seen = {(address, port): (received, sent) for address, port, received, sent in seen}

    def connections(self, port: int, address: str = "") -> list[Connection]:
        return [Connection(("127.0.0.1", 40_000), *self.seen[address, port])]


def test_a_callers_own_doors_need_no_ports() -> None:
    assert proxy_endpoints(cluster(3)) == [API]


def test_a_caller_has_a_door_of_its_own_to_each_member_at_that_members_port() -> None:
    found = ways_of(cluster(2, "*:delay=7ms"), Members.CALLERS)
    assert found == (
        PlannedProxy(
            ProxyEndpoint(ONE_TWO, "broker-2", "broker-1"), 5002, "127.0.0.1:5002", Impairment(7), "127.0.2.1", True,
            (("broker-1", Use(ONE_TWO, False)),),
        ),
        PlannedProxy(
            ProxyEndpoint(ONE_TWO, "broker-1", "broker-2"), 5001, "127.0.0.1:5001", Impairment(7), "127.0.2.2", True,
            (("broker-2", Use(ONE_TWO, True)),),
        ),
    )  # fmt: skip


def test_each_callers_doors_are_as_its_own_links_were_made() -> None:
    found = ways_of(cluster(3, "broker-1<->broker-2:delay=100ms;broker-2<->broker-3:delay=30ms"), Members.CALLERS)
    assert {(way.door.caller[-1], way.door.broker[-1]): way.impairment.delay_ms for way in found} == {
        ("1", "2"): 100, ("2", "1"): 100, ("2", "3"): 30, ("3", "2"): 30, ("1", "3"): 0, ("3", "1"): 0,
    }  # fmt: skip
    assert len({way.name for way in found}) == len({(way.address, way.port) for way in found}) == 6


def test_what_members_announce_leads_clients_to_the_members_themselves() -> None:
    topology = cluster(3)
    found = proxies(ways_of(topology, Members.CALLERS), Place(Told()))  # type: ignore[arg-type]
    assert found.announced == {f"broker-{n}": f"localhost:{5000 + n}" for n in (1, 2, 3)}
    assert found.addresses == {}


def test_a_caller_takes_localhost_for_where_its_doors_are() -> None:
    topology = cluster(3)
    here = f"127.0.0.1 {socket.gethostname()}\n"
    assert hosts_file(topology, "broker-3") == f"127.0.2.3 localhost\n{here}"
    assert hosts_file(build("cluster"), "broker-3") == ""
    assert hosts_file(impaired(build("senders"), "*"), "source") == ""


def test_callers_that_cannot_be_told_apart_share_one_door_to_each_member() -> None:
    topology = cluster(3)
    assert proxy_endpoints(topology, Members.SHARED) == [API, *(ProxyEndpoint("", f"broker-{n}") for n in (2, 1, 3))]
    found = ways_of(topology, Members.SHARED)
    assert {way.door.broker: (way.upstream, way.impairment.delay_ms) for way in found} == {
        f"broker-{n}": (f"127.0.0.1:{5000 + n}", 5) for n in (1, 2, 3)
    }
    place = Place(Told(), "toxiproxy.links")  # type: ignore[arg-type]
    assert proxies(found, place).announced == {way.door.broker: f"toxiproxy.links:{way.port}" for way in found}


@pytest.mark.parametrize("members", Members)
def test_a_link_is_measured_at_the_door_from_its_opener_to_its_end(members: Members) -> None:
    topology = cluster(3)
    every = ways_of(topology, members)
    found = proxies(every, Place(Told())).proxy_endpoint_of(topology.links[0])  # type: ignore[arg-type]
    expected = ("127.0.2.1", 5002) if members is Members.CALLERS else ("127.0.0.1", 7001)
    assert found == expected


def test_what_two_bridges_carry_is_added_up_each_way() -> None:
    every = ways_of(cluster(2), Members.CALLERS)
    told = Told(("127.0.2.1", 5002, 1000, 10), ("127.0.2.2", 5001, 300, 3))
    assert proxies(every, Place(told)).carried() == {ONE_TWO: Carried(1003, 310)}  # type: ignore[arg-type]


class Shared:
    """Sockets of shared doors, by port: who called from where, and with how much."""

    def __init__(self, callers: dict[tuple[str, int], str], at: dict[int, list[Connection]]) -> None:
        self._callers, self._at, self.asked = callers, at, 0

    def connections(self, port: int, address: str = "") -> list[Connection]:
        assert address == ""
        return self._at[port]

    def caller(self, peer: tuple[str, int]) -> str:
        self.asked += 1
        return self._callers.get(peer, "")


def test_what_goes_through_a_shared_door_is_the_callers_links_and_nobodys_if_the_caller_is_on_none() -> None:
    every = ways_of(cluster(3), Members.SHARED)
    port_of = {way.door.broker: way.port for way in every}
    one, two, three, me = (("172.18.0.9", 40_000 + n) for n in range(4))
    at = {
        port_of["broker-1"]: [Connection(two, 100, 10), Connection(three, 7, 5)],
        port_of["broker-2"]: [Connection(one, 1000, 1), Connection(me, 55, 55)],
        port_of["broker-3"]: [],
    }
    told = Shared({one: "broker-1", two: "broker-2", three: "broker-3"}, at)
    found = proxies(every, Place(told))  # type: ignore[arg-type]
    for _ in range(2):
        assert found.carried() == {
            ONE_TWO: Carried(1010, 101), "broker-1-to-broker-3": Carried(5, 7), "broker-2-to-broker-3": Carried(0, 0),
        }  # fmt: skip
    assert told.asked == 4 + 1, "of each broker's connection once"


def test_a_door_at_a_brokers_port_is_not_taken_for_the_broker() -> None:
    with socket.create_server(("127.0.2.1", 0)) as door:
        port = door.getsockname()[1]
        assert port in SocketsHere().listening()
        assert port not in SocketsHere({"127.0.2.1"}).listening()
        assert port in listening_ports({"127.0.2.2"})


def test_only_what_goes_through_a_door_is_counted_not_what_goes_to_the_broker_at_the_same_port() -> None:
    with socket.create_server(("127.0.2.1", 0)) as door:
        port = door.getsockname()[1]
        with (
            socket.create_server(("127.0.0.1", port)),
            socket.create_connection(("127.0.0.1", port)),
            socket.create_connection(("127.0.2.1", port)) as caller,
        ):
            caller.sendall(b"abc")
            with door.accept()[0] as called:
                assert called.recv(3, socket.MSG_WAITALL) == b"abc"
                (counted,) = connections_at(port, address="127.0.2.1")
                assert counted.received_bytes == 3
                assert len(connections_at(port)) == 2
