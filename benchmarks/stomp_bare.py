"""Sends and receives messages with stomp.py alone, in a separate process.

It reads the password from standard input, and prints one line of JSON (`benchmarks.stopwatch`). One connection sends;
another one receives and acknowledges each message, like the users of `benchmarks.stomp_users`. By default it uses
threads, as most programs do; this is also faster.
"""

import sys

if "--gevent" in sys.argv:
    import gevent.monkey

    gevent.monkey.patch_all()

import threading
import time
from typing import Any

import stomp

from benchmarks.arguments import Parser
from benchmarks.stopwatch import BODY_BYTES, IN_FLIGHT, PREFETCH, USER, WARM_UP, Stopwatch


class BareListener(stomp.ConnectionListener):  # type: ignore[misc]
    """Acknowledges and counts received messages, and tracks the sends that await a receipt."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._changed = threading.Event()
        self.seen = 0
        self.open: set[str] = set()

    def on_message(self, frame: Any) -> None:
        self._connection.ack(frame.headers["ack"])
        self.seen += 1
        self._changed.set()

    def on_receipt(self, frame: Any) -> None:
        self.open.discard(frame.headers["receipt-id"])
        self._changed.set()

    def wait_for(self, count: int) -> None:
        while self.seen < count:
            self._changed.clear()
            assert self.seen >= count or self._changed.wait(60), f"{self.seen} of {count} messages came back"

    def wait_for_receipt(self, receipt: str) -> None:
        while receipt in self.open:
            self._changed.clear()
            assert receipt not in self.open or self._changed.wait(60), f"send {receipt} stays unanswered"

    def wait_for_room(self) -> None:
        while len(self.open) >= IN_FLIGHT:
            self._changed.clear()
            assert len(self.open) < IN_FLIGHT or self._changed.wait(60), f"{len(self.open)} sends stay unanswered"


def connected(uri: str, password: str) -> tuple[Any, BareListener]:
    host, _, port = uri.partition("://")[2].rpartition(":")
    transport_options = {"prefer_localhost": False, "try_loopback_connect": False, "auto_decode": False}
    connection = stomp.StompConnection12([(host, int(port))], **transport_options)
    listener = BareListener(connection)
    connection.set_listener("", listener)
    connection.connect(USER, password, wait=True)
    return connection, listener


def main(uri: str, count: int, durable: bool) -> None:
    password, destination = sys.stdin.readline().strip(), f"/queue/benchmark.{time.time_ns()}"
    body = b"x" * BODY_BYTES
    (consuming, consumed), (producing, produced) = connected(uri, password), connected(uri, password)
    consuming.subscribe(destination, 1, ack="client-individual", headers={"activemq.prefetchSize": str(PREFETCH)})

    def send(seq: int) -> None:
        if durable:
            produced.wait_for_room()
            produced.open.add(str(seq))
        producing.send(destination, body, headers={"persistent": "true", "receipt": str(seq)} if durable else {})

    for seq in range(WARM_UP):
        send(seq)
    consumed.wait_for(WARM_UP)
    stopwatch = Stopwatch()
    for seq in range(WARM_UP, WARM_UP + count):
        send(seq)
    consumed.wait_for(WARM_UP + count)
    print(stopwatch.stop(count))
    producing.disconnect()
    consuming.disconnect()


if __name__ == "__main__":
    parser = Parser("stomp_bare", __doc__)
    parser.add_broker_load()
    parser.add_argument("--gevent", action="store_true", help="under gevent, as in Locust")
    options = parser.parse_args()
    main(options.uri, options.count, options.kind == "durable")
