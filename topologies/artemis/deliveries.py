"""Finds the consumers that should receive a message on ActiveMQ Artemis.

* ``*`` matches one level of an address, ``#`` any number of following levels, including none. OpenWire clients write
  ``>`` for ``#``. Only topics may have wildcards: for ``queue://orders.#`` the broker creates a queue of that name with
  a copy of each message, and leaves the messages on the queues that match.
* Only OpenWire clients support lists of destinations, and options after ``?``.
* Virtual topics need ``virtualTopicConsumerWildcards`` on an acceptor, which the harness does not set: a queue
  ``Consumer.shop.VirtualTopic.orders`` is an ordinary queue.
* ``address::queue`` is not supported.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from records.loads.routes import QUEUE, TOPIC, Route
from topologies.model.broker import AnyBroker
from topologies.model.deliveries import ClientDestination, Dialect, places
from topologies.model.deliveries import routes as routes_in

DIALECT = Dialect(
    brokers="Artemis",
    rest={"stomp": "#", "amqp": "#", "core": "#", "openwire": ">"},
    no_wildcards={
        QUEUE: "Artemis creates a queue with this name, with a copy of each message, and leaves the messages on the "
        "queues that match it; write the full name of one queue, or consume a topic"
    },
    lists_by=("openwire",),
    options={"openwire": ("consumer.priority",)},
    reserved=("ActiveMQ.", "activemq.", "$"),
)


def routes(
    brokers: Sequence[AnyBroker], sent: Iterable[ClientDestination], consumed: Iterable[ClientDestination]
) -> tuple[Route, ...]:
    """Return one route per destination in ``sent``. Raises ValueError for a destination that is not understood."""
    sent, consumed = [*sent], [*consumed]
    dead = tuple(name for broker in brokers for name in (*broker.dead_letter_queues, *broker.expiry_queues))
    dialect = replace(DIALECT, dead_letters=dead)
    found = routes_in(dialect, sent, consumed)
    named = {place for address in sent for place in places(dialect, address, consumes=False)}
    named |= {place for address in consumed for place in places(dialect, address, consumes=True)}
    for place in sorted(named):
        if place.startswith(QUEUE) and (topic := f"{TOPIC}{place.removeprefix(QUEUE)}") in named:
            rule = f"Artemis treats it and {topic} as one address, so consumers of both would share messages"
            raise ValueError(f"destination {place!r}: {rule}; give them different names")
    return found
