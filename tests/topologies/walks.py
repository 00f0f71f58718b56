"""A plain reference model of reachability: an announcement or a message is a list of the crossed brokers.

Slow and literal: it follows each walk that the broker's rules allow, and does not look for the shortest walk.
"""

from collections.abc import Sequence

from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector

News = set[tuple[str, tuple[str, ...]]]
"""(broker, brokers that the announcement crossed, nearest to the consumer first)"""


def in_pattern(pattern: str, name: str) -> bool:
    """Match the patterns that the tests draw: ``>``, ``a.>``, ``a.*`` and plain names."""
    if pattern.endswith(".*"):
        return name.startswith(pattern[:-1]) and "." not in name[len(pattern) - 1 :]
    if pattern.endswith(".>"):
        return name == pattern[:-2] or name.startswith(pattern[:-1])
    return pattern in (">", name)


def among(patterns: Sequence[str], destination: str) -> bool:
    kind, name = destination.split("://")
    return any(pattern.split("://")[0] == kind and in_pattern(pattern.split("://")[1], name) for pattern in patterns)


def permitted(link: NetworkConnector, destination: str) -> bool:
    if among(link.excluded_destinations, destination):
        return False
    if among(link.statically_included_destinations, destination):
        return True
    if link.dynamically_included_destinations:
        return among(link.dynamically_included_destinations, destination)
    return True


def listens(link: NetworkConnector, teller: Broker, destination: str) -> bool:
    if link.static_bridge or not teller.advisory_support:
        return False
    if link.destination_filter:  # the tests draw "Queue.NAME" and "Topic.NAME" only
        kind, name = destination.split("://")
        return link.destination_filter in (f"{kind.title()}.{name}", f"{kind.title()}.>", ">")
    return not link.dynamically_included_destinations or among(link.dynamically_included_destinations, destination)


def directed(links: Sequence[NetworkConnector]) -> list[tuple[Broker, Broker, NetworkConnector]]:
    forth = [(link.opened_by, link.to, link) for link in links]
    return forth + [(link.to, link.opened_by, link) for link in links if link.duplex]


def all_news(links: Sequence[NetworkConnector], consumer: str, destination: str) -> News:
    """Return each path by which the announcement of a subscription can reach a broker."""
    ways = [direction for direction in directed(links) if permitted(direction[2], destination)]
    news: News = {(consumer, ())}
    news |= {(s.name, (r.name,)) for s, r, link in ways if among(link.statically_included_destinations, destination)}
    while True:
        fresh = {
            (sender.name, (*crossed, receiver.name))
            for sender, receiver, link in ways
            for broker, crossed in news
            if broker == receiver.name and heard(sender, receiver, link, crossed, destination)
        } - news
        if not fresh:
            return news
        news |= fresh


def heard(sender: Broker, receiver: Broker, link: NetworkConnector, crossed: tuple[str, ...], destination: str) -> bool:
    near_enough = link.consumer_ttl == -1 or len(crossed) < link.consumer_ttl
    return near_enough and sender.name not in crossed and listens(link, receiver, destination)


def can_reach(links: Sequence[NetworkConnector], producer: str, consumer: str, destination: str) -> bool:
    """Whether the rules allow every step of some walk from one broker to the other."""
    news = all_news(links, consumer, destination)
    walks = [(producer,)]
    while walks:
        walk = walks.pop()
        if walk[-1] == consumer:
            return True
        for sender, receiver, link in directed(links):
            if sender.name != walk[-1] or receiver.name in walk or not permitted(link, destination):
                continue
            wanted = among(link.statically_included_destinations, destination) or any(
                broker == receiver.name and heard(sender, receiver, link, crossed, destination)
                for broker, crossed in news
            )
            if wanted and (link.message_ttl == -1 or len(walk) - 1 < link.message_ttl):
                walks.append((*walk, receiver.name))
    return False
