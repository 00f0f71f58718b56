"""Routes: the consumers that should receive a message, by the destination that it is sent to.

Brokers deliver across names: wildcards, virtual topics, lists of destinations. The harness computes the routes before a
run (`topologies.products`) and writes them to run.json, because the analysis knows no broker product.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

QUEUE, TOPIC = "queue://", "topic://"


@dataclass(frozen=True)
class Copy:
    """One copy of a message.

    ``place``: the ``queue://NAME`` or ``topic://NAME`` that it goes to. Consumers of a queue compete for it; each
    subscription of a topic gets it. ``consumers``: the destinations, as consumers write them, that receive it from
    there. ``once_subscribed``: the broker makes a copy for a queue only once the queue exists, which is from the first
    subscription on.
    """

    place: str
    consumers: tuple[str, ...] = ()
    once_subscribed: bool = False

    @property
    def queue(self) -> str:
        """The name of the queue; empty for a topic."""
        return self.place.removeprefix(QUEUE) if self.place.startswith(QUEUE) else ""


@dataclass(frozen=True)
class Route:
    """All copies of a message to ``destination``, as a producer writes it."""

    destination: str
    copies: tuple[Copy, ...]

    @property
    def is_plain(self) -> bool:
        """Whether only consumers of exactly this destination receive a message."""
        return [copy.place for copy in self.copies] == [self.destination] and {*self.copies[0].consumers} <= {
            self.destination
        }


def copies_of(routes: Iterable[Route], destination: str) -> tuple[Copy, ...]:
    """Return the copies of a message to a destination. Without routes, consumers of the same name receive it."""
    routes = [*routes]
    if not routes:
        return (Copy(destination, (destination,)),)
    return next((route.copies for route in routes if route.destination == destination), ())


def matching_copies(routes: Sequence[Route], sent: Iterable[str], consumed: Collection[str]) -> tuple[Copy, ...]:
    """Return the copies of messages sent to the destinations ``sent`` that consumers of the destinations
    ``consumed`` receive."""
    wanted = {*consumed}
    if not routes:
        return tuple(Copy(name, (name,)) for name in sent if name in wanted)
    by_destination = {route.destination: route.copies for route in routes}
    copies = (copy for name in sent for copy in by_destination.get(name, ()) if wanted.intersection(copy.consumers))
    return tuple(dict.fromkeys(copies))
