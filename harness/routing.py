"""Determines, before anything starts, which consumers of a scenario should receive each message, and on which paths.

Destinations that the harness cannot resolve, and those that links do not carry, are reported.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple

from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.declarations import Options
from records.errors import Refusal
from records.loads.routes import QUEUE, TOPIC, Copy, Route, copies_of, matching_copies
from records.run import OUT_OF_REACH
from topologies.model.client_groups import CONSUMERS, PRODUCERS
from topologies.model.deliveries import ClientDestination, Dialect, is_pattern
from topologies.model.deliveries import routes as routes_in
from topologies.model.paths import Path
from topologies.model.topology import Topology
from topologies.model.validation import active, unreachable_pairs
from topologies.runtimes.capabilities import Capability, can

BY_EQUAL_NAMES = "brokers in memory deliver by equal names only; write whole names, or choose another --runtime"
IN_MEMORY = Dialect("memory", rest={"memory": ">"}, no_wildcards={QUEUE: BY_EQUAL_NAMES, TOPIC: BY_EQUAL_NAMES})
Users = Sequence[type[BrokerUser]]


class ProducerConsumerPair(NamedTuple):
    """A producer class and a consumer class, with the copies of messages that the consumer receives from it."""

    producer: type[ProducerUser]
    consumer: type[ConsumerUser]
    copies: tuple[Copy, ...]


@dataclass(frozen=True, order=True)
class Exchange:
    """Producers of one client group that send to consumers of another, each by a protocol."""

    producers: str
    consumers: str
    protocols: tuple[str, str]


# -- the consumers of a message ----------------------------------------------------------------------------------------


def require_understood(user: type[BrokerUser], options: Options) -> None:
    """Raise ValueError if a destination of the class cannot be resolved."""
    _routes((user,), options)


def routes_of(users: Users, options: Options) -> tuple[tuple[Route, ...], str]:
    """Return the routes of each destination, and the problem if a destination cannot be resolved; '' without one.

    No routes mean that all messages go only to consumers of the same destination.
    """
    try:
        routes = _routes(users, options)
    except ValueError as error:
        return (), str(error)
    return () if all(route.is_plain for route in routes) else routes, ""


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


def routing_refusals(users: Users, options: Options, problem: str) -> Iterator[Refusal]:
    """Yield destinations that would bring a consumer several copies of a message, or messages of other clients.

    ``problem``: the problem that `routes_of` found.
    """
    for user in users:
        subject = f"{user.__name__}: destination {user.destination!r}"
        name = user.destination.partition("?")[0]
        if issubclass(user, ConsumerUser) and user.durable_subscription and "," in name:
            yield Refusal(subject, "a durable subscription has one destination", "write a class for each")
        is_wild = name.startswith(QUEUE) and any(map(is_pattern, name.split(",")))
        if is_wild and not can(options.runtime, Capability.OWNS_BROKERS):
            rule = "on brokers that are already running, a wildcard may take messages of other clients"
            yield Refusal(subject, rule, "write the full name of one queue")
    if problem:
        what, _, rest = problem.partition(": ")
        yield Refusal(what, rest)


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


def exchanges_of(pairs: Iterable[ProducerConsumerPair], spoken: Spoken) -> tuple[Exchange, ...]:
    """Return the distinct exchanges between producer and consumer classes, sorted."""
    exchanges = {
        Exchange(
            producer.group,
            consumer.group,
            (spoken.of(producer.role, producer.__name__), spoken.of(consumer.role, consumer.__name__)),
        )
        for producer, consumer, _ in pairs
    }
    return tuple(sorted(exchanges))


# -- the paths of messages ---------------------------------------------------------------------------------------------
# A topology warns about its producers and consumers. It cannot know the other client groups of a scenario. Its paths
# and TTLs also ignore destinations, but links can include, exclude or match only some destinations.


def reachability_warnings(topology: Topology, users: Users, routes: Sequence[Route] = ()) -> tuple[str, ...]:
    """Return warnings: client groups that cannot reach each other, and destinations that links do not carry."""
    routed = _routed(users, routes)
    far = (
        sentence
        for groups in dict.fromkeys(groups for _, groups in routed)
        for sentence in _out_of_reach(topology, *groups)
    )
    return (*far, *(sentence for copies, groups in routed for sentence in _left_behind(topology, copies, groups)))


def carriage_refusals(users: Users, options: Options, routes: Sequence[Route]) -> Iterator[Refusal]:
    """Yield destinations without a path from some broker of producers to any broker of consumers.

    The rule does not apply to brokers that are already running, whose links are unknown, nor to brokers in memory,
    which have no links.
    """
    if not can(options.runtime, Capability.CONFIGURES_BROKERS):
        return
    topology = options.built_topology
    by_place: dict[tuple[str, ...], set[Path]] = {}
    for ways, groups in _routed(users, routes):
        for way in ways:
            by_place.setdefault(way, set()).update(topology.paths_between(*groups))
    for way, paths in by_place.items():
        stopped = _stopped(topology, sorted(paths, key=lambda path: path.route), way)
        carried = {path.begin for path in paths.difference(stopped)}
        if stuck := [path for path in stopped if path.begin not in carried]:
            yield Refusal(f"--topology {options.topology}", _sentence(topology, way[0], stuck, ""))


Way = tuple[str, ...]
"""The destinations under which a copy can cross links. One of them is enough."""


def _routed(users: Users, routes: Sequence[Route]) -> Sequence[tuple[tuple[Way, ...], tuple[str, str]]]:
    """Return each pair of groups that exchange messages, with the ways of the copies.

    A copy that a virtual topic puts on a queue crosses links as a message of the queue or of the topic.
    """
    topics = {copy: route.destination for route in routes for copy in route.copies if copy.once_subscribed}

    def way(copy: Copy) -> Way:
        return (copy.place, topics[copy]) if copy in topics else (copy.place,)

    return tuple(
        dict.fromkeys(
            (tuple(map(way, pair.copies)), (pair.producer.group, pair.consumer.group))
            for pair in producer_consumer_pairs(users, routes)
        )
    )


def _stopped(topology: Topology, paths: Sequence[Path], way: Way) -> tuple[Path, ...]:
    """Return the ``paths`` that no destination of the way can take."""
    left = tuple(paths)
    for destination in way:
        left = topology.stopped(left, destination)
    return left


def _left_behind(topology: Topology, ways: Sequence[Way], groups: tuple[str, str]) -> Iterator[str]:
    """Yield one sentence about all destinations that do not reach every broker."""
    paths = topology.paths_between(*groups)
    behind = {way[0]: stopped for way in ways if (stopped := _stopped(topology, paths, way))}
    if behind:
        destination, *further = behind
        yield _sentence(
            topology, destination, behind[destination], f" and {len(further)} more destinations" if further else ""
        )


def _out_of_reach(topology: Topology, producers: str, consumers: str) -> Iterator[str]:
    """Yield brokers out of reach. Topologies already report the groups ``producers`` and ``consumers``."""
    if (producers, consumers) != (PRODUCERS, CONSUMERS):
        begins, ends = (active(topology.group(name).enter_at) for name in (producers, consumers))
        pairs = ((begin.name, end.name) for begin, end in product(begins, ends))
        yield from unreachable_pairs(pairs, topology.brokers, topology.links)


def _sentence(topology: Topology, destination: str, stopped: Sequence[Path], and_more: str) -> str:
    path = stopped[0]
    more_pairs = f" (nor between {len(stopped) - 1} more pairs of brokers)" if stopped[1:] else ""
    links = ", ".join(  # links of the hops that the destination cannot cross even alone, as a path of one link
        f"link {link.name!r}"
        for hop in pairwise(path.route)
        if not topology.reaches(*hop, destination)
        for link in topology.links
        if hop in link.directions
    )
    return (
        f"{destination}{and_more} cannot get from {path.begin!r} to {OUT_OF_REACH} {path.end!r}{more_pairs}: "
        f"not carried by {links or 'the links between them'}; change the topology so that its links carry "
        f"{destination}, or send to a destination that they carry"
    )
