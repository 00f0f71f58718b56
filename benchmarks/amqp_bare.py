"""Sends and receives messages with python-qpid-proton alone, in a separate process.

It reads the password from standard input, and prints one line of JSON (`benchmarks.stopwatch`). The code follows
proton's manual: one container, with a handler that sends, and accepts each received message. It sends only while it has
credit and fewer unanswered sends than the limit. There are two connections, as in `benchmarks.stomp_users`.
"""

import sys
import time
from typing import Any

from proton import Message
from proton.handlers import MessagingHandler
from proton.reactor import AtMostOnce, Container

from benchmarks.arguments import Parser
from benchmarks.stopwatch import BODY_BYTES, IN_FLIGHT, PREFETCH, USER, WARM_UP, Stopwatch


class BareAmqpBench(MessagingHandler):  # type: ignore[misc]
    """Sends ``WARM_UP`` messages and, after receiving all of them, ``count`` messages that are measured."""

    def __init__(self, uri: str, password: str, count: int, durable: bool) -> None:
        super().__init__(prefetch=PREFETCH, auto_accept=True)
        self._uri, self._password, self._durable = uri, password, durable
        self._goals = [WARM_UP, WARM_UP + count]
        self._count = count
        self._sent = self._seen = self._answered = 0
        self._stopwatch: Stopwatch | None = None

    def on_start(self, event: Any) -> None:
        address, body = f"queue://benchmark.{time.time_ns()}", b"x" * BODY_BYTES
        self._message = Message(body=body, durable=self._durable, inferred=True)
        login = {"user": USER, "password": self._password, "allowed_mechs": "PLAIN", "allow_insecure_mechs": True}
        producing, consuming = (event.container.connect(self._uri, **login) for _ in range(2))
        event.container.create_receiver(consuming, address)
        options = None if self._durable else AtMostOnce()
        self._sender = event.container.create_sender(producing, address, options=options)

    def on_sendable(self, event: Any) -> None:
        self._send()

    def on_accepted(self, event: Any) -> None:
        self._answered += 1
        self._send()

    def on_message(self, event: Any) -> None:
        self._seen += 1
        if self._seen == self._goals[0]:
            self._reached(event)

    def _send(self) -> None:
        while self._sender.credit and self._sent < self._goals[0]:
            if self._durable and self._sent - self._answered >= IN_FLIGHT:
                return
            self._message.creation_time = time.time()
            self._sender.send(self._message)
            self._sent += 1

    def _reached(self, event: Any) -> None:
        self._goals.pop(0)
        if self._stopwatch:
            print(self._stopwatch.stop(self._count), flush=True)
            event.container.stop()
        else:
            self._stopwatch = Stopwatch()
            self._send()


def main(uri: str, count: int, durable: bool) -> None:
    Container(BareAmqpBench(uri, sys.stdin.readline().strip(), count, durable)).run()


if __name__ == "__main__":
    parser = Parser("amqp_bare", __doc__)
    parser.add_broker_load()
    options = parser.parse_args()
    main(options.uri, options.count, options.kind == "durable")
