"""What does one worker's work cost? A process of its own that sends and receives so many messages.

``python -m benchmarks.stomp_worker MODE URI COUNT RATE durable|non-durable``, with the password on standard input;
prints one JSON line. Modes: ``recorded`` and ``unrecorded`` use this project's STOMP driver, producer and consumer,
with the recorder or with one that forgets; ``bare`` is a plain stomp.py loop that does the same sends and receives.
RATE 0 is as fast as it goes. The first messages are not counted: they pay for what is loaded and made once.
"""

import gevent.monkey

gevent.monkey.patch_all()

import json  # noqa: E402
import random  # noqa: E402
import resource  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import stomp  # noqa: E402

from drivers.client import Client  # noqa: E402
from drivers.contract import Destination, Subscription  # noqa: E402
from drivers.failover import FailoverUri  # noqa: E402
from drivers.stomp import StompConnector  # noqa: E402
from records.rundir import RunDirectory  # noqa: E402
from records.writer import Recorder  # noqa: E402
from topologies.endpoints import Credentials  # noqa: E402

BODY_BYTES, IN_FLIGHT, PREFETCH, WARM_UP = 1_024, 500, 1_000, 1_000
USER = "brokerbench"


class Forgetful(Recorder):
    """A recorder that keeps nothing: what it saves is what recording costs."""

    def send(self, *_: Any) -> None:
        """Forget it."""

    def receipt(self, *_: Any) -> None:
        """Forget it."""


class Arrivals:
    """Counts messages and lets others wait for a number of them."""

    def __init__(self) -> None:
        self.seen = 0
        self._changed = threading.Event()

    def one_more(self) -> None:
        self.seen += 1
        self._changed.set()

    def wait_for(self, count: int) -> None:
        while self.seen < count:
            self._changed.clear()
            assert self.seen >= count or self._changed.wait(60), f"{self.seen} of {count} messages came back"


def keep_rate(first: int, count: int, rate: float, send: Callable[[int, int], None], room: Callable[[], bool]) -> None:
    began_ns = time.perf_counter_ns()
    for index in range(count):
        due_ns = began_ns + round(index * 1e9 / rate) if rate else time.perf_counter_ns()
        time.sleep(max((due_ns - time.perf_counter_ns()) / 1e9, 0))
        while not room():
            time.sleep(0.0005)
        send(first + index, due_ns)


def measured(
    count: int, rate: float, send: Callable[[int, int], None], room: Callable[[], bool], arrivals: Arrivals
) -> None:
    """Warm up, do it, wait for the last receipt, and print messages a second and CPU a message."""
    keep_rate(0, WARM_UP, rate, send, room)
    arrivals.wait_for(WARM_UP)
    began_s, cpu_s = time.perf_counter(), cpu_seconds()
    keep_rate(WARM_UP, count, rate, send, room)
    arrivals.wait_for(WARM_UP + count)
    wall_s, used_s = time.perf_counter() - began_s, cpu_seconds() - cpu_s
    print(json.dumps({"messages_per_s": count / wall_s, "cpu_us_per_message": used_s / count * 1e6}))


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def by_driver(uri: str, password: str, count: int, rate: float, durable: bool, recorder: Recorder) -> None:
    """One producer and one consumer of this project, each a client of its own, as two Locust users would be."""
    arrivals, destination = Arrivals(), Destination("queue", f"benchmark.{time.time_ns()}")

    def client(number: int) -> Client:
        made = Client(
            number=number,
            group="benchmark",
            uri=FailoverUri.parse(f"failover:({uri})"),
            brokers={uri.partition("://")[2]: "broker"},
            connector=StompConnector(),
            credentials=Credentials(USER, password),
            recorder=recorder,
            rng=random.Random(number),
        )
        made.open()
        return made

    recorder.start()
    consuming, producing = client(1), client(2)
    consuming.consumer(Subscription(destination, prefetch=PREFETCH), run=1, on_receipt=lambda _: arrivals.one_more())
    producer = producing.producer(destination, durable=durable, run=1, on_settled=lambda _: None)

    def send(seq: int, due_ns: int) -> None:
        producer.send(seq, BODY_BYTES, due_ns)

    measured(count, rate, send, lambda: producer.outstanding < IN_FLIGHT, arrivals)
    producing.close()
    consuming.close()
    recorder.close()


class Listener(stomp.ConnectionListener):  # type: ignore[misc]
    """Acknowledges what comes, and keeps the sends that await their receipt."""

    def __init__(self, connection: Any, arrivals: Arrivals) -> None:
        self._connection, self._arrivals = connection, arrivals
        self.open: set[str] = set()

    def on_message(self, frame: Any) -> None:
        self._connection.ack(frame.headers["ack"])
        self._arrivals.one_more()

    def on_receipt(self, frame: Any) -> None:
        self.open.discard(frame.headers["receipt-id"])


def by_hand(uri: str, password: str, count: int, rate: float, durable: bool) -> None:
    """The same with nothing but stomp.py."""
    arrivals, destination = Arrivals(), f"/queue/benchmark.{time.time_ns()}"
    host, _, port = uri.partition("://")[2].rpartition(":")
    body = b"x" * BODY_BYTES

    def connection() -> tuple[Any, Listener]:
        where = {"prefer_localhost": False, "try_loopback_connect": False, "auto_decode": False}
        made = stomp.StompConnection12([(host, int(port))], **where)
        listener = Listener(made, arrivals)
        made.set_listener("", listener)
        made.connect(USER, password, wait=True)
        return made, listener

    (consuming, _), (producing, produced) = connection(), connection()
    consuming.subscribe(destination, 1, ack="client-individual", headers={"activemq.prefetchSize": str(PREFETCH)})

    def send(seq: int, _: int) -> None:
        headers = {}
        if durable:
            headers = {"persistent": "true", "receipt": str(seq)}
            produced.open.add(str(seq))
        producing.send(destination, body, headers=headers)

    measured(count, rate, send, lambda: len(produced.open) < IN_FLIGHT, arrivals)
    producing.disconnect()
    consuming.disconnect()


def main(mode: str, uri: str, count: int, rate: float, durable: bool) -> None:
    password = sys.stdin.readline().strip()
    if mode == "bare":
        by_hand(uri, password, count, rate, durable)
        return
    with tempfile.TemporaryDirectory() as folder:
        kind = Recorder if mode == "recorded" else Forgetful
        by_driver(uri, password, count, rate, durable, kind(RunDirectory.create(Path(folder), "run"), "main"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5] == "durable")
