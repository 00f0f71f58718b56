"""Starts topologies with links through proxies, in each runtime that supports them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from records.store.rundir import RunDirectory
from tests.support.docker import on_engine
from tests.topologies_runtime.far_links import IN_CONTAINERS, IN_PROCESSES, MEMORY_MB, Up, asked_all_the_while
from topologies.catalogue.lookup import build
from topologies.management.links import prove_links
from topologies.model.impaired_links import with_impairments
from topologies.model.topology import Topology
from topologies.runtimes.containers.runtime import ContainerRuntime
from topologies.runtimes.contract import Runtime
from topologies.runtimes.managed import ManagedRuntime, proxies_of
from topologies.runtimes.proxies.link_proxies import LinkProxies


@pytest.fixture(params=[IN_PROCESSES, IN_CONTAINERS])
def kind(request: pytest.FixtureRequest) -> type[ManagedRuntime[Any]]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def up(kind: type[ManagedRuntime[Any]], tmp_path: Path) -> Up:
    """Start a topology or catalogue entry with an impairment, and prove its links. Nothing may be left at the end.

    ``loses_them``: the test expects the loss of Toxiproxy. Without it, a reported loss is an error.
    """

    @contextmanager
    def brought_up(
        topology_or_name: str | Topology, link: str, loses_them: bool = False
    ) -> Iterator[tuple[Runtime, Topology, LinkProxies]]:
        before = on_engine() if kind is ContainerRuntime else set()
        topology = with_impairments(
            build(topology_or_name) if isinstance(topology_or_name, str) else topology_or_name, link
        )
        directory = RunDirectory.create(tmp_path, f"{tmp_path.name}-{len(list(tmp_path.iterdir()))}")
        runtime = kind(topology, directory, broker_memory_mb=MEMORY_MB)
        try:
            runtime.up(lambda _line: None)
            prove_links(runtime, topology, timeout_s=60)
            proxies = proxies_of(runtime)
            assert proxies is not None
            yield runtime, topology, proxies
            assert bool(proxies.loss()) == loses_them
            with asked_all_the_while(proxies.loss) as losses:
                runtime.close()
            assert loses_them or losses == {""}, "it ends because the run does"
        finally:
            runtime.close()
        assert kind is not ContainerRuntime or on_engine(tmp_path) == before

    return brought_up
