"""Checks that Artemis brokers work in containers as in processes, on one small network of each kind."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from drivers.contract import Destination, Outcome
from records.store.rundir import RunDirectory
from tests.support.crossings import observed, predicted
from tests.support.docker import docker, on_engine
from tests.support.runtimes import private_folder
from tests.support.stomp_clients import StompClient, body
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.management.contract import serving
from topologies.management.links import prove_links
from topologies.model.topology import Topology
from topologies.runtimes.containers.runtime import ContainerRuntime

pytestmark = pytest.mark.containers

KEPT = Destination("queue", "kept")
MESSAGES = 20
TAKES_OVER_WITHIN_S = 45.0


@contextmanager
def up(topology: Topology, folder: Path) -> Iterator[ContainerRuntime]:
    runtime = ContainerRuntime(topology, RunDirectory.create(folder, f"run-{folder.name}"), broker_memory_mb=192)
    try:
        runtime.up(lambda _line: None)
        prove_links(runtime, topology, timeout_s=60)
        yield runtime
    finally:
        runtime.close()


def test_a_cluster_is_proven_and_keeps_its_secrets_and_leaves_nothing(tmp_path: Path) -> None:
    before, topology = on_engine(), build("cluster(brokers=2)")
    with up(topology, tmp_path) as runtime:
        sender, receiver = (
            StompClient(runtime.endpoint(broker, "stomp"), runtime.credentials()) for broker in ("broker-1", "broker-2")
        )
        receiver.listen(KEPT)
        sender.send(KEPT, body(0))
        assert [reading.seq for reading in receiver.received(1)] == [0]
        for connected in (sender, receiver):
            connected.close()
        versions = runtime.versions()
        assert versions["artemis"] == "2.44.0"
        assert versions["image"].endswith("activemq-artemis:2.44.0")
        secrets = [
            line.partition("=")[2]
            for file in (private_folder(runtime) / "broker-broker-1").iterdir()
            for line in file.read_text("utf-8").splitlines()
        ]
        assert runtime.credentials().password in secrets
        assert runtime._prepared is not None
        name = str(runtime._prepared.handles["broker-1"]._container._name)
        inspected = docker("inspect", name)
        assert runtime.credentials().password not in inspected
        published = json.loads(inspected)[0]["HostConfig"]["PortBindings"].values()
        assert {binding["HostIp"] for (binding,) in published} == {"127.0.0.1"}
    assert on_engine(tmp_path) == before


@pytest.mark.nightly
@pytest.mark.parametrize("entry", ["senders", "receivers", "mirror"])  # a cluster: the test above
def test_messages_get_where_the_model_says_and_nowhere_else(entry: str, tmp_path: Path) -> None:
    topology = build(entry)
    with up(topology, tmp_path) as runtime:
        assert observed(runtime, topology) == predicted(topology)


@pytest.mark.nightly
@pytest.mark.parametrize("ha", ["shared-store", "replication"])
def test_a_backup_takes_over_with_every_message(ha: str, tmp_path: Path) -> None:
    topology = build(f"live-backup(ha={ha!r})")
    with up(topology, tmp_path) as runtime:
        sender = StompClient(runtime.endpoint("broker-1", "stomp"), runtime.credentials())
        sender.send(KEPT, *(body(seq) for seq in range(MESSAGES)))
        assert sender.outcomes(MESSAGES) == [Outcome.ACKED] * MESSAGES
        runtime.kill("broker-1")
        backup = "broker-1-backup"
        until(lambda: serving(runtime, topology, backup, 2.0) == backup, TAKES_OVER_WITHIN_S)
        receiver = StompClient(runtime.endpoint(backup, "stomp"), runtime.credentials())
        receiver.listen(KEPT)
        assert sorted(reading.seq for reading in receiver.received(MESSAGES)) == list(range(MESSAGES))
        receiver.close()
