"""Provides the small networks for tests of link properties, and the clients that observe them."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from drivers.contract import Destination, Outcome
from tests.support.brokers import running
from tests.support.stomp_clients import StompClient, body
from tests.support.waiting import until
from topologies.classic.broker import DEFAULT_POLICIES, Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.policies import DestinationPolicy
from topologies.classic.product import CLASSIC
from topologies.management.contract import queries_of
from topologies.management.jolokia import Jolokia
from topologies.management.links import prove_links
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime

MEMORY_MB = 128
MESSAGES = 30
ORDERS = Destination("queue", "orders")
PRICES = Destination("topic", "prices")
SETTLES_S = 2.0  # demand and messages that are on their way


def here_to_there(*policies: DestinationPolicy, **link: Any) -> Topology:
    """Return here → there with one link of these properties. Both brokers have these policies and the default ones."""
    here, there = (Broker(name, policies=(*DEFAULT_POLICIES, *policies)) for name in ("here", "there"))
    return Topology("two", (here, there), (NetworkConnector(opened_by=here, to=there, **link),), (), CLASSIC)


def chain(**link: Any) -> Topology:
    """Return a → b → c, with two links of these properties."""
    a, b, c = (Broker(name) for name in "abc")
    return Topology(
        "chain", (a, b, c), tuple(NetworkConnector(opened_by=f, to=t, **link) for f, t in ((a, b), (b, c))), (), CLASSIC
    )


@contextmanager
def up(topology: Topology, parent: Path) -> Iterator[Runtime]:
    with running(topology, parent, MEMORY_MB) as runtime:
        prove_links(runtime, topology, timeout_s=60)
        yield runtime


def client(runtime: Runtime, broker: str) -> StompClient:
    return StompClient(runtime.endpoint(broker, "stomp"), runtime.credentials())


@contextmanager
def clients(runtime: Runtime, *brokers: str) -> Iterator[list[StompClient]]:
    """Provide a client for each of these brokers, and close them at the end."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(client(runtime, broker))) for broker in brokers]


def send(runtime: Runtime, broker: str, to: Destination = ORDERS, count: int = MESSAGES, first_seq: int = 0) -> None:
    """Send ``count`` messages by a new client, and wait until each is acknowledged."""
    with closing(client(runtime, broker)) as sender:
        sender.send(to, *(body(seq) for seq in range(first_seq, first_seq + count)))
        assert sender.outcomes(count) == [Outcome.ACKED] * count


def depth(runtime: Runtime, topology: Topology, broker: str, queue: str) -> int:
    with closing(Jolokia(runtime.management(broker))) as agent:
        return queries_of(topology, broker).figures(agent).queues.get(queue, {}).get("depth", 0)


def shares(runtime: Runtime, *consume_at: str) -> list[int]:
    """Return how many of the 30 messages sent at ``here`` each consumer receives, in the order of the consumers."""
    with clients(runtime, *consume_at) as consumers:
        for consumer in consumers:
            consumer.listen(ORDERS)
        with closing(Jolokia(runtime.management("here"))) as agent:
            queries = queries_of(here_to_there(), "here")
            demand = consume_at.count("here") + ("there" in consume_at)  # the link's is one more, or several
            until(lambda: queries.figures(agent).queues.get(ORDERS.name, {}).get("consumers", 0) >= demand)
        time.sleep(SETTLES_S)
        send(runtime, "here")
        until(lambda: sum(len(consumer.got) for consumer in consumers) == MESSAGES)
        return [len(consumer.got) for consumer in consumers]
