"""Checks that Docker Compose starts the rendered brokers and that they work as the topology says."""

import os
import secrets
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from brokerbench.rendering import compose_files, ports_from, write_files
from drivers.contract import Connection, Destination, Outcome, Outgoing, Subscription
from drivers.protocols import connector_of
from tests.brokerbench.test_compose import BASE_PORT, KEPT, REPOSITORY
from tests.support.runtimes import eventually
from topologies.catalogue.lookup import build
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.launch import LOOPBACK
from topologies.model.topology import Topology
from topologies.model.trust import Trust
from topologies.runtimes.containers.engine import client_of, find
from topologies.runtimes.containers.image import obtain
from topologies.runtimes.ports import choose_ports

pytestmark = [pytest.mark.containers, pytest.mark.nightly]

PAIRS = ("active-standby", "live-backup")
UP_WITHIN_S, TAKEN_OVER_WITHIN_S = 180.0, 120.0
LOOK_EVERY_S = 0.5  # each look is a program that Compose runs
QUEUE = Destination("queue", "kept")


@dataclass(frozen=True)
class ComposedNetwork:
    """What Compose has brought up, and how to reach it."""

    topology: Topology
    project: str
    folder: Path
    base_port: int
    login: Credentials

    def compose(self, *arguments: str) -> None:
        compose(self.folder, *arguments, COMPOSE_PROJECT_NAME=self.project, **image(self.topology))

    def health(self) -> dict[str, str]:
        """Return the state of each service: starting, healthy or unhealthy."""
        with client_of(find().host) as client:
            containers = client.containers.list(filters={"label": f"com.docker.compose.project={self.project}"})
            return {
                container.labels["com.docker.compose.service"]: container.attrs["State"]["Health"]["Status"]
                for container in containers
            }

    def published(self) -> set[tuple[str, int]]:
        """Addresses and ports of this machine at which its services are reached."""
        with client_of(find().host) as client:
            containers = client.containers.list(filters={"label": f"com.docker.compose.project={self.project}"})
            bound = [
                addresses
                for container in containers
                for addresses in container.attrs["NetworkSettings"]["Ports"].values()
            ]
        return {(address["HostIp"], int(address["HostPort"])) for addresses in bound for address in addresses or ()}

    def leftovers(self) -> list[object]:
        """Everything of this project that the engine still has."""
        own = {"label": f"com.docker.compose.project={self.project}"}
        with client_of(find().host) as client:
            containers = client.containers.list(all=True, filters=own)
            return [*containers, *client.networks.list(filters=own), *client.volumes.list(filters=own)]

    def connection(self, broker: str, settled: Callable[..., None]) -> Connection:
        port = ports_from(self.topology, self.base_port)[broker, "stomp"]
        return connector_of("stomp", Trust()).connect(
            Endpoint(broker, "stomp", f"stomp://{LOOPBACK}:{port}"), self.login, client_id=f"test-{broker}",
            timeout_s=10.0, on_settled=settled, on_lost=lambda reason: None,
        )  # fmt: skip


def compose(folder: Path, *arguments: str, **environment: str) -> str:
    """Run the machine's Compose, or else the engine's plugin, and return its output."""
    tool = ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]
    process = subprocess.run(
        [*tool, *arguments], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def image(topology: Topology) -> dict[str, str]:
    """The variable that names the image which this machine has."""
    return {topology.product.compose.variable: obtain(find(), topology.product, None, lambda line: None).name}


def free_base_port(topology: Topology) -> int:
    """The first of as many free ports in a row as the topology takes."""
    wanted = list(ports_from(topology, 1024))
    return next(base for base in range(21_000, 30_000, 10) if all_free(wanted, base))


def all_free(wanted: list[tuple[str, str]], base: int) -> bool:
    try:
        choose_ports(wanted, base)
    except Exception:  # whatever is the matter with these, others may do
        return False
    return True


@pytest.fixture(params=PAIRS)
def up(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ComposedNetwork]:
    with rendered_up(build(request.param), tmp_path) as running:
        yield running


@contextmanager
def rendered_up(topology: Topology, folder: Path) -> Iterator[ComposedNetwork]:
    base_port = free_base_port(topology)
    write_files(compose_files(topology, base_port), folder)
    with brought_up(topology, folder, base_port) as running:
        yield running


def with_passwords(folder: Path) -> str:
    """As its user fills in the example; the password."""
    password = secrets.token_urlsafe(18)
    example = (folder / "passwords.env.example").read_text("utf-8")
    filled = example.replace("_PASSWORD=\n", f"_PASSWORD={password}\n")
    (folder / "passwords.env").write_text(filled, "utf-8")
    return password


@contextmanager
def brought_up(topology: Topology, folder: Path, base_port: int) -> Iterator[ComposedNetwork]:
    password = with_passwords(folder)
    project = f"brokerbench-{secrets.token_hex(4)}"
    running = ComposedNetwork(topology, project, folder, base_port, Credentials("client", password))
    try:
        running.compose("up", "-d")
        yield running
    finally:
        running.compose("down", "--volumes", "--timeout", "2")
        assert running.leftovers() == []


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[ComposedNetwork]:
    """A folder of the repository as it is there, its ports too; a copy, for the passwords that have to be in it."""
    topology = build("source-and-sink")
    folder = shutil.copytree(REPOSITORY / topology.name, tmp_path / topology.name)
    with brought_up(topology, folder, BASE_PORT) as running:
        yield running


@pytest.mark.parametrize("entry", KEPT)
def test_compose_takes_each_folder_of_the_repository(entry: str, tmp_path: Path) -> None:
    name = build(entry).name
    folder = shutil.copytree(REPOSITORY / name, tmp_path / name)
    with_passwords(folder)
    services = yaml.safe_load(compose(folder, "config"))["services"]
    assert set(services) == {path.name for path in folder.iterdir() if path.is_dir()}


def test_a_folder_of_the_repository_comes_up_as_it_is_and_its_link_carries_messages(stack: ComposedNetwork) -> None:
    assert eventually(lambda: stack.health() == {"source": "healthy", "sink": "healthy"}, UP_WITHIN_S, LOOK_EVERY_S), (
        stack.health()
    )
    assert stack.published() == {(LOOPBACK, port) for port in ports_from(stack.topology, BASE_PORT).values()}
    send(stack, "source", b"over the link")
    assert receive(stack, "sink") == b"over the link"


def test_brokers_of_a_folder_find_each_other_by_multicast(tmp_path: Path) -> None:
    with rendered_up(build("mesh(brokers=2, discovery='multicast')"), tmp_path) as up:
        healthy = {"broker-1": "healthy", "broker-2": "healthy"}
        assert eventually(lambda: up.health() == healthy, UP_WITHIN_S, LOOK_EVERY_S), up.health()
        send(up, "broker-1", b"over the link")
        assert receive(up, "broker-2") == b"over the link"


def test_all_become_healthy_and_the_standby_keeps_what_the_active_had(up: ComposedNetwork) -> None:
    active, standby = (broker.name for broker in up.topology.brokers)
    healthy = {active: "healthy", standby: "healthy"}
    assert eventually(lambda: up.health() == healthy, UP_WITHIN_S, LOOK_EVERY_S), up.health()
    send(up, active, b"kept over a failure")
    with client_of(find().host) as client:
        (container,) = client.containers.list(
            filters={"label": [f"com.docker.compose.project={up.project}", f"com.docker.compose.service={active}"]}
        )
        container.kill()
    assert receive(up, standby) == b"kept over a failure"


def send(up: ComposedNetwork, broker: str, body: bytes) -> None:
    """Send a message and return once the broker has confirmed it."""
    answered, outcomes = threading.Event(), []

    def settled(token: object, outcome: Outcome, settled_ns: int, reason: str) -> None:
        outcomes.append(outcome)
        answered.set()

    connection = up.connection(broker, settled)
    connection.send(Outgoing(QUEUE, body, True, "only"))
    assert answered.wait(60)
    connection.close()
    assert outcomes == [Outcome.ACKED]


def receive(up: ComposedNetwork, broker: str) -> bytes:
    """The first message of a broker that may still have to come up."""
    opened: list[Connection] = []

    def listens() -> bool:
        try:
            opened.append(up.connection(broker, lambda *reports: None))
        except Exception:  # it does not listen yet, in whatever words
            return False
        return True

    assert eventually(listens, TAKEN_OVER_WITHIN_S, LOOK_EVERY_S)
    arrived, bodies = threading.Event(), []
    opened[0].subscribe(Subscription(QUEUE), lambda delivery: (bodies.append(delivery.body), arrived.set())[0])
    assert arrived.wait(TAKEN_OVER_WITHIN_S)
    opened[0].close()
    return bytes(bodies[0])
