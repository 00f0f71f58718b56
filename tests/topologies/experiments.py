"""On which small networks are properties tried out, and how is it seen what they do?"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.support.brokers import running
from tests.support.stomp_clients import Client
from topologies.brokers import DEFAULT_POLICIES
from topologies.management.jolokia import Jolokia
from topologies.management.links import prove_links
from topologies.management.views import view_of
from topologies.model import Broker, DestinationPolicy, NetworkConnector, Topology
from topologies.runtimes.contract import Runtime

MEMORY_MB = 128
SETTLES_S = 2.0  # demand and messages that are on their way


def two(*policies: DestinationPolicy, **link: Any) -> Topology:
    """here → there by one link of these properties, both brokers with these policies beside those of the model."""
    here, there = (Broker(name, policies=(*DEFAULT_POLICIES, *policies)) for name in ("here", "there"))
    return Topology("two", (here, there), (NetworkConnector(opened_by=here, to=there, **link),), ())


def chain(**link: Any) -> Topology:
    """a → b → c, both links of these properties."""
    a, b, c = (Broker(name) for name in "abc")
    return Topology(
        "chain", (a, b, c), tuple(NetworkConnector(opened_by=f, to=t, **link) for f, t in ((a, b), (b, c))), ()
    )


@contextmanager
def up(topology: Topology, parent: Path) -> Iterator[Runtime]:
    with running(topology, parent, MEMORY_MB) as runtime:
        prove_links(runtime, topology, timeout_s=60)
        yield runtime


def client(runtime: Runtime, broker: str) -> Client:
    return Client(runtime.endpoint(broker, "stomp"), runtime.credentials())


def depth(runtime: Runtime, topology: Topology, broker: str, queue: str) -> int:
    with closing(Jolokia(runtime.management(broker))) as agent:
        return view_of(topology, broker).figures(agent).queues.get(queue, {}).get("depth", 0)
