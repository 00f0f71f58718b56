"""Checks Artemis brokers and their links, in addition to the rules for every product.

Each rule yields one sentence per violation.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.links import AddressMatch, BrokerConnection, ClusterLink
from topologies.artemis.loops import loop_problems
from topologies.artemis.matching import overlap
from topologies.artemis.router import Router
from topologies.artemis.users import ambiguous
from topologies.model.broker import AnyBroker
from topologies.model.link import Link
from topologies.model.users import user_at

NO_KIND = "a name has no queue:// or topic:// prefix here"
KIND = re.compile(r"^(\s*!?)(queue|topic)://")


def artemis_problems(brokers: Sequence[AnyBroker], links: Sequence[Link]) -> Iterator[str]:
    yield from _pairs(brokers)
    yield from _clusters([link for link in links if isinstance(link, ClusterLink)])
    connections = [link for link in links if isinstance(link, BrokerConnection)]
    for link in connections:
        yield from _ends(link, brokers)
    yield from loop_problems(connections)
    yield from _user_patterns(brokers)
    yield from _cluster_users([link for link in links if isinstance(link, ClusterLink)])


def artemis_warnings(brokers: Sequence[AnyBroker], links: Sequence[Link]) -> Iterator[str]:
    """Warn about valid settings that leave messages in unexpected places."""
    for broker in brokers:
        for setting in broker.address_settings if isinstance(broker, ArtemisBroker) else ():
            yield from _no_pattern(f"broker {broker.name!r}: address_settings have the match", setting.match)
        for address in broker.addresses if isinstance(broker, ArtemisBroker) else ():
            for part, name in (("address", address.name), ("queue", address.queue)):
                yield from _without_kind(f"broker {broker.name!r} has the {part} {name!r}", name)
    for link in links:
        if isinstance(link, BrokerConnection) and isinstance(link.opened_by, ArtemisBroker):
            yield from _wildcards(link)
            yield from _other_ends(link)
            yield from _receivers_queues(link, link.opened_by)
            if isinstance(link.to, Router):
                yield from _peers_queues(link, link.opened_by, link.to)


def _pairs(brokers: Sequence[AnyBroker]) -> Iterator[str]:
    by_name = {broker.name: broker for broker in brokers}
    for broker in brokers:
        active = by_name.get(broker.standby_of)
        if isinstance(broker, ArtemisBroker) and isinstance(active, ArtemisBroker):
            if broker.ha is None or broker.ha != active.ha:
                yield (
                    f"broker {broker.name!r} is a standby for {active.name!r}; give both the same ha, e.g. kind:"
                    " shared-store"
                )
            if "core" not in active.spoken or "core" not in broker.spoken:
                yield f"brokers {active.name!r} and {broker.name!r} are a pair; give both a core acceptor"


def _clusters(links: Sequence[ClusterLink]) -> Iterator[str]:
    settings: dict[str, ClusterLink] = {}
    for link in links:
        earlier = settings.setdefault(link.cluster.name, link)
        if link.cluster != earlier.cluster:
            yield (
                f"links {earlier.name!r} and {link.name!r} belong to cluster {link.cluster.name!r} but have different"
                " cluster settings; give both the same"
            )
        for end in (link.opened_by, link.to):
            if "core" not in end.spoken:
                yield f"link {link.name!r} needs a core acceptor on {end.name!r}; add one"


def _user_patterns(brokers: Sequence[AnyBroker]) -> Iterator[str]:
    for broker in brokers:
        for pattern, other in ambiguous(broker.users) if isinstance(broker, ArtemisBroker) else ():
            yield (
                f"broker {broker.name!r}: users have permissions for {pattern!r} and {other!r}, which match common"
                " addresses, but Artemis applies only one setting; write patterns of which one contains the other"
            )


def _cluster_users(links: Sequence[ClusterLink]) -> Iterator[str]:
    """A broker has one user for all its clusters, which may do everything; other members know it by their own one."""
    for earlier, link in pairwise(links):
        if link.user_name != earlier.user_name:
            yield (
                f"links {earlier.name!r} and {link.name!r} of clusters have user_name={earlier.user_name!r} and"
                f" {link.user_name!r}, but an Artemis broker has only one cluster-user; give all of them the same"
            )
    for link in links:
        for end in link.logs_in_at if link.user_name else ():
            user = user_at(end.link_users, link.user_name)
            if user is None:
                yield (
                    f"link {link.name!r} has user_name={link.user_name!r}, which is missing at {end.name!r}, but every"
                    " member of a cluster has its cluster-user; add the user there, with other_password: true to make"
                    " logins fail"
                )
            elif user.limits:
                yield (
                    f"link {link.name!r} has user_name={link.user_name!r} with limited permissions at {end.name!r}"
                    f" ({'; '.join(user.limits)}), but Artemis checks none of its cluster-user; leave them out"
                )


def _ends(link: BrokerConnection, brokers: Sequence[AnyBroker]) -> Iterator[str]:
    if isinstance(link.opened_by, Router):
        yield f"link {link.name!r} is opened by {link.opened_by.name!r}, a Router: let a broker open it to the router"
    if link.user_name and isinstance(link.to, Router):
        yield f"link {link.name!r} has user_name={link.user_name!r}, but a Router requires no login; leave it out"
    for end in (link.to, *link.alternates):
        if end not in brokers:
            yield f"link {link.name!r} has the alternate {end.name!r}, which is not among the topology's brokers"
        if "amqp" not in end.spoken:
            yield f"link {link.name!r} needs an amqp acceptor on {end.name!r}; add one"
    if link.peers and not isinstance(link.to, Router):
        yield (
            f"link {link.name!r} has a peer but ends at broker {link.to.name!r}: messages would circulate between the"
            " two forever; a peer is for a Router, use senders or receivers between brokers"
        )
    yield from _alternates(link)


def _alternates(link: BrokerConnection) -> Iterator[str]:
    """Yield problems of alternates, which take over when the link's end is gone.

    They must differ from the link's end and its opener.
    """
    opener = link.opened_by.name
    for name, times in Counter(end.name for end in (link.to, *link.alternates)).items():
        if times > 1:
            yield f"link {link.name!r} names {name!r} {times} times among its end and alternates; name each once"
    for end in link.alternates:
        if opener in (end.name, end.standby_of):
            yield (
                f"link {link.name!r} has the alternate {end.name!r}, so {opener!r} would connect to itself; name"
                " another broker"
            )
    strangers = _strangers(link)
    if link.mirror and strangers:
        yield (
            f"link {link.name!r} mirrors to {link.to.name!r} or {strangers[0]!r}, two brokers with separate stores:"
            " each would get only a part; the alternates of a mirror must be standbys of the mirror's end"
        )


def _strangers(link: BrokerConnection) -> list[str]:
    """Return alternates with separate stores."""
    own_ends = (link.to.name, link.opened_by.name)
    return [end.name for end in link.alternates if end.standby_of != link.to.name and end.name not in own_ends]


def _wildcards(link: BrokerConnection) -> Iterator[str]:
    """Warn about text that Classic, or another field, would read as a pattern, but 2.44.0 reads as a name."""
    for match in (*link.senders, *link.receivers, *link.peers):
        yield from _no_pattern(f"link {link.name!r} has the address_match", match.address_match)
        subject = f"link {link.name!r} has the queue_name {match.queue_name!r}"
        if {"*", "#", ">"} & {*_bare(match.queue_name).split(".")}:
            yield f"{subject}: queue_name does not support wildcards; write address_match"
        else:
            yield from _without_kind(subject, match.queue_name)
    if link.mirror:
        yield from _prefixes(link.name, link.mirror.address_filter)


def _no_pattern(subject: str, pattern: str) -> Iterator[str]:
    """Yield one sentence with all problems of a pattern, and the corrected pattern."""
    name = _bare(pattern)
    words = ["#" if word == ">" else word for word in name.split(".")]
    wrong = [NO_KIND] if name != pattern else []
    wrong += ["'>' is Classic's wildcard, and an ordinary word here"] if words != name.split(".") else []
    if wrong:
        yield f"{subject} {pattern!r}: {'; '.join(wrong)}; write {'.'.join(words)!r}"


def _without_kind(subject: str, *names: str) -> Iterator[str]:
    """Yield a sentence if a name has the form of a client's destination. ``subject``: the field with the names."""
    if any(_bare(name) != name for name in names):
        yield f"{subject}: {NO_KIND}; write {','.join(map(_bare, names))!r}"


def _bare(name: str) -> str:
    """Remove the ``queue://`` of a destination, also after the ``!`` of a filter."""
    return KIND.sub(r"\1", name)


def _prefixes(link: str, address_filter: str) -> Iterator[str]:
    subject, parts = f"link {link!r} has the address_filter {address_filter!r}", address_filter.split(",")
    if any({"*", "#", ">"} & {*_bare(part).lstrip("!").split(".")} for part in parts):
        yield f"{subject}: it takes address prefixes instead of wildcards, such as 'eu.' for 'eu.#'; write prefixes"
    if any(part != part.strip() for part in parts):
        yield f"{subject}: spaces are part of the names; leave them out"
    yield from _without_kind(subject, *parts)


def _other_ends(link: BrokerConnection) -> Iterator[str]:
    """Yield a warning about several ends: Artemis 2.44.0 tries them in order, and stays with the first that listens."""
    strangers = _strangers(link)
    if strangers:
        begins = "; write auto_start: false to let a run start it there once all listen" if link.auto_start else ""
        yield (
            f"link {link.name!r} may end at {link.to.name!r} or {' or '.join(map(repr, strangers))}, which are not a"
            " pair: it stays with the first that listens, but a run predicts and checks the link to"
            f" {link.to.name!r}{begins}"
        )


def _receivers_queues(link: BrokerConnection, opener: ArtemisBroker) -> Iterator[str]:
    queues = {queue for address in opener.addresses for queue in address.queues}
    for receiver in link.receivers:
        if receiver.queue_name and receiver.queue_name not in queues:
            yield (
                f"link {link.name!r} receives into queue {receiver.queue_name!r}, which {opener.name!r} does not have"
                " when it starts: nothing arrives until a client creates the queue; list it in the broker's addresses"
            )
        for address, queue in _received_into(receiver, opener):
            if address != queue:
                yield (
                    f"link {link.name!r} receives into queue {queue!r} of address {address!r}: it requests"
                    f" {address!r} from the other end, which needs a queue of that name; give both the same name"
                )


def _peers_queues(link: BrokerConnection, opener: ArtemisBroker, router: Router) -> Iterator[str]:
    for peer in link.peers:
        addresses = [address for address, _ in _received_into(peer, opener)]
        if not addresses:
            yield (
                f"link {link.name!r} has a peer for {peer.address_match or peer.queue_name!r}, but {opener.name!r}"
                f" has no such queue when it starts: messages sent to {router.name!r} wait until a client creates one;"
                " list it in the broker's addresses"
            )
        for address in addresses:
            if not router.is_waypoint(address):
                yield (
                    f"link {link.name!r} has a peer for {address!r}, which is not a waypoint of {router.name!r}:"
                    f" messages would stay on {opener.name!r}; give the router the waypoint {address!r}"
                )


def _received_into(receiver: AddressMatch, opener: ArtemisBroker) -> Iterator[tuple[str, str]]:
    """Yield (address, queue) for predefined queues: the queue with the given name, or queues of matching addresses."""
    for address in opener.addresses:
        for queue in address.queues:
            by_name = bool(receiver.queue_name) and queue == receiver.queue_name
            if by_name or (receiver.address_match and overlap(receiver.address_match, address.name)):
                yield address.name, queue
