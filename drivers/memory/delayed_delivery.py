"""Delivers messages at once, or so long after they were stored, or so many a second; in the order of storing."""

import threading
from collections import deque
from collections.abc import Callable

from drivers.contract import Destination
from drivers.memory.queues import Stored
from records.units import NS_PER_S


class DelayedDelivery:
    """Calls ``deliver`` later, on a thread of its own, or at once where there is neither delay nor limit.

    ``most_per_s``: of a broker that serves no more messages a second; None: any number.
    ``changed`` is the lock of the network: it is held when a method is called, and when ``deliver`` is.
    """

    def __init__(
        self,
        delay_s: float,
        most_per_s: float | None,
        changed: threading.Condition,
        clock: Callable[[], int],
        deliver: Callable[[Destination, Stored], None],
    ) -> None:
        self._delay_ns = int(delay_s * NS_PER_S)
        self._apart_ns = int(NS_PER_S / most_per_s) if most_per_s else 0
        self._last_ns = 0
        self._changed = changed
        self._clock = clock
        self._deliver = deliver
        self._delayed: deque[tuple[int, Destination, Stored]] = deque()
        self._postman: threading.Thread | None = None
        self._closed = False

    def forward(self, destination: Destination, stored: Stored) -> None:
        if not self._delay_ns and not self._apart_ns:
            return self._deliver(destination, stored)
        self._last_ns = max(self._clock() + self._delay_ns, self._last_ns + self._apart_ns)
        self._delayed.append((self._last_ns, destination, stored))
        if self._postman is None:
            self._postman = threading.Thread(target=self._deliver_delayed, name="memory-network", daemon=True)
            self._postman.start()
        return self._changed.notify_all()

    def close(self) -> None:
        """The thread ends with the next change. Messages that are not delivered by then never are."""
        self._closed = True

    def _deliver_delayed(self) -> None:
        with self._changed:
            while not self._closed:
                early_ns = self._delayed[0][0] - self._clock() if self._delayed else None
                if early_ns is None or early_ns > 0:
                    self._changed.wait(None if early_ns is None else early_ns / NS_PER_S)
                else:
                    _, destination, stored = self._delayed.popleft()
                    self._deliver(destination, stored)
