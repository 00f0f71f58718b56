"""Checks that real brokers accept the rendered files, as a schema does not cover every allowed spelling."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from records.store.rundir import RunDirectory
from tests.support.waiting import until
from tests.topologies.artemis_samples import every_artemis_feature
from tests.topologies.samples import every_feature
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.classic.management import broker_mbean
from topologies.management.jolokia import Jolokia
from topologies.management.links import prove_links
from topologies.model.broker import GIB
from topologies.model.endpoints import Credentials
from topologies.model.topology import Topology
from topologies.pinned import pinned_versions
from topologies.runtimes.contract import Runtime
from topologies.runtimes.prepared import render, without_defaults
from topologies.runtimes.processes.runtime import ProcessRuntime
from topologies.runtimes.release import release_of

pytestmark = pytest.mark.brokers

MBEAN = {"classic": broker_mbean, "artemis": 'org.apache.activemq.artemis:broker="{}"'.format}
ESTABLISHED = "has been established"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    directory = RunDirectory.create(tmp_path_factory.mktemp("runs"), "every-feature")
    running = ProcessRuntime(every_feature(), directory, broker_memory_mb=256)
    try:
        running.up(lambda line: None)
        yield running
    finally:
        running.close()


def log_of(runtime: Runtime, broker: str) -> str:
    path: Path | None = runtime.log_path(broker)
    assert path is not None
    return path.read_text(encoding="utf-8", errors="replace")


def answer_to_connect(runtime: Runtime, broker: str, login: Credentials) -> str:
    """Return the first line of the STOMP connector's reply.

    Repeats the request if there is none: the broker closes a connection without a reply if it has not started fully.
    """
    return until(lambda: said_to_connect(runtime, broker, login))


def said_to_connect(runtime: Runtime, broker: str, login: Credentials) -> str:
    address = urlsplit(runtime.endpoint(broker, "stomp").uri)
    frame = f"CONNECT\naccept-version:1.2\nhost:/\nlogin:{login.username}\npasscode:{login.password}\n\n\0"
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=60) as connection:
        connection.sendall(frame.encode())
        return connection.recv(4096).decode().partition("\n")[0]


def test_brokers_start_from_what_the_catalogue_does_not_use(runtime: Runtime) -> None:
    assert runtime.alive("left")
    assert runtime.alive("right")


def test_the_link_logs_in_and_comes_up_at_both_ends(runtime: Runtime) -> None:
    until(lambda: all(ESTABLISHED in log_of(runtime, name) for name in ("left", "right")))


@pytest.mark.parametrize(
    ("make_topology", "version"),
    [
        *((every_feature, version) for version in pinned_versions("activemq-classic")[1:]),
        *((every_artemis_feature, version) for version in pinned_versions("activemq-artemis")[1:]),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_an_older_version_starts_with_uncommon_settings(
    make_topology: Callable[[], Topology], version: str, tmp_path: Path
) -> None:
    """No catalog entry uses these settings. All links come up."""
    topology, directory = make_topology(), RunDirectory.create(tmp_path, "older")
    older = ProcessRuntime(topology, directory, release=release_of(topology, version), broker_memory_mb=256)
    try:
        older.up(lambda line: None)
        prove_links(older, topology, timeout_s=60)
    finally:
        older.close()


JVM = "jvm: {heap_mb: 130, options: [-XX:+UseSerialGC]}"


@pytest.mark.parametrize(
    ("entry", "stated", "own"),
    [
        # The project's defaults are 1 GiB and 10.
        ("source-and-sink", "dedicated_task_runner: true", lambda attributes: attributes["TempLimit"] > 2 * GIB),
        (
            "cluster(brokers=2)",
            "memory_limit_bytes: 12345678",
            lambda attributes: (attributes["GlobalMaxSize"], attributes["JournalPoolFiles"]) == (12345678, -1),
        ),
    ],
)
def test_without_defaults_brokers_have_what_an_overlay_states_and_else_their_own(
    entry: str, stated: str, own: Callable[[dict[str, int]], bool], tmp_path: Path
) -> None:
    topology = Overlay(Path("o.yaml"), f"brokers: {{all: {{{stated}, {JVM}}}}}").apply(build(entry))
    directory = RunDirectory.create(tmp_path, "unset")
    running = ProcessRuntime(topology, directory, renderer=without_defaults(render))
    try:
        running.up(lambda line: None)
        prove_links(running, topology, timeout_s=60)
        broker = topology.brokers[0].name
        with closing(Jolokia(running.management(broker))) as agent:
            attributes = agent.read(MBEAN[topology.flavour](broker))
            arguments = agent.read("java.lang:type=Runtime", "InputArguments")["InputArguments"]
    finally:
        running.close()
    assert own(attributes)
    assert arguments[:3] == ["-Xms130m", "-Xmx130m", "-XX:+UseSerialGC"]


def test_the_right_password_is_let_in(runtime: Runtime) -> None:
    assert answer_to_connect(runtime, "left", runtime.credentials()) == "CONNECTED"


@pytest.mark.parametrize("password", ["wrong", ""])
def test_a_wrong_password_is_refused(runtime: Runtime, password: str) -> None:
    login = Credentials(runtime.credentials().username, password)
    assert answer_to_connect(runtime, "left", login) == "ERROR"


def test_no_password_stands_in_a_rendered_file_or_a_log(runtime: Runtime) -> None:
    secret = runtime.credentials().password
    assert secret not in "".join(runtime.rendered().values())
    assert secret not in log_of(runtime, "left") + log_of(runtime, "right")
