"""Finds between which brokers messages really cross: one message for each pair of producer's and consumer's broker."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

from drivers.contract import Destination
from records.loads.identity import read
from tests.support.stomp_clients import RUN, StompClient, body
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime

ARRIVES_WITHIN_S, SILENT_FOR_S = 30.0, 3.0
AGAIN_S = 1.0
# All at once, news of the consumers meets itself at a hub: there 5.18.3 now and then lost a duplex bridge to a
# ConcurrentModificationException of its own, and with it a message for half a minute or more.
APART_S = 0.05

Pair = tuple[str, str]
"""(broker that it is sent at, broker that it is consumed at)"""


def pairs_of(topology: Topology) -> list[Pair]:
    """Every broker with every broker, itself included; standbys have their actives' places."""
    names = [broker.name for broker in topology.brokers if not broker.standby_of]
    return list(product(names, names))


def destination_of(pair: Pair, kind: str = "queue", prefix: str = "") -> Destination:
    """Return a destination for this pair only, so that a message can come from nowhere else."""
    return Destination(kind, f"{prefix}from-{pair[0]}-to-{pair[1]}")


def predicted(topology: Topology, kind: str = "queue", prefix: str = "") -> set[Pair]:
    """Return the pairs that the model predicts."""
    return {pair for pair in pairs_of(topology) if topology.reaches(*pair, str(destination_of(pair, kind, prefix)))}


def observed(runtime: Runtime, topology: Topology, kind: str = "queue", prefix: str = "") -> set[Pair]:
    """Return the pairs whose messages arrive, on running brokers.

    Waits for all predicted messages, and then for a while for others. A topic keeps nothing for demand that is
    still on its way, so there each message is sent again until it has come.
    """
    wanted, awaited = pairs_of(topology), predicted(topology, kind, prefix)
    with _clients(runtime, wanted) as clients:
        for pair in wanted:
            clients[pair[1]].listen(destination_of(pair, kind, prefix))
            time.sleep(APART_S)
        time.sleep(AGAIN_S)
        end, sent = time.monotonic() + ARRIVES_WITHIN_S, set[Pair]()
        while time.monotonic() < end and not awaited <= _arrived(clients, wanted):
            sent = _send(clients, wanted, kind, prefix, sent)
            time.sleep(AGAIN_S)
        _send(clients, wanted, kind, prefix, sent)
        time.sleep(SILENT_FOR_S)
        return _arrived(clients, wanted)


def _send(clients: dict[str, StompClient], wanted: list[Pair], kind: str, prefix: str, sent: set[Pair]) -> set[Pair]:
    """To a queue once, to a topic each time."""
    for number, pair in enumerate(wanted):
        if kind == "topic" or pair not in sent:
            clients[pair[0]].send(destination_of(pair, kind, prefix), body(number))
    return set(wanted)


def _arrived(clients: dict[str, StompClient], wanted: list[Pair]) -> set[Pair]:
    """The pairs whose message was received, each at the broker where it was to be."""
    received = {
        (broker, read(delivery.body, RUN).seq) for broker, client in clients.items() for delivery in list(client.got)
    }
    return {pair for number, pair in enumerate(wanted) if (pair[1], number) in received}


@contextmanager
def _clients(runtime: Runtime, wanted: list[Pair]) -> Iterator[dict[str, StompClient]]:
    """A client at each broker."""
    clients: dict[str, StompClient] = {}
    try:
        for broker, _ in wanted:
            if broker not in clients:
                clients[broker] = StompClient(runtime.endpoint(broker, "stomp"), runtime.credentials())
        yield clients
    finally:
        for client in clients.values():
            client.close()
