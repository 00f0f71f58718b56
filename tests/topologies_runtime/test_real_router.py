"""Checks that a real Qpid Dispatch router carries messages to an Artemis broker's queue and back to consumers.

These tests need ``qdrouterd``: `.ci/build-router.sh SOURCES` builds it.
"""

import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from drivers import canary
from drivers.amqp.connector import AmqpConnector
from drivers.contract import Delivery, Destination, Outcome, Outgoing, Subscription
from records.tables.schemas import CANARY_PREFIX
from tests.support.brokers import running
from tests.support.locust_run import LocustRun, make_run, nothing_left, processes_of
from tests.support.waiting import until
from topologies.artemis.management import queue_mbean
from topologies.artemis.router import VERSION
from topologies.catalogue.lookup import build
from topologies.management.jolokia import Jolokia
from topologies.management.links import prove_links
from topologies.model.client_groups import CONSUMERS, PRODUCERS
from topologies.runtimes.contract import Runtime, RuntimeFailed

pytestmark = [pytest.mark.brokers, pytest.mark.nightly, pytest.mark.router]

STEADY, LOAD = "scenarios/steady.py", ("--topology", "router-peer", "--runtime", "processes", "--protocol", "amqp")
TOPOLOGY = build("router-peer(queues='steady, late, again')")
BROKER, ROUTER, CANARIES = "broker-1", "router", f"{CANARY_PREFIX}router"
MEMORY_MB = 128


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    with running(TOPOLOGY, tmp_path_factory.mktemp("router"), MEMORY_MB) as runtime:
        prove_links(runtime, TOPOLOGY, timeout_s=30)
        yield runtime


class RouterClient:
    """A connection to the router, with the results that it received."""

    def __init__(self, runtime: Runtime) -> None:
        self.settled: list[Outcome] = []
        self.got: list[bytes] = []
        self.connection = AmqpConnector().connect(
            runtime.endpoint(ROUTER, "amqp"),
            runtime.credentials(),
            client_id="",
            timeout_s=10,
            on_settled=lambda _token, outcome, _at_ns, _reason: self.settled.append(outcome),
            on_lost=lambda _reason: None,
        )

    def send(self, queue: str, *bodies: bytes) -> None:
        for body in bodies:
            self.connection.send(Outgoing(Destination("queue", queue), body, True, body))

    def close(self) -> None:
        self.connection.close()

    def listen(self, queue: str) -> None:
        def on_delivery(delivery: Delivery) -> None:
            self.got.append(delivery.body)
            self.connection.settle(delivery)

        self.connection.subscribe(Subscription(Destination("queue", queue)), on_delivery)


def port_of(runtime: Runtime) -> int:
    return int(runtime.endpoint(ROUTER, "amqp").uri.rpartition(":")[2])


def counted(runtime: Runtime, queue: str) -> tuple[int, int, int]:
    """Return the broker's message counts of a queue: stored, added, acknowledged."""
    attributes = ("MessageCount", "MessagesAdded", "MessagesAcknowledged")
    with closing(Jolokia(runtime.management(BROKER))) as agent:
        attribute_values = agent.read(queue_mbean(BROKER, queue, queue), *attributes)
    return attribute_values["MessageCount"], attribute_values["MessagesAdded"], attribute_values["MessagesAcknowledged"]


def test_messages_wait_at_the_broker_until_consumed_at_the_router(
    router: Runtime,
) -> None:
    bodies = [str(number).encode() for number in range(100)]
    with closing(RouterClient(router)) as sender:
        sender.send("late", *bodies)
        until(lambda: sender.settled == [Outcome.ACKED] * 100)
    assert counted(router, "late") == (100, 100, 0)
    with closing(RouterClient(router)) as receiver:
        receiver.listen("late")
        until(lambda: receiver.got == bodies)
        until(lambda: counted(router, "late") == (0, 100, 100))


def test_a_canary_proves_the_path_by_the_brokers_queue(router: Runtime) -> None:
    before = counted(router, CANARIES)
    ends = canary.sides(router, {"amqp": AmqpConnector()}, "amqp", "amqp")
    canary.prove(TOPOLOGY.paths_between(PRODUCERS, CONSUMERS), *ends, router.credentials(), timeout_s=30)
    until(lambda: counted(router, CANARIES) == (0, before[1] + 1, before[2] + 1))


def test_a_router_that_was_killed_is_there_again_with_all_that_its_broker_kept(router: Runtime) -> None:
    with closing(RouterClient(router)) as sender:
        sender.send("again", b"before")
        until(lambda: sender.settled == [Outcome.ACKED])
        router.kill(ROUTER)
        assert not router.alive(ROUTER)
    router.start(ROUTER)
    with closing(RouterClient(router)) as receiver:
        receiver.listen("again")
        until(lambda: receiver.got == [b"before"], 30)


def test_a_router_is_told_no_password_and_listens_on_loopback_only(router: Runtime) -> None:
    pid = router.pid(ROUTER)
    assert pid is not None
    process = psutil.Process(pid)
    assert router.credentials().password not in " ".join(process.cmdline())
    listening = {
        connection.laddr for connection in process.net_connections("tcp") if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {("127.0.0.1", port_of(router))}
    assert router.versions()["qdrouterd"] == VERSION


def test_a_router_whose_port_somebody_has_says_who(router: Runtime) -> None:
    router.stop(ROUTER)
    with socket.create_server(("127.0.0.1", port_of(router))):
        pattern = f"broker 'router' died while starting .*port {port_of(router)} of 127.0.0.1 is already in use by"
        with pytest.raises(RuntimeFailed, match=pattern):
            router.start(ROUTER)
    router.start(ROUTER)


@pytest.mark.spark
def test_steady_passes_on_it_and_each_message_was_the_brokers(tmp_path: Path) -> None:
    finished = make_run(STEADY, *LOAD, "-t", "10s", runs=tmp_path / "runs")
    assert (finished.status, finished.summary["verdict"]) == (0, "pass"), finished.output
    messages = finished.summary["messages"]
    assert messages["sent"] == messages["received"] > 1_000
    samples = pq.read_table(finished.run / "events" / "samples").to_pylist()
    enqueued = [row["value"] for row in samples if (row["object"], row["metric"]) == ("steady", "enqueue_count")]
    assert max(enqueued) == messages["sent"]
    assert nothing_left(tmp_path / "runs")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_no_router_outlives_its_run(number: signal.Signals, status: int, tmp_path: Path) -> None:
    run = LocustRun(STEADY, *LOAD, "-t", "120s", "--warm-up", "1", runs=tmp_path / "runs")
    run.wait_for(r"load: \d+ s of 120 s, sent [1-9]")
    assert any("qdrouterd" in line for line in processes_of(run.runs))
    run.send(number)
    assert run.outcome().status == status
    assert nothing_left(run.runs)
