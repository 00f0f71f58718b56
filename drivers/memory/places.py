"""Holds messages: on the queue of their name, or once for each subscription to their topic.

Plain data without a lock of its own: `drivers.memory.network` guards it.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from drivers.contract import Destination, Refused, Subscription
from drivers.memory.queues import Queue, Stored

EXPIRED = "ExpiryQueue"  # as Artemis names it


class Places:
    """The queues of a network, and its topics. Both are made by their first message or subscription.

    A message whose time to live is over goes to the queue `EXPIRED`.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._queues: dict[str, Queue] = {}
        self._topics: dict[str, dict[str, Queue]] = {}
        self._topic_subscriptions = count(1)

    def deliver(self, destination: Destination, stored: Stored) -> None:
        if destination.kind == "queue":
            self._queue(destination.name).put(stored)
        else:
            for subscription in self._topics.get(destination.name, {}).values():
                subscription.put(stored)

    def source(self, client_id: str, subscription: Subscription) -> Queue:
        """The queue to take from; on a topic the subscription's own. Raises `Refused`: a durable one that is in use."""
        destination = subscription.destination
        if destination.kind == "queue":
            return self._queue(destination.name)
        durable = subscription.durable_name
        own = f"{client_id}/{durable}" if durable else f"#{next(self._topic_subscriptions)}"
        source = self._topics.setdefault(destination.name, {}).setdefault(own, self._new_queue())
        if source.takers:
            raise Refused(f"durable subscription {own} of {destination} is in use")
        return source

    def _queue(self, name: str) -> Queue:
        return self._queues.setdefault(name, self._new_queue())

    def _new_queue(self) -> Queue:
        return Queue(self._clock, self._bury)

    def _bury(self, stored: Stored) -> None:
        self._queue(EXPIRED).put(replace(stored, expired=True))

    def end_unused(self) -> None:
        """Topic subscriptions without a consumer end, unless they are durable."""
        for subscriptions in self._topics.values():
            for own in [own for own, source in subscriptions.items() if own.startswith("#") and not source.takers]:
                del subscriptions[own]

    def dispatch(self) -> None:
        """Hand out what waits anywhere."""
        for source in (*self._queues.values(), *(own for topic in self._topics.values() for own in topic.values())):
            source.dispatch()

    def browse(self, queue: str) -> list[Stored]:
        """What lies on a queue: delivered and not acknowledged, then waiting."""
        return self._queues[queue].browse() if queue in self._queues else []

    def depths(self) -> dict[str, int]:
        """How many messages lie on each queue, delivered and unacknowledged ones included."""
        for queue in list(self._queues.values()):
            queue.browse()  # what expires goes to another queue
        return {name: len(queue.browse()) for name, queue in self._queues.items()}
