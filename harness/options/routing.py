"""Determines, before anything starts, which consumers of a scenario should receive each message.

Destinations that the harness cannot resolve are reported.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.declarations import Options
from records.loads.routes import QUEUE, TOPIC, Copy, Route, copies_of, matching_copies
from topologies.model.deliveries import ClientDestination, Dialect, is_pattern
from topologies.model.deliveries import routes as routes_in
from topologies.runtimes.capabilities import Capability, can

BY_EQUAL_NAMES = "brokers in memory deliver by equal names only; write whole names, or choose another --runtime"
IN_MEMORY = Dialect("memory", rest={"memory": ">"}, no_wildcards={QUEUE: BY_EQUAL_NAMES, TOPIC: BY_EQUAL_NAMES})
Users = Sequence[type[BrokerUser]]


class ProducerConsumerPair(NamedTuple):
    """A producer class and a consumer class, with the copies of messages that the consumer receives from it."""

    producer: type[ProducerUser]
    consumer: type[ConsumerUser]
    copies: tuple[Copy, ...]


def require_understood(user: type[BrokerUser], options: Options) -> None:
    """Raise ValueError if a destination of the class cannot be resolved."""
    _routes((user,), options)


def routes_of(users: Users, options: Options) -> tuple[Route, ...]:
    """Return the routes of each destination, or () if all messages go only to consumers of the same destination.

    Raises ValueError.
    """
    routes = _routes(users, options)
    return () if all(route.is_plain for route in routes) else routes


def _routes(users: Users, options: Options) -> tuple[Route, ...]:
    addresses = [
        (user, ClientDestination(name, Spoken.parse(options.protocol).of(user.role, user.__name__)))
        for user in users
        for name in user.destination_names()
    ]
    sent = [address for user, address in addresses if issubclass(user, ProducerUser)]
    consumed = [address for user, address in addresses if issubclass(user, ConsumerUser)]
    if options.runtime == "memory":
        return routes_in(IN_MEMORY, sent, consumed)
    topology = options.built_topology
    return topology.product.routes(topology.brokers, sent, consumed)


def routing_refusals(users: Users, options: Options) -> Iterator[str]:
    """Yield destinations that would bring a consumer several copies of a message, or messages of other clients."""
    for user in users:
        subject = f"{user.__name__}: destination {user.destination!r}"
        name = user.destination.partition("?")[0]
        if issubclass(user, ConsumerUser) and user.durable_subscription and "," in name:
            yield f"{subject}: a durable subscription has one destination; write a class for each"
        is_wild = name.startswith(QUEUE) and any(map(is_pattern, name.split(",")))
        if is_wild and not can(options.runtime, Capability.OWNS_BROKERS):
            rule = "on brokers that are already running, a wildcard may take messages of other clients"
            yield f"{subject}: {rule}; write the full name of one queue"
    try:
        routes_of(users, options)
    except ValueError as error:
        yield str(error)


def undelivered_class_warnings(users: Users, routes: Sequence[Route]) -> Iterator[str]:
    """Yield a sentence for each consumer class without a producer, and for each topic without a subscriber.

    The run cannot show whether messages of these classes arrive, so it cannot pass.
    """
    pairs = [*producer_consumer_pairs(users, routes)]
    for user in users:
        if issubclass(user, ConsumerUser) and not any(pair.consumer is user for pair in pairs):
            yield (
                f"{user.__name__}: the scenario sends no messages that {user.destination} should receive, so the run "
                "cannot show whether messages arrive there"
            )
        if issubclass(user, ProducerUser) and not any(pair.producer is user for pair in pairs):
            places = [copy.place for name in user.destination_names() for copy in copies_of(routes, name)]
            if all(place.startswith(TOPIC) for place in places):
                yield (
                    f"{user.__name__}: no consumer of the scenario should receive its messages to {user.destination}, "
                    "so the run cannot show whether they arrive"
                )


def producer_consumer_pairs(users: Users, routes: Sequence[Route]) -> Iterator[ProducerConsumerPair]:
    """Yield each producer class with each consumer class that should receive its messages."""
    consuming = [user for user in users if issubclass(user, ConsumerUser)]
    for producer in (user for user in users if issubclass(user, ProducerUser)):
        for consumer in consuming:
            if copies := matching_copies(routes, producer.destination_names(), consumer.destination_names()):
                yield ProducerConsumerPair(producer, consumer, copies)
