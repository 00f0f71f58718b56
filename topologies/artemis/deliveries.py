"""Finds the consumers that messages are owed to on ActiveMQ Artemis.

* ``*`` is one level of an address, ``#`` all levels that follow, none included. OpenWire clients write ``>`` for ``#``.
  Only topics may have wildcards: for ``queue://orders.#`` the broker makes a queue of that name, with a copy of each
  message, and leaves the messages on the queues that it matches.
* Only OpenWire clients have lists of destinations, and options behind ``?``.
* Virtual topics need ``virtualTopicConsumerWildcards`` of an acceptor, which the harness does not set: a queue
  ``Consumer.shop.VirtualTopic.orders`` is a queue like any other.
* ``address::queue`` is not followed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from records.routes import QUEUE, TOPIC, Route
from topologies.model.broker import AnyBroker
from topologies.model.deliveries import ClientDestination, Dialect, places
from topologies.model.deliveries import routes as routes_in

DIALECT = Dialect(
    brokers="Artemis",
    rest={"stomp": "#", "amqp": "#", "core": "#", "openwire": ">"},
    no_wildcards={
        QUEUE: "Artemis makes a queue of this very name, with a copy of each message, and leaves the messages on the "
        "queues that it matches; write the whole name of one queue, or consume a topic"
    },
    lists_by=("openwire",),
    options={"openwire": ("consumer.priority",)},
    reserved=("ActiveMQ.", "activemq.", "$"),
)


def routes(
    brokers: Sequence[AnyBroker], sent: Iterable[ClientDestination], consumed: Iterable[ClientDestination]
) -> tuple[Route, ...]:
    """One route for each destination in ``sent``. ValueError for a destination that is not understood."""
    sent, consumed = [*sent], [*consumed]
    dead = tuple(name for broker in brokers for name in (*broker.dead_letter_queues, *broker.expiry_queues))
    dialect = replace(DIALECT, dead_letters=dead)
    found = routes_in(dialect, sent, consumed)
    named = {place for address in sent for place in places(dialect, address, consumes=False)}
    named |= {place for address in consumed for place in places(dialect, address, consumes=True)}
    for place in sorted(named):
        if place.startswith(QUEUE) and (topic := f"{TOPIC}{place.removeprefix(QUEUE)}") in named:
            rule = f"for Artemis it is one address with {topic}, and consumers of both would share messages"
            raise ValueError(f"destination {place!r}: {rule}; give them different names")
    return found
