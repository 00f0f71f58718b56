"""Does Docker Compose bring up what was rendered, and does it do what the topology says?"""

import os
import secrets
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from brokerbench.compose import VARIABLE, compose_files
from brokerbench.rendering import ports_from, write_files
from drivers.contract import Connection, Destination, Outcome, Outgoing, Subscription
from drivers.protocols import connector_of
from topologies.catalogue import build
from topologies.endpoints import Credentials, Endpoint
from topologies.model import Topology
from topologies.runtimes.container_image import obtain
from topologies.runtimes.docker_engine import client_of, find
from topologies.runtimes.kinds import kind_of
from topologies.runtimes.ports import LOOPBACK, choose_ports
from topologies.trust import Trust

pytestmark = [pytest.mark.containers, pytest.mark.nightly]

PAIRS = ("active-standby", "live-backup")
UP_WITHIN_S, TAKEN_OVER_WITHIN_S = 90.0, 45.0
QUEUE = Destination("queue", "kept")


@dataclass(frozen=True)
class Up:
    """What Compose has brought up, and how to reach it."""

    topology: Topology
    project: str
    folder: Path
    base_port: int
    login: Credentials

    def compose(self, *arguments: str) -> None:
        """As on the machine: the first Compose, or the engine's own."""
        tool = ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]
        environment = {**os.environ, "COMPOSE_PROJECT_NAME": self.project, **image(self.topology)}
        command = [*tool, *arguments]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def health(self) -> dict[str, str]:
        """Of each service: starting, healthy or unhealthy."""
        with client_of(find().host) as client:
            found = client.containers.list(filters={"label": f"com.docker.compose.project={self.project}"})
            return {it.labels["com.docker.compose.service"]: it.attrs["State"]["Health"]["Status"] for it in found}

    def left(self) -> list[object]:
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


def image(topology: Topology) -> dict[str, str]:
    """The variable that names the image which this machine has."""
    return {VARIABLE[topology.flavour]: obtain(find(), kind_of(topology), None, lambda line: None).name}


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
def up(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Up]:
    topology = build(request.param)
    folder, base_port, password = tmp_path, free_base_port(topology), secrets.token_urlsafe(18)
    write_files(compose_files(topology, base_port), folder)
    lines = [
        f"BROKERBENCH_{who}_{what}={value}"
        for who in ("CLIENT", "BRIDGE")
        for what, value in (("USERNAME", who.lower()), ("PASSWORD", password))
    ]
    (folder / "passwords.env").write_text("\n".join(lines) + "\n", "utf-8")
    project = f"brokerbench-{secrets.token_hex(4)}"
    running = Up(topology, project, folder, base_port, Credentials("client", password))
    try:
        running.compose("up", "-d")
        yield running
    finally:
        running.compose("down", "--volumes", "--timeout", "2")
        assert running.left() == []


def eventually(true: Callable[[], bool], within_s: float) -> bool:
    end = time.monotonic() + within_s
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.5)
    return found


def test_all_become_healthy_and_the_standby_keeps_what_the_active_had(up: Up) -> None:
    active, standby = (broker.name for broker in up.topology.brokers)
    healthy = {active: "healthy", standby: "healthy"}
    assert eventually(lambda: up.health() == healthy, UP_WITHIN_S), up.health()
    send(up, active, b"kept over a failure")
    with client_of(find().host) as client:
        (container,) = client.containers.list(
            filters={"label": [f"com.docker.compose.project={up.project}", f"com.docker.compose.service={active}"]}
        )
        container.kill()
    assert receive(up, standby) == b"kept over a failure"


def send(up: Up, broker: str, body: bytes) -> None:
    """Returns once the broker has it."""
    answered, outcomes = threading.Event(), []

    def settled(token: object, outcome: Outcome, settled_ns: int, reason: str) -> None:
        outcomes.append(outcome)
        answered.set()

    connection = up.connection(broker, settled)
    connection.send(Outgoing(QUEUE, body, True, "only"))
    assert answered.wait(10)
    connection.close()
    assert outcomes == [Outcome.ACKED]


def receive(up: Up, broker: str) -> bytes:
    """The first message of a broker that may still have to come up."""
    opened: list[Connection] = []

    def listens() -> bool:
        try:
            opened.append(up.connection(broker, lambda *told: None))
        except Exception:  # it does not listen yet, in whatever words
            return False
        return True

    assert eventually(listens, TAKEN_OVER_WITHIN_S)
    arrived, bodies = threading.Event(), []
    opened[0].subscribe(Subscription(QUEUE), lambda delivery: (bodies.append(delivery.body), arrived.set())[0])
    assert arrived.wait(10)
    opened[0].close()
    return bytes(bodies[0])
