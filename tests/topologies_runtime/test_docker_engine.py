"""Checks how a Docker engine's errors are explained, and which image is used."""

from dataclasses import replace
from pathlib import Path

import pytest
import requests
from docker.errors import APIError, DockerException

from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.product import CLASSIC
from topologies.jvm.launch import JvmLaunch
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import BrokerProduct, Topology
from topologies.products import PRODUCTS
from topologies.runtimes.containers import image as container_image
from topologies.runtimes.containers.engine import (
    Engine,
    EngineTrouble,
    _not_local,
    _user,
    answers,
    explain_failure,
    find,
    is_gone,
)
from topologies.runtimes.containers.image import RECIPES, explain_missing_image, image_of, wanted
from topologies.runtimes.containers.runtime import host_names


def api_error(text: str) -> APIError:
    return APIError("500 Server Error", explanation=text)


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("write /var/lib/docker/tmp/x: no space left on device", "docker system df shows its use"),
        ("driver failed: Bind for 127.0.0.1:7 failed: port is already allocated", "choose other ports"),
        ("listen tcp4 127.0.0.1:7: bind: address already in use", "choose other ports"),
        ("could not find an available, non-overlapping IPv4 address pool", "docker network prune removes unused ones"),
        ('Conflict. The container name "/x" is already in use by container "12"', "docker rm --force that container"),
        ("network with name brokerbench-x already exists", "end that run, or remove it"),
        ('exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown', "/bin/sh and java on its PATH"),
        ("the moon is in the wrong phase", "see the engine's log"),
    ],
)
def test_an_error_of_the_engine_is_told_in_its_own_words_and_with_a_next_step(text: str, step: str) -> None:
    sentence = explain_failure(api_error(f"{text}\n"))
    assert sentence.startswith(text)
    assert sentence.endswith(step)
    assert "\n" not in sentence


def lost_connection() -> Exception:
    """Return the error as docker-py wraps it."""
    try:
        try:
            raise FileNotFoundError(2, "No such file or directory")
        except FileNotFoundError as error:
            raise requests.ConnectionError("Connection aborted.") from error
    except requests.ConnectionError as error:
        wrapped = DockerException("Error while fetching server API version")
        wrapped.__cause__ = error
        return wrapped


def test_an_engine_that_is_gone_is_told_as_that() -> None:
    assert is_gone(lost_connection())
    assert explain_failure(lost_connection(), "unix:///x.sock") == (
        "the Docker engine at unix:///x.sock no longer answers (No such file or directory): start it again"
    )


def test_an_engine_that_is_slow_is_not_gone(tmp_path: Path) -> None:
    assert not is_gone(requests.ReadTimeout("read timed out"))
    assert not answers(f"unix://{tmp_path}/nobody.sock")


@pytest.mark.parametrize("host", ["tcp://192.0.2.1:2376", "ssh://me@far.example", "npipe:////./pipe/docker_engine"])
def test_an_engine_elsewhere_is_refused_with_the_reason(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(EngineTrouble) as refused:
        find()
    assert str(refused.value).startswith(f"the Docker engine at {host} cannot be used: ")
    assert str(refused.value).endswith("or --runtime processes")


@pytest.mark.parametrize(
    "host", ["unix:///var/run/docker.sock", "unix:///run/user/1000/docker.sock", "tcp://127.0.0.1:2375"]
)
def test_an_engine_of_this_machine_will_do(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_TLS_VERIFY", raising=False)
    assert _not_local(host) == ""


def test_in_a_rootless_engine_this_user_is_root() -> None:
    assert _user(["name=seccomp,profile=default", "name=rootless"]) == ("0:0", None)
    assert _user(["name=seccomp,profile=default", "name=userns"])[1] == "host"
    user, namespace = _user(["name=seccomp,profile=default"])
    assert (":" in user, namespace) == (True, None)


@pytest.mark.parametrize(
    ("kernel", "other_kernel"),
    [("6.1.0-32-amd64", ""), ("6.10.14-linuxkit", "6.10.14-linuxkit"), ("", "it does not report which")],
)
def test_an_engine_in_a_virtual_machine_is_known_by_its_kernel(kernel: str, other_kernel: str) -> None:
    assert Engine("unix:///x.sock", "28.1.1", "0:0", kernel=kernel).differing_kernel("6.1.0-32-amd64") == other_kernel


WITH_IMAGE = {name: product for name, product in PRODUCTS.items() if product.launch.image}
each_kind = pytest.mark.parametrize("kind", WITH_IMAGE.values(), ids=WITH_IMAGE)


@each_kind
def test_upstreams_image_is_taken_unless_only_ours_is_here(kind: BrokerProduct) -> None:
    upstream, ours = image_of(kind).upstream, image_of(kind).built
    for named_image, here, taken in (
        (None, {upstream, ours}, upstream),
        (None, {ours}, ours),
        (None, set[str](), upstream),
        ("a/b:1", {upstream, ours}, "a/b:1"),
    ):
        assert wanted(kind, named_image, here.__contains__) == taken


@each_kind
def test_the_recipe_pins_what_the_process_runtime_runs(kind: BrokerProduct) -> None:
    recipe = (RECIPES / image_of(kind).recipe / "Dockerfile").read_text(encoding="utf-8")
    assert isinstance(kind.launch, JvmLaunch)
    distribution = kind.launch.distributions[0]
    assert f"ARG SHA512={distribution.sha512}\n" in recipe
    assert f"ARG ARCHIVE={distribution.filename}\n" in recipe
    assert f"ENV {image_of(kind).home_variable}={image_of(kind).home}\n" in recipe
    assert image_of(kind).upstream.endswith(f":{distribution.version}")
    assert image_of(kind).built.endswith(f":{distribution.version}")


@pytest.mark.parametrize("flavour", sorted(WITH_IMAGE))
def test_an_image_that_cannot_be_had_is_built_for_its_own_kind(flavour: str) -> None:
    sentence = explain_missing_image(PRODUCTS[flavour], "some/image:1", "no such host")
    assert f"python -m topologies.runtimes.containers.image --base IMAGE --of {flavour})" in sentence


def test_an_engine_without_room_for_an_image_is_told_to_make_room() -> None:
    sentence = explain_missing_image(
        PRODUCTS["classic"], "some/image:1", "write /docker/layer: no space left on device"
    )
    assert sentence == (
        "image some/image:1 is not on the Docker engine and cannot be pulled: write /docker/layer: no space "
        "left on device; the engine's disk is full: free some space; docker system df shows its use"
    )


def test_a_base_that_cannot_be_had_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def trouble(*_: object) -> str:
        raise EngineTrouble("image x cannot be built from y: no such host")

    monkeypatch.setattr(container_image, "find", lambda: None)
    monkeypatch.setattr(container_image, "build", trouble)
    assert container_image.main(["--base", "y"]) == 2
    assert capsys.readouterr().err == "container_image: image x cannot be built from y: no such host\n"


def test_brokers_are_called_by_their_names_as_far_as_host_names_allow() -> None:
    brokers = tuple(Broker(name) for name in ("hub", "Spoke_1", "spoke-1", "EU.north"))
    topology = Topology("odd-names", brokers, (), (ClientGroup("producers", enter_at=brokers[:1]),), CLASSIC)
    assert list(host_names(topology).values()) == ["hub", "spoke-1", "spoke-1-2", "eu-north"]


def published(topology: Topology, broker: str) -> set[str]:
    listed = topology.broker(broker)
    assert isinstance(listed, Broker)
    named = replace(
        listed, connectors=tuple(replace(transport, published_host="fqdn") for transport in listed.connectors)
    )
    inside = topology.product.in_container(topology, named)
    assert isinstance(inside, Broker)
    return {connector.published_host for connector in inside.connectors}


def test_every_connector_publishes_the_address_that_is_loopback_inside() -> None:
    assert published(build("single"), "broker-1") == {"ipaddress"}


def test_a_broker_that_others_find_by_multicast_publishes_the_name_that_they_know() -> None:
    topology = build("mesh(brokers=2, discovery='multicast')")
    assert published(topology, "broker-2") == {"hostname"}
    assert published(topology, "broker-1") == {"ipaddress"}, "no link discovers this broker"
