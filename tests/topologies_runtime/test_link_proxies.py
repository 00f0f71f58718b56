"""Checks which proxies each link gets, how they are configured, and the error if a link cannot have one."""

import shutil
import socket
from pathlib import Path

import pytest

from topologies.artemis.broker import Acceptor, ArtemisBroker
from topologies.artemis.links import AddressMatch, BrokerConnection
from topologies.artemis.product import ARTEMIS
from topologies.catalogue.lookup import build
from topologies.model.impaired_links import with_impairments
from topologies.model.impairment import Impairment
from topologies.model.topology import Topology
from topologies.runtimes.choice import ContainerSupport, choose, containers_for
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.proxies import toxiproxy
from topologies.runtimes.proxies.link_proxies import LinkProxies, Place, why_no_proxies
from topologies.runtimes.proxies.listening import listening_ports
from topologies.runtimes.proxies.proxy_plan import (
    API,
    DoorUse,
    PlannedProxy,
    ProxyEndpoint,
    proxy_endpoints,
    proxy_plan,
)
from topologies.runtimes.proxies.toxiproxy import ToxiproxyUnavailable, find_toxiproxy, toxics


def test_links_that_are_as_they_come_need_no_proxy() -> None:
    assert proxy_endpoints(build("mesh")) == []
    assert why_no_proxies(build("mesh"), "containers") == ""


def test_every_broker_that_a_link_may_call_has_a_door() -> None:
    topology = with_impairments(build("mesh-of-pairs(pairs=2)"), "*:delay=1ms")
    link = "broker-1-to-broker-2"
    assert proxy_endpoints(topology) == [API, ProxyEndpoint(link, "broker-2"), ProxyEndpoint(link, "broker-2-standby")]


def test_a_way_leads_from_its_door_to_the_listener_that_the_link_calls() -> None:
    topology = with_impairments(build("source-and-sink"), "*:delay=7ms")
    door = ProxyEndpoint("source-to-sink", "sink")
    planned = proxy_plan(
        topology, {API: 1, door: 2}, {("sink", "openwire"): "127.0.0.1:3", ("sink", "amqp"): "127.0.0.1:4"}
    )
    assert planned == (PlannedProxy(door, 2, "127.0.0.1:3", Impairment(delay_ms=7), (DoorUse("source-to-sink"),)),)


def test_an_amqp_connection_calls_the_listener_for_amqp() -> None:
    topology = with_impairments(build("senders"), "*")
    door = ProxyEndpoint("source-to-sink", "sink")
    address = {("sink", protocol): f"127.0.0.1:{n}" for n, protocol in enumerate(topology.broker("sink").protocols)}
    (planned,) = proxy_plan(topology, {API: 1, door: 2}, address)
    assert planned.upstream == address["sink", topology.broker("sink").listener("amqp")]


def way_of(link: str, broker: str, delay_ms: int = 0) -> PlannedProxy:
    return PlannedProxy(ProxyEndpoint(link, broker), 2, "127.0.0.1:10", Impairment(delay_ms), (DoorUse(link),))


def test_a_door_is_open_while_its_broker_listens() -> None:
    proxies = LinkProxies(None, 1, [way_of("a-to-b", "b")])  # type: ignore[arg-type]
    settings: list[tuple[str, bool]] = []
    proxies._api.enable = lambda proxy, enabled: settings.append((proxy, enabled))  # type: ignore[method-assign]
    for listening in ({11}, {10, 11}, {10}, set[int](), {10}):
        proxies._set_doors(listening)
    assert settings == [("a-to-b~b", True), ("a-to-b~b", False), ("a-to-b~b", True)]


def doors(*ways: PlannedProxy) -> tuple[LinkProxies, dict[str, bool]]:
    """Return proxies whose brokers all listen, and the last setting of each at Toxiproxy."""
    proxies = LinkProxies(None, 1, ways, Place(lambda: {10}))  # type: ignore[arg-type]
    is_open_by_door: dict[str, bool] = {}
    proxies._api.enable = is_open_by_door.__setitem__  # type: ignore[method-assign]
    proxies._set_doors({10})
    return proxies, is_open_by_door


def test_a_link_that_is_cut_stays_shut_while_its_brokers_listen_until_it_is_mended() -> None:
    of_a, of_b = (way_of(link, "hub") for link in ("a", "b"))
    proxies, is_open_by_door = doors(of_a, of_b)
    proxies.cut("a")
    proxies._set_doors({10})
    assert (is_open_by_door, proxies.is_shut("a"), proxies.is_shut("b")) == (
        {"a~hub": False, "b~hub": True},
        True,
        False,
    )
    proxies.mend("a")
    assert (is_open_by_door, proxies.is_shut("a")) == ({"a~hub": True, "b~hub": True}, False)


def test_a_link_that_is_made_slow_gets_back_what_it_was_set_to() -> None:
    planned = way_of("a", "hub", delay_ms=5)
    proxies, _ = doors(planned)
    there = {toxic["name"]: toxic for toxic in toxics(planned.impairment)}
    proxies._api.add_toxic = lambda _, toxic: there.update({toxic["name"]: toxic})  # type: ignore[method-assign]
    proxies._api.remove_toxic = lambda _, toxic: there.pop(toxic["name"]) and None  # type: ignore[method-assign]
    for wanted in (Impairment(delay_ms=40, jitter_ms=3), Impairment(bandwidth_kb_per_s=9), None):
        proxies.shape("a", wanted)
        assert list(there.values()) == toxics(wanted or planned.impairment)
    with pytest.raises(RuntimeFailed, match="link 'b' has no proxy"):
        proxies.shape("b", None)


def test_a_link_that_shares_its_door_with_others_cannot_be_cut_alone() -> None:
    uses = (DoorUse("east-west"), DoorUse("north-west"))
    proxies, is_open_by_door = doors(
        PlannedProxy(ProxyEndpoint("", "west"), 2, "127.0.0.1:10", Impairment(), uses, "", True)
    )
    with pytest.raises(RuntimeFailed, match="shares the proxy of a cluster member with north-west"):
        proxies.cut("east-west")
    with pytest.raises(RuntimeFailed, match="cannot have a fault alone"):
        proxies.swallow("east-west")
    with pytest.raises(RuntimeFailed, match="link 'nowhere' has no proxy"):
        proxies.cut("nowhere")
    assert is_open_by_door == {"west": True}


def test_a_door_that_cannot_be_set_is_told_once_and_keeps_no_other_shut(caplog: pytest.LogCaptureFixture) -> None:
    every = [way_of(name, "b") for name in ("stuck", "well")]
    proxies = LinkProxies(None, 1, every)  # type: ignore[arg-type]
    settings: list[str] = []

    def enable(proxy: str, enabled: bool) -> None:
        if proxy == "stuck~b" and len(settings) < 2:
            raise ToxiproxyUnavailable("its port is taken")
        settings.append(proxy)

    proxies._api.enable = enable  # type: ignore[method-assign]
    for listening in ({10}, {10}, set[int](), {10}):
        proxies._set_doors(listening)
    assert settings == ["well~b", "well~b", "stuck~b", "well~b"]
    assert caplog.messages == ["link stuck: its proxy to b cannot be set: its port is taken"]


class FakeToxiproxyProcess:
    """Toxiproxy's process, which is alive until a test ends it."""

    alive, log = True, Path("toxiproxy.log")

    def log_lines(self) -> list[str]:
        return ["it was well", "and then"]

    def kill(self) -> None:
        self.alive = False

    def wait(self, timeout_s: float) -> bool:
        return True


def test_a_toxiproxy_that_ends_is_told_unless_it_was_stopped() -> None:
    process = FakeToxiproxyProcess()
    proxies = LinkProxies(process, 1, [])  # type: ignore[arg-type]
    assert proxies.loss() == ""
    process.alive = False
    assert proxies.loss().endswith("ended unexpectedly; its log toxiproxy.log ends: it was well | and then")
    proxies.close()
    assert proxies.loss() == ""


def test_each_broker_that_an_amqp_connection_may_call_is_called_by_its_own_listener() -> None:
    primary, alternate = ArtemisBroker("first", acceptors=(Acceptor("all"),)), ArtemisBroker("second")
    opener = ArtemisBroker("opener")
    link = BrokerConnection(
        opener, primary, senders=(AddressMatch("x"),), alternates=(alternate,), impairment=Impairment()
    )
    topology = Topology("t", (opener, primary, alternate), (link,), (), ARTEMIS)
    ports = {door: number for number, door in enumerate(proxy_endpoints(topology), start=1)}
    upstream = {
        (broker.name, broker.listener("amqp")): f"127.0.0.1:{n}" for n, broker in enumerate((primary, alternate))
    }
    assert [planned.upstream for planned in proxy_plan(topology, ports, upstream)] == ["127.0.0.1:0", "127.0.0.1:1"]


def test_the_kernel_knows_who_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as four, socket.create_server(("", 0)) as everywhere:
        ports = {listener.getsockname()[1] for listener in (four, everywhere)}
        assert ports <= listening_ports()
    assert not ports & listening_ports()


def test_both_ways_are_delayed_before_they_are_narrowed() -> None:
    kinds = [(toxic["stream"], toxic["type"], toxic["attributes"]) for toxic in toxics(Impairment(40, 5, 1000))]
    latency, rate = {"latency": 40, "jitter": 5}, {"rate": 1000}
    assert kinds == [
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
def test_missing_toxiproxy_error_names_link_and_install_command() -> None:
    topology = with_impairments(build("source-and-sink"), "*:delay=1ms")
    with pytest.raises(ToxiproxyUnavailable, match=r"link 'source-to-sink' .* bash \.ci/install-toxiproxy\.sh"):
        find_toxiproxy("source-to-sink")
    for runtime in ("processes", "containers"):
        assert "bash .ci/install-toxiproxy.sh" in why_no_proxies(topology, runtime)
    assert (toxiproxy.Path(__file__).parents[2] / ".ci" / "install-toxiproxy.sh").exists()


def test_a_toxiproxy_beside_this_python_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = tmp_path / "toxiproxy-server"
    server.symlink_to(shutil.which("true") or pytest.fail("no true"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(toxiproxy.sys, "executable", str(tmp_path / "python"))
    assert find_toxiproxy("any") == server


@pytest.mark.parametrize(
    ("runtime", "brokers"),
    [("external", "external brokers"), ("memory", "brokers in memory")],
)
def test_only_links_between_brokers_that_a_run_starts_go_through_proxies(runtime: str, brokers: str) -> None:
    refusal = why_no_proxies(with_impairments(build("mesh"), "*"), runtime)
    assert refusal.startswith("link 'broker-1-to-broker-2' goes through Toxiproxy, which works with brokers that a run")
    assert refusal.endswith(
        f"not with {brokers}; use --runtime containers or processes, or set no impairments of links"
    )


def test_links_that_are_delayed_go_with_containers_where_these_can_be_had() -> None:
    def there(_flavour: str, _image: str | None) -> ContainerSupport:
        return ContainerSupport("Docker engine 1", image="an image")

    assert (
        choose("", None, containers_for(with_impairments(build("mesh"), "*:delay=1ms"), there)).runtime == "containers"
    )


def test_the_version_that_is_built_is_the_one_that_the_error_names() -> None:
    script = (Path(__file__).parents[2] / ".ci" / "install-toxiproxy.sh").read_text(encoding="utf-8")
    assert f"version=v{toxiproxy.VERSION} " in script
