"""What is asked of links through proxies: how long did messages take over them, and is a door shut?"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from drivers.contract import Destination
from tests.support.stomp_clients import Client, body
from tests.support.waiting import until
from topologies.model import Topology
from topologies.runtimes.contract import Runtime
from topologies.runtimes.links.proxies import LinkProxies

NS_PER_MS = 1_000_000
MEMORY_MB = 128

Up = Callable[..., AbstractContextManager[tuple[Runtime, Topology, LinkProxies]]]


@contextmanager
def asked_all_the_while(question: Callable[[], str]) -> Iterator[set[str]]:
    """Every answer that there was, from before the block to after it."""
    told, over = {question()}, threading.Event()

    def ask() -> None:
        while not over.wait(0.001):
            told.add(question())

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield told
    finally:
        over.set()
        asking.join()
        told.add(question())


def client(runtime: Runtime, broker: str) -> Client:
    return Client(runtime.endpoint(broker, "stomp"), runtime.credentials())


def shut(door: tuple[str, int]) -> bool:
    """Nobody answers there: where it is published, an engine takes the connection and ends it at once."""
    try:
        with socket.create_connection(door, 1) as caller:
            return caller.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:  # AMQP brokers wait to be greeted
        return False


def times_ms(sender: Client, receiver: Client, to: Destination, count: int, body_bytes: int = 64) -> list[float]:
    """How long each of so many messages took, one after the other; the one that finds the way is not among them."""
    receiver.listen(to)
    time.sleep(1)  # demand travels too
    took = []
    for number in range(count + 1):
        sent_ns = time.perf_counter_ns()
        sender.send(to, body(number, body_bytes))
        until(lambda number=number: len(receiver.got) > number)  # type: ignore[misc]
        took.append((receiver.got[number].received_ns - sent_ns) / NS_PER_MS)
    return took[1:]
