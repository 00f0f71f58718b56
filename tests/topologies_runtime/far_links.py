"""Measures links through proxies: the time that messages take, and whether a proxy accepts connections."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import pytest

from drivers.contract import Destination
from tests.support.stomp_clients import StompClient, body
from tests.support.waiting import until
from topologies.model.topology import Topology
from topologies.runtimes.containers.runtime import ContainerRuntime
from topologies.runtimes.contract import Runtime
from topologies.runtimes.processes.runtime import ProcessRuntime
from topologies.runtimes.proxies.link_proxies import LinkProxies

IN_PROCESSES = pytest.param(ProcessRuntime, marks=pytest.mark.brokers, id="processes")
IN_CONTAINERS = pytest.param(ContainerRuntime, marks=pytest.mark.containers, id="containers")
PROCESSES = pytest.mark.parametrize("kind", [IN_PROCESSES])
CONTAINERS = pytest.mark.parametrize("kind", [IN_CONTAINERS])
"""For tests where one runtime is enough. Tests without these parameters run in both."""

NS_PER_MS = 1_000_000
MEMORY_MB = 128

Up = Callable[..., AbstractContextManager[tuple[Runtime, Topology, LinkProxies]]]


@contextmanager
def asked_all_the_while(question: Callable[[], str]) -> Iterator[set[str]]:
    """Collect every answer from before the block to after it."""
    answers, over = {question()}, threading.Event()

    def ask() -> None:
        while not over.wait(0.001):
            answers.add(question())

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield answers
    finally:
        over.set()
        asking.join()
        answers.add(question())


def one_runtime_each(name: str, *, processes: Sequence[str], containers: Sequence[str]) -> pytest.MarkDecorator:
    """Parametrize ``name``, with each value in one runtime only."""
    cells = [(IN_PROCESSES, value) for value in processes] + [(IN_CONTAINERS, value) for value in containers]
    return pytest.mark.parametrize(
        ("kind", name),
        [pytest.param(*kind.values, value, marks=kind.marks, id=f"{kind.id}-{value}") for kind, value in cells],
    )


def client(runtime: Runtime, broker: str) -> StompClient:
    return StompClient(runtime.endpoint(broker, "stomp"), runtime.credentials())


def shut(door: tuple[str, int]) -> bool:
    """Whether a proxy accepts no connection. Docker accepts connections to a published port and closes them at once."""
    try:
        with socket.create_connection(door, 1) as caller:
            return caller.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:  # AMQP brokers wait for the client's header
        return False


def times_ms(
    sender: StompClient, receiver: StompClient, to: Destination, count: int, body_bytes: int = 64
) -> list[float]:
    """Return the durations of ``count`` messages, sent one after the other. A first message is not counted."""
    receiver.listen(to)
    time.sleep(1)  # demand travels too
    durations_ms = []
    for number in range(count + 1):
        sent_ns = time.perf_counter_ns()
        sender.send(to, body(number, body_bytes))
        until(lambda number=number: len(receiver.got) > number)  # type: ignore[misc]
        durations_ms.append((receiver.got[number].received_ns - sent_ns) / NS_PER_MS)
    return durations_ms[1:]
