"""Browses a queue by AMQP: a receiver copies its messages, and finds out when it has seen them all.

A broker sends its browser the messages that it has at hand, and fetches more meanwhile. Draining only shows that no
message is at hand. A Classic broker may still be fetching then. Therefore the browser waits until no message has come
for a while, and drains. If the broker sends more after that, it goes on.
"""

import threading
import time

from drivers.amqp.messages import Incoming
from drivers.amqp.receiving import Receiving
from drivers.contract import Browsed, Destination

MOST = 1_000_000  # messages asked for at once
QUIET_S, FIRST_QUIET_S = 0.25, 1.0


class Browser:
    """One look at one queue. ``found`` has the messages seen so far, in order."""

    def __init__(self, queue: Destination) -> None:
        self.found: list[Browsed] = []
        self._queue = queue
        self._drained = threading.Event()
        self._stopped = False

    def run(self, receiving: Receiving, deadline_s: float) -> bool:
        """Browse to the end; False when that is not reached by then. Raises `Refused` and ConnectionError."""
        name = receiving.browse(self._queue, MOST, self._take, self._drained.set)
        while True:
            if not self._wait_until_quiet(deadline_s):
                return False
            seen = len(self.found)
            self._drained.clear()
            receiving.drain(name)
            if not self._drained.wait(max(0.0, deadline_s - time.monotonic())):
                return False
            if self._stopped or len(self.found) == seen:
                return True
            receiving.go_on(name, MOST)

    def stop(self) -> None:
        """Nothing more will come."""
        self._stopped = True
        self._drained.set()

    def _wait_until_quiet(self, deadline_s: float) -> bool:
        while time.monotonic() < deadline_s and not self._stopped:
            seen = len(self.found)
            time.sleep(min(QUIET_S if seen else FIRST_QUIET_S, max(0.0, deadline_s - time.monotonic())))
            if len(self.found) == seen:
                return True
        return self._stopped

    def _take(self, message: Incoming, _received_ns: int, _number: int) -> None:
        age_ns = None if not message.created_ms else time.time_ns() - message.created_ms * 1_000_000
        self.found.append(Browsed(message.body, age_ns, message.expired))
