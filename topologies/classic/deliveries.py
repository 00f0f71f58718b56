"""Finds the consumers that should receive a message on ActiveMQ Classic.

* ``*`` matches one level of a name, ``>`` any number of following levels, including none. A consumer of
  ``queue://orders.>`` competes for messages on each queue that matches.
* Commas separate destinations, for producers and consumers.
* Virtual topics: a message to ``topic://VirtualTopic.NAME`` is also copied to each queue
  ``queue://Consumer.SUBSCRIBER.VirtualTopic.NAME`` that exists. These are the broker's defaults, which the harness does
  not change.
* Options after ``?``: consumers of OpenWire and AMQP clients support them, STOMP silently ignores them.
"""

from collections.abc import Iterable, Sequence

from records.loads.routes import QUEUE, Route
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
    """Return one route per destination in ``sent``. Raises ValueError for a destination that is not understood."""
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
            f"destination {fed[0].destination!r}: some brokers have use_virtual_topics and some do not; set it to the "
            "same value for all"
        )
    return found


def _feeds(topic: str, queue: str) -> bool:
    """Return whether a topic feeds a queue: ``VirtualTopic.orders`` feeds ``Consumer.shop.VirtualTopic.orders``."""
    return matches(f"{VIRTUAL}.>", topic) and matches(f"{CONSUMER}.*.{topic}", queue)


def _require_no_virtual_pattern(dialect: Dialect, address: ClientDestination) -> None:
    """Reject a consumer with wildcards that would also have a queue with exactly that name.

    A virtual topic feeds this queue, too.
    """
    for place in places(dialect, address, consumes=True):
        if place.startswith(f"{QUEUE}{CONSUMER}.") and is_pattern(place):
            raise ValueError(
                f"destination {address.destination!r}: a virtual topic also feeds the queue with exactly this name, "
                "besides the queues that match it; write the full name of one queue"
            )
