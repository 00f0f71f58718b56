"""Checks when brokers run in containers, and the reported reason."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from records.errors import UserError
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.impaired_links import with_impairments
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import why_no_containers
from topologies.runtimes.choice import Choice, ContainerSupport, choose, containers_for

ALL_THERE = ContainerSupport(engine="Docker engine 20.10.24", image="apache/activemq-classic:5.18.3")
NO_ENGINE = ContainerSupport(engine_problem="no Docker engine answers at unix:///x (No such file or directory)")
NO_IMAGE = ContainerSupport(
    engine="Docker engine 20.10.24", image="a/b:1", image_problem="image a/b:1 cannot be pulled (no such host)"
)


def seeing(means: ContainerSupport) -> Callable[[str | None], ContainerSupport]:
    return lambda _image: means


def never(_image: str | None) -> ContainerSupport:
    raise AssertionError("nobody needs to know")


def test_containers_are_taken_where_engine_and_image_are_there() -> None:
    assert choose("", None, seeing(ALL_THERE)) == Choice(
        "containers",
        "Docker engine 20.10.24, image apache/activemq-classic:5.18.3: the engine answers and the image is available",
    )


@pytest.mark.parametrize("means", [NO_ENGINE, NO_IMAGE])
def test_processes_are_taken_where_something_lacks_and_the_reason_says_what(means: ContainerSupport) -> None:
    assert choose("", None, seeing(means)) == Choice(
        "processes", f"on this machine, because containers are not available: {means.problem}"
    )


@pytest.mark.parametrize("runtime", ["processes", "memory"])
def test_no_engine_is_asked_where_containers_do_not_come_into_question(runtime: str) -> None:
    assert choose(runtime, None, never).runtime == runtime


def test_a_version_or_a_build_of_the_brokers_asks_for_processes() -> None:
    chosen = choose("", None, never, "--broker-version 5.16.6")
    assert chosen == Choice("processes", "on this machine, chosen by --broker-version")
    assert choose("processes", None, never, "--distribution /mine").runtime == "processes"


@pytest.mark.parametrize(
    ("runtime", "image", "refusal"),
    [
        ("containers", None, "--runtime containers: brokers in containers come from their image; use --image inst"),
        ("external", None, "--runtime external: external brokers keep their configuration; leave it out"),
        ("memory", None, "--runtime memory: no broker is started; leave it out"),
        ("", "a/b:1", "--image a/b:1: only containers have an image; leave one out"),
        ("processes", "a/b:1", "--image a/b:1: only containers have an image; leave one out"),
    ],
)
def test_only_processes_take_a_version_or_a_build_of_the_brokers(runtime: str, image: str | None, refusal: str) -> None:
    with pytest.raises(UserError) as refused:
        choose(runtime, image, never, "--broker-version 5.16.6")
    assert str(refused.value).startswith(f"--broker-version 5.16.6 {refusal}")


@pytest.mark.parametrize(
    ("runtime", "image", "refusal"),
    [
        ("containers", None, f"--runtime containers: {NO_ENGINE.problem}"),
        ("containers", "a/b:1", f"--runtime containers: {NO_ENGINE.problem}"),
        ("", "a/b:1", f"--image a/b:1: {NO_ENGINE.problem}"),
    ],
)
def test_containers_that_were_asked_for_are_never_replaced_by_something_else(
    runtime: str, image: str | None, refusal: str
) -> None:
    with pytest.raises(UserError) as refused:
        choose(runtime, image, seeing(NO_ENGINE))
    assert str(refused.value) == refusal


def test_an_image_asks_for_containers() -> None:
    assert choose("", "a/b:1", seeing(ALL_THERE)).reason.endswith("chosen by --image")


def test_an_image_and_processes_contradict_each_other() -> None:
    with pytest.raises(UserError, match="only containers have an image; leave one out"):
        choose("processes", "a/b:1", never)


def asked_of(topology: Topology | None) -> list[tuple[str, str | None]]:
    """Return the (flavour, image) pairs that the choice of containers looks for."""
    arguments = []

    def look(flavour: str, image: str | None) -> ContainerSupport:
        arguments.append((flavour, image))
        return ALL_THERE

    assert choose("", None, containers_for(topology, look)).runtime == "containers"
    return arguments


def test_containers_are_looked_for_by_the_kind_of_broker() -> None:
    assert asked_of(build("mesh")) == [("classic", None)]
    assert asked_of(build("cluster")) == [("artemis", None)]
    assert asked_of(None) == [("classic", None)]


def test_containers_are_not_looked_for_where_a_router_is_among_the_brokers() -> None:
    def never(_flavour: str, _image: str | None) -> ContainerSupport:
        raise AssertionError("there is nothing to look for")

    looking = containers_for(build("router-peer"), never)
    chosen = choose("", None, looking)
    assert chosen.runtime == "processes"
    assert "router 'router' has no container image, only brokers have one" in chosen.reason
    with pytest.raises(UserError, match="--runtime containers: router 'router' has no container image"):
        choose("containers", None, looking)


IN_A_VIRTUAL_MACHINE = replace(ALL_THERE, engine="Docker engine 28.1.1", differing_kernel="6.10.14-linuxkit")
NO_LINKS = (
    "link 'broker-1-to-broker-2' goes through Toxiproxy, which requires that containers share this machine's kernel, "
    "but the containers of Docker engine 28.1.1 run on another kernel (6.10.14-linuxkit), as in a virtual machine; use"
    " --runtime processes, or set no impairments of links"
)


def test_links_through_proxies_are_not_for_containers_in_a_virtual_machine() -> None:
    looking = containers_for(
        with_impairments(build("mesh"), "broker-1-to-broker-3:delay=1ms"), lambda *_: IN_A_VIRTUAL_MACHINE
    )
    assert choose("", None, looking) == Choice(
        "processes", f"on this machine, because containers are not available: {NO_LINKS}"
    )
    with pytest.raises(UserError) as refused:
        choose("containers", None, looking)
    assert str(refused.value) == f"--runtime containers: {NO_LINKS}"


@pytest.mark.parametrize(
    ("means", "problem"),
    [(NO_ENGINE, NO_ENGINE.problem), (replace(IN_A_VIRTUAL_MACHINE, image_problem="no such host"), NO_LINKS)],
)
def test_of_several_things_that_containers_lack_for_links_an_image_is_the_last(
    means: ContainerSupport, problem: str
) -> None:
    assert containers_for(with_impairments(build("mesh"), "*"), lambda *_: means)(None).problem == problem


def test_links_that_go_straight_are_for_any_engine() -> None:
    assert choose("", None, containers_for(build("mesh"), lambda *_: IN_A_VIRTUAL_MACHINE)).runtime == "containers"


def test_one_address_for_brokers_and_clients_rejects_containers() -> None:
    """In a container, a broker has no address that works for both brokers and clients."""
    topology = build("mesh(brokers=2, discovery='multicast')")
    telling = TransportConnector("openwire", update_cluster_clients=True)
    brokers = tuple(replace(broker, connectors=(telling,)) for broker in topology.brokers if isinstance(broker, Broker))
    links = tuple(replace(link, opened_by=brokers[0], to=brokers[1]) for link in topology.links)
    refusal = why_no_containers(replace(topology, brokers=brokers, links=links, groups=()))
    assert refusal.startswith(
        "broker 'broker-2' is discovered by multicast and has update_cluster_clients: in a container"
    )
    assert refusal.endswith("use --runtime processes, or give the links that lead to it a static discovery")
    assert why_no_containers(topology) == ""


def test_cluster_links_that_differ_reject_containers() -> None:
    """In containers, all callers of a broker share its ports."""
    looking = containers_for(with_impairments(build("cluster"), "broker-1<->broker-2:delay=9ms"), lambda *_: ALL_THERE)
    assert choose("", None, looking).runtime == "processes"
    with pytest.raises(UserError, match="--runtime containers: broker 'broker-1' announces one"):
        choose("containers", None, looking)
    alike = containers_for(with_impairments(build("cluster"), "*:delay=9ms"), lambda *_: ALL_THERE)
    assert choose("", None, alike).runtime == "containers"
