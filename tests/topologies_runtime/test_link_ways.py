"""Checks the proxies of a cluster's links, and how traffic is counted per link."""

import socket
from collections.abc import Collection, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from topologies.catalogue.lookup import build
from topologies.model.impaired_links import with_impairments
from topologies.model.impairment import Impairment
from topologies.model.topology import Topology
from topologies.runtimes.proxies.link_proxies import Carried, LinkProxies, Place
from topologies.runtimes.proxies.listening import listening_ports
from topologies.runtimes.proxies.proxy_plan import (
    API,
    DoorUse,
    Members,
    PlannedProxy,
    ProxyEndpoint,
    hosts_file,
    proxy_endpoints,
    proxy_plan,
)
from topologies.runtimes.proxies.toxiproxy import STREAMS

ONE_TWO = "broker-1-to-broker-2"
METRIC = "toxiproxy_proxy_sent_bytes_total"


def cluster(brokers: int, link: str = "*:delay=5ms") -> Topology:
    return with_impairments(build(f"cluster(brokers={brokers})"), link)


def core_ports(topology: Topology) -> dict[tuple[str, str], str]:
    return {(broker.name, "core"): f"127.0.0.1:{5000 + n}" for n, broker in enumerate(topology.brokers, start=1)}


def ways_of(topology: Topology, members: Members) -> tuple[PlannedProxy, ...]:
    ports = {door: 7000 + n for n, door in enumerate(proxy_endpoints(topology, members))}
    return proxy_plan(topology, ports, core_ports(topology), members)


def proxies(every: Collection[PlannedProxy], place: Place | None = None) -> LinkProxies:
    return LinkProxies(None, 1, tuple(every), place)  # type: ignore[arg-type]


def test_a_callers_own_doors_need_no_ports() -> None:
    assert proxy_endpoints(cluster(3)) == [API]


def test_a_caller_has_a_door_of_its_own_to_each_member_at_that_members_port() -> None:
    planned = ways_of(cluster(2, "*:delay=7ms"), Members.CALLERS)
    assert planned == (
        PlannedProxy(
            ProxyEndpoint(ONE_TWO, "broker-2", "broker-1"), 5002, "127.0.0.1:5002", Impairment(7),
            (DoorUse(ONE_TWO),), "127.0.2.1", is_announced=True,
        ),
        PlannedProxy(
            ProxyEndpoint(ONE_TWO, "broker-1", "broker-2"), 5001, "127.0.0.1:5001", Impairment(7),
            (DoorUse(ONE_TWO, is_back=True),), "127.0.2.2", is_announced=True,
        ),
    )  # fmt: skip


def test_each_callers_doors_are_as_its_own_links_were_made() -> None:
    planned = ways_of(cluster(3, "broker-1<->broker-2:delay=100ms;broker-2<->broker-3:delay=30ms"), Members.CALLERS)
    assert {(proxy.door.caller[-1], proxy.door.broker[-1]): proxy.impairment.delay_ms for proxy in planned} == {
        ("1", "2"): 100, ("2", "1"): 100, ("2", "3"): 30, ("3", "2"): 30, ("1", "3"): 0, ("3", "1"): 0,
    }  # fmt: skip
    assert len({proxy.name for proxy in planned}) == len({(proxy.address, proxy.port) for proxy in planned}) == 6


def test_what_members_announce_leads_clients_to_the_members_themselves() -> None:
    topology = cluster(3)
    link_proxies = proxies(ways_of(topology, Members.CALLERS))
    assert link_proxies.announced == {f"broker-{n}": f"localhost:{5000 + n}" for n in (1, 2, 3)}
    assert link_proxies.addresses == {}


def test_a_caller_takes_localhost_for_where_its_doors_are() -> None:
    topology = cluster(3)
    here = f"127.0.0.1 {socket.gethostname()}\n"
    assert hosts_file(topology, "broker-3") == f"127.0.2.3 localhost\n{here}"
    assert hosts_file(build("cluster"), "broker-3") == ""
    assert hosts_file(with_impairments(build("senders"), "*"), "source") == ""


def test_callers_that_cannot_be_told_apart_share_one_door_to_each_member() -> None:
    topology = cluster(3)
    assert proxy_endpoints(topology, Members.SHARED) == [API, *(ProxyEndpoint("", f"broker-{n}") for n in (2, 1, 3))]
    planned = ways_of(topology, Members.SHARED)
    assert {proxy.door.broker: (proxy.upstream, proxy.impairment.delay_ms) for proxy in planned} == {
        f"broker-{n}": (f"127.0.0.1:{5000 + n}", 5) for n in (1, 2, 3)
    }
    assert proxies(planned, Place(host="toxiproxy.links")).announced == {
        proxy.door.broker: f"toxiproxy.links:{proxy.port}" for proxy in planned
    }


@pytest.mark.parametrize("members", Members)
def test_a_link_is_measured_at_the_door_from_its_opener_to_its_end(members: Members) -> None:
    topology = cluster(3)
    every = ways_of(topology, members)
    place = proxies(every).proxy_endpoint_of(topology.links[0])
    expected = ("127.0.2.1", 5002) if members is Members.CALLERS else ("127.0.0.1", 7001)
    assert place == expected


def counted(every: Collection[PlannedProxy], sent: Mapping[str, tuple[int, int]], log: Path) -> dict[str, Carried]:
    """Return the traffic per link from Toxiproxy's count per proxy: bytes to the broker behind it, and back."""
    log.touch()
    link_proxies = LinkProxies(SimpleNamespace(log=log), 1, tuple(every))  # type: ignore[arg-type]
    link_proxies._api.metrics = lambda: "".join(  # type: ignore[method-assign]
        f'{METRIC}{{direction="{stream}",listener="a:1",proxy="{name}",upstream="b:2"}} {count}\n'
        for name, counts in sent.items()
        for stream, count in zip(STREAMS, counts, strict=True)
    )
    return link_proxies.carried_at_end()


def test_what_two_bridges_carry_is_added_up_each_way(tmp_path: Path) -> None:
    every = ways_of(cluster(2), Members.CALLERS)
    to_two, to_one = (
        f"{caller}~{ONE_TWO}~{called}" for caller, called in (("broker-1", "broker-2"), ("broker-2", "broker-1"))
    )
    sent = {to_two: (1000, 10), to_one: (300, 3)}
    assert counted(every, sent, tmp_path / "log") == {ONE_TWO: Carried(1003, 310)}


def test_of_a_door_that_several_brokers_call_no_link_has_its_bytes(tmp_path: Path) -> None:
    """Toxiproxy counts by proxy, not by caller."""
    sent = {f"broker-{n}": (1000, 10) for n in (1, 2, 3)}
    assert counted(ways_of(cluster(3), Members.SHARED), sent, tmp_path / "log") == {}
    assert counted(ways_of(cluster(2), Members.SHARED), sent, tmp_path / "log") == {ONE_TWO: Carried(1010, 1010)}


def test_a_door_at_a_brokers_port_is_not_taken_for_the_broker() -> None:
    with socket.create_server(("127.0.2.1", 0)) as door:
        port = door.getsockname()[1]
        assert port in listening_ports()
        assert port not in listening_ports({"127.0.2.1"})
        assert port in listening_ports({"127.0.2.2"})
