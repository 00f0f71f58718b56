"""Finds the consumers that messages are owed to on ActiveMQ Classic.

* ``*`` is one level of a name, ``>`` all levels that follow, none included. A consumer of ``queue://orders.>`` competes
  for each queue that it matches.
* Commas separate destinations, of producers and consumers.
* Virtual topics: a message to ``topic://VirtualTopic.NAME`` is also copied to each queue
  ``queue://Consumer.SUBSCRIBER.VirtualTopic.NAME`` that exists. These are the broker's defaults, which the harness does
  not change.
* Options behind ``?``: OpenWire and AMQP clients' consumers have them, STOMP ignores them without a word.
"""

from collections.abc import Iterable, Sequence

from records.routes import QUEUE, Route
from topologies.classic.broker import Broker
from topologies.model.broker import AnyBroker
from topologies.model.deliveries import ClientDestination, Dialect, is_pattern, matches, places
from topologies.model.deliveries import routes as routes_in

VIRTUAL = "VirtualTopic"
CONSUMER = "Consumer"
OPTIONS = ("consumer.priority", "consumer.exclusive", "consumer.dispatchAsync")
PROTOCOLS = ("stomp", "amqp", "openwire")


def routes(
    brokers: Sequence[AnyBroker], sent: Iterable[ClientDestination], consumed: Iterable[ClientDestination]
) -> tuple[Route, ...]:
    """One route for each destination in ``sent``. ValueError for a destination that is not understood."""
    sent, consumed = [*sent], [*consumed]
    virtual = {broker.use_virtual_topics for broker in brokers if isinstance(broker, Broker)}
    dialect = Dialect(
        brokers="Classic",
        rest=dict.fromkeys(PROTOCOLS, ">"),
        lists_by=PROTOCOLS,
        options={protocol: OPTIONS for protocol in ("amqp", "openwire")},
        reserved=("ActiveMQ.",),
        dead_letters=tuple(name for broker in brokers for name in broker.dead_letter_queues),
        feeds=_feeds if True in virtual else lambda topic, queue: False,
    )
    if True in virtual:
        for address in consumed:
            _require_no_virtual_pattern(dialect, address)
    found = routes_in(dialect, sent, consumed)
    fed = [route for route in found if any(copy.once_subscribed for copy in route.copies)]
    if fed and len(virtual) > 1:
        raise ValueError(
            f"destination {fed[0].destination!r}: some brokers have use_virtual_topics and some do not; set it equally "
            "for all"
        )
    return found


def _feeds(topic: str, queue: str) -> bool:
    """``VirtualTopic.orders`` feeds ``Consumer.shop.VirtualTopic.orders``."""
    return matches(f"{VIRTUAL}.>", topic) and matches(f"{CONSUMER}.*.{topic}", queue)


def _require_no_virtual_pattern(dialect: Dialect, address: ClientDestination) -> None:
    """A consumer with wildcards has a queue of that very name too, which a virtual topic feeds like any other."""
    for place in places(dialect, address, consumes=True):
        if place.startswith(f"{QUEUE}{CONSUMER}.") and is_pattern(place):
            raise ValueError(
                f"destination {address.destination!r}: a virtual topic feeds the queue of this very name, beside the "
                "queues that it matches; write the whole name of one queue"
            )
