"""Checks the contract of every runtime: brokers start, obey, keep their secrets, and leave nothing behind.

Local processes and containers have the same tests. In containers, tests that start separate brokers run at night.
"""

import os
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from drivers import canary
from drivers.protocols import Spoken, connectors_of
from harness.bring_up import bring_up
from harness.faults.probe import RuntimeProbe
from records.store.rundir import RunDirectory
from tests.support.brokers import over_tls
from tests.support.runtimes import answers, eventually, gone, published, secrets_of
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.render.broker_xml import render
from topologies.management.links import prove_links
from topologies.management.sampling import process_rows
from topologies.model.launch import LOOPBACK
from topologies.model.site import Site
from topologies.model.topology import Topology, with_links_opened_by
from topologies.model.trust import Trust
from topologies.runtimes.containers.runtime import ContainerRuntime
from topologies.runtimes.contract import LOG_TAIL_LINES, RuntimeFailed
from topologies.runtimes.managed import ManagedRuntime
from topologies.runtimes.ports import choose_ports
from topologies.runtimes.processes.runtime import ProcessRuntime

Runtime = ManagedRuntime[Any]
Single = Callable[..., Runtime]
STOMP = Spoken("stomp", "stomp")


PROCESSES = pytest.param(ProcessRuntime, marks=pytest.mark.brokers, id="processes")
CONTAINERS = pytest.param(ContainerRuntime, marks=pytest.mark.containers, id="containers")
CONTAINERS_AT_NIGHT = pytest.param(
    ContainerRuntime, marks=[pytest.mark.containers, pytest.mark.nightly], id="containers"
)
in_containers_at_night = pytest.mark.parametrize("kind", [PROCESSES, CONTAINERS_AT_NIGHT], indirect=True)


@pytest.fixture(scope="module", params=[PROCESSES, CONTAINERS])
def kind(request: pytest.FixtureRequest) -> type[Runtime]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def single(kind: type[Runtime], tmp_path: Path) -> Single:
    """Return a runtime with one broker that is not started."""

    def make(**options: Any) -> Runtime:
        return kind(build("single"), RunDirectory.create(tmp_path, "run"), **{"broker_memory_mb": 128, **options})

    return make


@pytest.fixture(scope="module")
def topology() -> Topology:
    return build("mesh(brokers=3)")


@pytest.fixture(scope="module")
def run_directory(kind: type[Runtime], tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return RunDirectory.create(tmp_path_factory.mktemp("mesh"), "run")


@pytest.fixture(scope="module")
def mesh(kind: type[Runtime], topology: Topology, run_directory: RunDirectory) -> Iterator[Runtime]:
    runtime = kind(topology, run_directory, broker_memory_mb=192)
    progress: list[str] = []
    try:
        runtime.up(progress.append)
        assert [re.sub(r"[\d.]+ s", "N s", line) for line in sorted(progress) if " is up " in line] == [
            f"broker broker-{n} is up after N s" for n in (1, 2, 3)
        ]
        yield runtime
    finally:
        runtime.close()


def test_a_mesh_comes_up_and_its_links_are_proven(mesh: Runtime, topology: Topology) -> None:
    assert prove_links(mesh, topology, timeout_s=60) < 60
    for broker in topology.brokers:
        assert mesh.alive(broker.name)
        assert eventually(lambda name=broker.name: answers(mesh, name))


def test_no_password_is_on_any_command_line_or_in_any_environment(mesh: Runtime) -> None:
    processes = [process.info for process in psutil.process_iter(["cmdline", "environ"])]
    for secret in secrets_of(mesh):
        assert secret not in repr(processes)


def test_no_password_is_in_any_file_of_the_run_or_in_what_was_rendered(
    mesh: Runtime, run_directory: RunDirectory
) -> None:
    files = [path for path in run_directory.path.rglob("*") if path.is_file()]
    assert {"activemq.xml", "broker.log", "db.data"} <= {path.name for path in files}
    for secret in secrets_of(mesh):
        assert not [path for path in files if secret.encode() in path.read_bytes()]
        assert secret not in repr(mesh.rendered())
        assert secret not in repr(mesh.__dict__)


def test_every_rendered_file_is_told_as_it_was_written(mesh: Runtime, run_directory: RunDirectory) -> None:
    rendered = mesh.rendered()
    assert len(rendered) == 6
    for name, text in rendered.items():
        broker, _, file = name.partition("/")
        assert (run_directory.broker_folder(broker) / "conf" / file).read_text() == text


def test_versions_tell_what_ran(mesh: Runtime) -> None:
    versions = mesh.versions()
    assert versions["activemq"] == "5.18.3"
    assert versions["jolokia-agent"] == "2.5.0"
    assert re.match(r"\d+", versions["java"])


def test_a_paused_broker_is_there_but_silent_until_resumed(mesh: Runtime) -> None:
    mesh.pause("broker-2")
    assert mesh.alive("broker-2")
    assert eventually(lambda: not answers(mesh, "broker-2")), "SIGSTOP takes a moment to reach every thread"
    mesh.resume("broker-2")
    assert eventually(lambda: answers(mesh, "broker-2"))


def test_a_killed_broker_comes_back_on_the_same_ports_with_the_same_data(mesh: Runtime, topology: Topology) -> None:
    before, pid = mesh.endpoint("broker-3", "stomp"), mesh.pid("broker-3")
    mesh.kill("broker-3")
    assert not mesh.alive("broker-3")
    assert mesh.pid("broker-3") is None
    mesh.start("broker-3")
    assert mesh.endpoint("broker-3", "stomp") == before
    assert mesh.pid("broker-3") not in (None, pid)
    prove_links(mesh, topology, timeout_s=60)


def test_a_stopped_broker_takes_its_leave_and_starts_again(mesh: Runtime) -> None:
    mesh.stop("broker-1")
    mesh.start("broker-1")
    log = mesh.log_path("broker-1")
    assert log is not None
    text = log.read_text()
    assert text.count("Loading message broker from") == 2
    assert "is shutting down" in text
    assert len(mesh.log_tail("broker-1")) == LOG_TAIL_LINES


@in_containers_at_night
def test_a_paused_broker_can_be_stopped_and_takes_its_leave(mesh: Runtime) -> None:
    log = mesh.log_path("broker-2")
    assert log is not None
    mesh.pause("broker-2")
    mesh.stop("broker-2")
    assert not mesh.alive("broker-2")
    assert "is shutdown" in log.read_text()
    mesh.start("broker-2")


def test_operations_on_a_broker_that_is_not_there_name_those_that_are(mesh: Runtime) -> None:
    with pytest.raises(KeyError, match=r"no broker 'hub'.*broker-1, broker-2, broker-3"):
        mesh.kill("hub")
    with pytest.raises(KeyError, match="broker 'broker-1' does not support 'mqtt'; it supports openwire, stomp, amqp"):
        mesh.endpoint("broker-1", "mqtt")
    with pytest.raises(RuntimeFailed, match="broker 'broker-1' cannot be started: it is already running"):
        mesh.start("broker-1")


@in_containers_at_night
def test_a_broker_may_be_absent_at_first_and_join_later(kind: type[Runtime], tmp_path: Path) -> None:
    pair = with_links_opened_by(build("mesh(brokers=2)"), {"broker-2"})
    runtime = kind(pair, RunDirectory.create(tmp_path, "run"), broker_memory_mb=128)
    probe = RuntimeProbe(runtime, pair, connectors_of(STOMP, Trust()))
    progress: list[str] = []
    try:
        bring_up(
            runtime,
            pair,
            [(pair.paths_between("producers", "consumers"), ends(runtime))],
            progress.append,
            absent={"broker-2"},
        )
        assert [line.split(" after ")[0] for line in progress if line.startswith(("broker ", "links "))] == [
            "broker broker-1 is up",
            "links proven",
        ]
        assert progress[-1] == "paths proven by a canary each: 1"
        reserved = runtime.endpoint("broker-2", "stomp")
        assert (runtime.alive("broker-2"), probe.gone("broker-2"), probe.joined("broker-2")) == (False, True, False)
        runtime.start("broker-2")
        assert eventually(lambda: probe.joined("broker-2"))
        assert runtime.endpoint("broker-2", "stomp") == reserved
        runtime.stop("broker-1")
        assert probe.joined("broker-2"), "a link to a broker that is not there is not asked for"
        runtime.stop("broker-2")
        assert eventually(lambda: probe.gone("broker-2"))
    finally:
        runtime.close()


def ends(runtime: Runtime) -> tuple[canary.Side, canary.Side]:
    return canary.sides(runtime, connectors_of(STOMP, Trust()), "stomp", "stomp")


@in_containers_at_night
def test_nothing_is_left_after_close(single: Single, tmp_path: Path) -> None:
    earlier_children = set(psutil.Process().children(recursive=True))  # other tests share these brokers
    runtime = single()
    runtime.up(lambda _line: None)
    assert runtime._prepared is not None
    pid, private = runtime.pid("broker-1"), runtime._prepared.private.path
    ports = runtime._prepared.ports_of("broker-1").values()
    children = {psutil.Process(pid), *psutil.Process().children(recursive=True)} - earlier_children
    assert len(children) == 2, "the broker and its guard"
    runtime.close()
    runtime.close()
    assert eventually(lambda: not [child for child in children if not gone(child.pid)]), children
    assert not private.exists()
    assert not (tmp_path / "run" / "brokers" / "broker-1" / "data").exists()
    assert (tmp_path / "run" / "brokers" / "broker-1" / "log" / "broker.log").exists()
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((LOOPBACK, port))
    with pytest.raises(RuntimeFailed, match="is closed"):
        runtime.start("broker-1")


@in_containers_at_night
def test_data_is_kept_where_that_is_wished(single: Single, tmp_path: Path) -> None:
    runtime = single(keep_data=True)
    runtime.up(lambda _line: None)
    runtime.close()
    assert (tmp_path / "run" / "brokers" / "broker-1" / "data" / "kahadb").is_dir()
    assert "is shutdown" in (tmp_path / "run" / "brokers" / "broker-1" / "log" / "broker.log").read_text()


@in_containers_at_night
def test_a_broker_that_dies_while_starting_is_told_with_its_last_words(single: Single) -> None:
    def broken(topology: Topology, broker: Broker, site: Site) -> dict[str, str]:
        files = dict(render(topology, broker, site))
        return files | {
            "activemq.xml": files["activemq.xml"].replace("<transportConnectors>", "<nonsense/><transportConnectors>")
        }

    runtime = single(renderer=broken)
    with pytest.raises(RuntimeFailed) as failed:
        runtime.up(lambda _line: None)
    message = str(failed.value)
    assert message.startswith("broker 'broker-1' died while starting (exit status 1). Its log ends:\n")
    assert "nonsense" in message
    assert "\tat " not in message
    assert not runtime.alive("broker-1")


def test_a_taken_fixed_port_is_told_before_anything_starts(single: Single) -> None:
    port = choose_ports(["it"])["it"]
    runtime = single(base_port=port)
    with (
        socket.create_server((LOOPBACK, port)),
        pytest.raises(RuntimeFailed, match=f"port {port} of 127.0.0.1 is already"),
    ):
        runtime.up(lambda _line: None)


@pytest.mark.parametrize("protocol", ["stomp", pytest.param("management", marks=pytest.mark.nightly)])
@in_containers_at_night
def test_a_port_taken_while_the_broker_was_down_is_told_with_its_holder(single: Single, protocol: str) -> None:
    runtime = single()
    try:
        runtime.up(lambda _line: None)
        runtime.kill("broker-1")
        assert runtime._prepared is not None
        port = runtime._prepared.ports_of("broker-1")[protocol]
        with socket.create_server((LOOPBACK, port)), pytest.raises(RuntimeFailed) as failed:
            runtime.start("broker-1")
        assert f"port {port} of 127.0.0.1 is already in use by pid {os.getpid()}" in str(failed.value)
        assert eventually(lambda: not runtime.alive("broker-1"))
    finally:
        runtime.close()


@in_containers_at_night
def test_a_broker_that_does_not_get_up_in_time_is_told_with_its_log(single: Single) -> None:
    runtime = single(start_timeout_s=0.2)
    with pytest.raises(RuntimeFailed, match=r"broker 'broker-1' did not accept connections within 0\.2 s"):
        runtime.up(lambda _line: None)
    assert not runtime.alive("broker-1")


def test_too_little_memory_is_refused_at_once(single: Single) -> None:
    with pytest.raises(ValueError, match="broker memory of 16 MB: a broker needs at least 64 MB"):
        single(broker_memory_mb=16)


def test_a_runtime_that_was_not_started_says_so(single: Single) -> None:
    with pytest.raises(RuntimeFailed, match=r"call up\(\) first"):
        single().credentials()


def test_what_a_broker_publishes_to_clients_is_where_this_machine_reaches_it(mesh: Runtime) -> None:
    uri = mesh.endpoint("broker-2", "openwire").uri
    assert uri.startswith(f"tcp://{LOOPBACK}:")
    assert uri.encode() in published(uri)


@in_containers_at_night
def test_bind_host_moves_clients_but_not_management(
    single: Single,
) -> None:
    elsewhere, progress = "127.0.0.2", list[str]()
    runtime = single(bind_host=elsewhere)
    try:
        runtime.up(progress.append)
        uri = runtime.endpoint("broker-1", "openwire").uri
        assert uri.startswith(f"tcp://{elsewhere}:")
        assert uri.encode() in published(uri)
        assert eventually(lambda: answers(runtime, "broker-1"))
        assert runtime._prepared is not None
        for protocol, port in runtime._prepared.ports_of("broker-1").items():
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((elsewhere if protocol == "management" else LOOPBACK, port), 1)
    finally:
        runtime.close()
    assert [line for line in progress if elsewhere in line] == [
        f"brokers listen on {elsewhere}, so they can be reached from its network"
    ]


def test_the_process_of_a_broker_is_sampled_as_its_own(mesh: Runtime) -> None:
    pid = mesh.pid("broker-1")
    assert pid is not None
    assert "activemq.jar" in " ".join(psutil.Process(pid).cmdline())
    sampled = {row.metric: row.value for row in process_rows("broker-1", pid)}
    assert sampled["rss_bytes"] > 50_000_000
    assert sampled["cpu_ns"] > 0


@in_containers_at_night
def test_brokers_that_speak_tls_show_certificates_that_each_other_and_clients_verify(
    kind: type[Runtime], tmp_path: Path
) -> None:
    topology = over_tls(build("source-and-sink"))
    runtime = kind(topology, RunDirectory.create(tmp_path, "run"), broker_memory_mb=128)
    try:
        runtime.up(lambda line: None)
        prove_links(runtime, topology, timeout_s=30)
        producers, consumers = canary.sides(runtime, connectors_of(STOMP, Trust(runtime.trusted_pem)), "stomp", "stomp")
        paths = topology.paths_between("producers", "consumers")
        canary.prove(paths, producers, consumers, runtime.credentials(), timeout_s=30)
        assert runtime.endpoint("source", "stomp").uri.startswith("stomp+ssl://")
        assert runtime.endpoint("source", "openwire").uri.startswith("ssl://")
        rendered = "".join(runtime.rendered().values())
        assert "keyStorePassword" in rendered
        assert not [secret for secret in secrets_of(runtime, "source") if secret in rendered]
    finally:
        runtime.close()
