"""Declares how to find the consumers of a queue, and how to empty a queue."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from topologies.management.jolokia import Jolokia


@dataclass(frozen=True, order=True)
class BrokerConsumer:
    """A consumer on a queue.

    ``client_id``: chosen by the client, or created by the broker. ``address``: the client's address, such as
    ``tcp://10.0.0.7:51112``; empty if the broker does not report it.
    """

    queue: str
    client_id: str
    address: str

    def __str__(self) -> str:
        """Return text for a sentence. The client id is escaped, because clients choose it."""
        return f"{self.client_id!a}{f' at {self.address}' if self.address else ''}"


@dataclass(frozen=True)
class QueueUsers:
    """Queue queries for the brokers of a product. Calls raise ManagementFailed.

    ``consumers``: the consumers on the given queues, through a broker's agent. Its last argument has the names of all
    brokers in the topology; the consumers of links between them are left out. ``empty``: removes all messages from a
    queue.
    """

    consumers: Callable[[Jolokia, Collection[str], Collection[str]], list[BrokerConsumer]]
    empty: Callable[[Jolokia, str], None]
