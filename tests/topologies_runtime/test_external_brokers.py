"""Checks that real brokers which already run are reached and proven, also over TLS, and left running."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from drivers import canary
from drivers.protocols import Spoken, connectors_of
from records.store.rundir import RunDirectory
from tests.support.brokers import over_tls, wrong_password_of_bridges
from topologies.catalogue.lookup import build
from topologies.management.links import LinksNotProven, prove_links
from topologies.model.endpoints import Credentials
from topologies.model.topology import Topology
from topologies.model.trust import Trust
from topologies.runtimes.external.credentials import ExternalCredentials
from topologies.runtimes.external.file import BrokersFile, ExternalBroker
from topologies.runtimes.external.runtime import ExternalRuntime
from topologies.runtimes.prepared import Render, render
from topologies.runtimes.processes.runtime import ProcessRuntime

pytestmark = pytest.mark.brokers
STOMP = Spoken("stomp", "stomp")


@dataclass(frozen=True)
class BrokersOfOthers:
    """Existing brokers that accept only TLS, with the details that runs receive."""

    topology: Topology
    runtime: ProcessRuntime
    trust: Trust

    def external(self, host: str = "127.0.0.1", *, management: bool = False) -> ExternalRuntime:
        brokers = {}
        for number, broker in enumerate(self.topology.brokers, start=1):
            port = self.runtime.endpoint(broker.name, "stomp").uri.rpartition(":")[2]
            url = self.runtime.management(broker.name).url if management else ""
            brokers[broker.name] = ExternalBroker(broker.name, number, {"stomp": f"stomp+ssl://{host}:{port}"}, url)
        agent = self.runtime.management(self.topology.brokers[0].name)
        logins = ExternalCredentials(self.runtime.credentials(), Credentials(agent.username, agent.password))
        return ExternalRuntime(self.topology, BrokersFile(Path("b.yaml"), brokers), logins)

    def prove(self, runtime: ExternalRuntime, trust: Trust) -> None:
        runtime.up(lambda line: None)
        prove_links(runtime, self.topology, timeout_s=30)
        producers, consumers = canary.sides(runtime, connectors_of(STOMP, trust), "stomp", "stomp")
        paths = self.topology.paths_between("producers", "consumers")
        canary.prove(paths, producers, consumers, runtime.credentials(), timeout_s=30)


@contextmanager
def brought_up(parent: Path, renderer: Render = render) -> Iterator[BrokersOfOthers]:
    topology = over_tls(build("source-and-sink"))
    runtime = ProcessRuntime(topology, RunDirectory.create(parent, "run"), broker_memory_mb=128, renderer=renderer)
    try:
        runtime.up(lambda line: None)
        yield BrokersOfOthers(topology, runtime, Trust(runtime.trusted_pem))
    finally:
        runtime.close()


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokersOfOthers]:
    with brought_up(tmp_path_factory.mktemp("theirs")) as brokers:
        yield brokers


def test_brokers_whose_bridge_is_over_tls_too_are_proven_and_stay(theirs: BrokersOfOthers) -> None:
    runtime = theirs.external(management=True)
    theirs.prove(runtime, theirs.trust)
    assert runtime.versions() == {"activemq": "5.18.3"}
    runtime.close()
    assert all(theirs.runtime.alive(broker.name) for broker in theirs.topology.brokers)


def test_without_management_the_canaries_prove_the_paths(theirs: BrokersOfOthers) -> None:
    theirs.prove(theirs.external(), theirs.trust)


def test_brokers_of_an_authority_that_was_not_named_are_refused(theirs: BrokersOfOthers) -> None:
    with pytest.raises(
        canary.PathsUnproven, match=r"broker \w+ at .* its certificate is not to be trusted .*--ca-file"
    ):
        theirs.prove(theirs.external(), Trust())


def test_brokers_reached_by_another_name_than_their_certificates_are_refused(theirs: BrokersOfOthers) -> None:
    with pytest.raises(canary.PathsUnproven, match=r"Hostname mismatch.*connect to a name that its certificate has"):
        theirs.prove(theirs.external("localhost"), theirs.trust)


@pytest.mark.nightly
def test_a_bridge_over_tls_with_a_wrong_password_is_named_with_what_to_check(tmp_path: Path) -> None:
    """The brokers' logs have the cause, but they are on other machines."""
    with brought_up(tmp_path, wrong_password_of_bridges) as theirs:
        runtime = theirs.external(management=True)
        runtime.up(lambda line: None)
        with pytest.raises(LinksNotProven) as failed:
            prove_links(runtime, theirs.topology, timeout_s=4)
    lines = str(failed.value).splitlines()
    assert lines[1].startswith("link 'source-to-sink' from source to sink: source shows no bridge to sink")
    assert lines[2].startswith("the logs of source, sink cannot be read from here: check the user and password")
