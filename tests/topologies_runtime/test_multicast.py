"""Checks that brokers in containers find each other by multicast on the engine's bridge network."""

from contextlib import closing
from pathlib import Path

import pytest

from records.store.rundir import RunDirectory
from tests.support.crossings import observed, predicted
from topologies.catalogue.lookup import build
from topologies.management.links import prove_links
from topologies.runtimes.containers.runtime import ContainerRuntime

pytestmark = [pytest.mark.containers, pytest.mark.nightly]


def test_who_tells_by_multicast_is_called_where_it_is_and_messages_cross(tmp_path: Path) -> None:
    topology = build("mesh(discovery='multicast')")
    directory = RunDirectory.create(tmp_path, f"run-{tmp_path.name}")
    with closing(ContainerRuntime(topology, directory, broker_memory_mb=128)) as runtime:
        runtime.up(lambda _line: None)
        prove_links(runtime, topology, timeout_s=60)
        assert observed(runtime, topology) == predicted(topology)
