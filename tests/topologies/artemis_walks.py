"""A plain reference model of reachability between Artemis brokers: follows each walk of a message.

Slow and literal: each step looks up the consumers at a broker, and regular expressions match the addresses.
"""

import re
from collections.abc import Iterator, Sequence

from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.links import AddressMatch, BrokerConnection, ClusterLink
from topologies.model.link import Link


def in_pattern(pattern: str, address: str) -> bool:
    """Match the patterns that the tests draw: ``#``, ``*``, ``a.#``, ``a.*`` and plain addresses."""
    if pattern == "#":
        return True
    written = re.escape(pattern).replace(r"\.\#", r"(\..+)?").replace(r"\*", r"[^.]+")
    return re.fullmatch(written, address) is not None


def in_filter(text: str, address: str) -> bool:
    parts = text.split(",") if text else []
    if any(part[0] == "!" and address.startswith(part[1:]) for part in parts):
        return False
    taken = [part for part in parts if part[0] != "!"]
    return not taken or any(address.startswith(part) for part in taken)


def queues_from_the_start(broker: ArtemisBroker, address: str) -> list[str]:
    declared = [setting for setting in broker.addresses if setting.name == address and setting.routing == "ANYCAST"]
    return [setting.queue or setting.name for setting in declared]


def wanted(matches: Sequence[AddressMatch], broker: ArtemisBroker, address: str) -> bool:
    """Whether one of the matches selects the address, or its queue at the broker once that exists."""
    queues = queues_from_the_start(broker, address) or [address]
    patterns = [match.address_match for match in matches if match.address_match]
    return any(in_pattern(pattern, address) for pattern in patterns) or any(
        match.queue_name in queues for match in matches
    )


def receives(link: Link, client_at: str, address: str) -> bool:
    """Whether the opener's receiver exists, which needs a queue at the opener."""
    if not isinstance(link, BrokerConnection) or not isinstance(link.opened_by, ArtemisBroker):
        return False
    there_is_one = link.opened_by.name == client_at or queues_from_the_start(link.opened_by, address) != []
    return there_is_one and wanted(link.receivers, link.opened_by, address)


def asks(broker: str, links: Sequence[Link], client_at: str, address: str) -> bool:
    """Whether a client, a receiver or a sender consumes at the broker before a message arrives."""
    if broker == client_at:
        return True
    for link in links:
        if link.to.name == broker and receives(link, client_at, address):
            return True
        if link.opened_by.name == broker and sends_from_the_start(link, address):
            return True
    return False


def sends_from_the_start(link: Link, address: str) -> bool:
    opener = link.opened_by
    if not isinstance(link, BrokerConnection) or not isinstance(opener, ArtemisBroker):
        return False
    return queues_from_the_start(opener, address) != [] and wanted(link.senders, opener, address)


def next_after(broker: str, links: Sequence[Link], client_at: str, address: str) -> Iterator[str]:
    """Return the brokers that a message at this broker can get to in one step."""
    for link in links:
        opener = link.opened_by
        if isinstance(link, BrokerConnection) and isinstance(opener, ArtemisBroker):
            mirrored = link.mirror is not None and in_filter(link.mirror.address_filter, address)
            if opener.name == broker and (mirrored or wanted(link.senders, opener, address)):
                yield link.to.name
            if link.to.name == broker and receives(link, client_at, address):
                yield opener.name
    for member in in_cluster((broker,), [link for link in links if isinstance(link, ClusterLink)]):
        if asks(member, links, client_at, address):
            yield member


def in_cluster(walk: tuple[str, ...], links: Sequence[ClusterLink]) -> Iterator[str]:
    """Return the members that can be reached within the allowed number of links."""
    for link in links:
        ends = {link.opened_by.name, link.to.name}
        sends = link.cluster.message_load_balancing != "OFF" and len(walk) <= link.cluster.max_hops
        if sends and walk[-1] in ends and not ends <= set(walk):
            (there,) = ends - {walk[-1]}
            yield there
            yield from in_cluster((*walk, there), links)


def can_reach(links: Sequence[Link], producer: str, consumer: str, destination: str) -> bool:
    """Whether the rules allow every step of some walk from one broker to the other."""
    kind, address = destination.split("://")
    if kind == "topic":  # the tests' brokers create no queues for the receivers of topics
        links = [link for link in links if isinstance(link, ClusterLink)]
    walks: list[tuple[str, ...]] = [(producer,)]
    while walks:
        walk = walks.pop()
        if walk[-1] == consumer:
            return True
        walks += [(*walk, there) for there in next_after(walk[-1], links, consumer, address) if there not in walk]
    return False
