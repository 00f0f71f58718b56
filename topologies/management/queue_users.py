"""Declares how a broker is asked who consumes from a queue, and how a queue is emptied."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from topologies.management.jolokia import Jolokia


@dataclass(frozen=True, order=True)
class QueueConsumer:
    """A consumer on a queue.

    ``client_id``: as the client chose it, or as the broker made it. ``address``: of the client, such as
    ``tcp://10.0.0.7:51112``; empty if the broker does not report it.
    """

    queue: str
    client_id: str
    address: str

    def __str__(self) -> str:
        """For a sentence. Whatever a client calls itself is escaped."""
        return f"{self.client_id!a}{f' at {self.address}' if self.address else ''}"


@dataclass(frozen=True)
class QueueUsers:
    """How the brokers of a product are asked. Calls raise ManagementFailed.

    ``consumers``: those on these queues, by an agent of a broker. ``brokers``: the names of all brokers of the
    topology; the consumers of links between them are left out. ``empty``: removes all messages from a queue.
    """

    consumers: Callable[[Jolokia, Collection[str], Collection[str]], list[QueueConsumer]]
    empty: Callable[[Jolokia, str], None]
