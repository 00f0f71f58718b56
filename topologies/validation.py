"""Do brokers, links and groups make a topology together? Each rule is a function that yields a sentence a breach."""

from collections import Counter
from collections.abc import Iterable, Iterator

from topologies.artemis.links import BrokerConnection, ClusterLink
from topologies.brokers import AnyBroker, Broker
from topologies.groups import CONSUMERS, PRODUCERS, ClientGroup
from topologies.links import Link, MulticastDiscovery, NetworkConnector
from topologies.paths import joined, limit_of, shortest_paths, too_near

Brokers = tuple[AnyBroker, ...]
Links = tuple[Link, ...]
Groups = tuple[ClientGroup, ...]
MOST_TOLD = 4
DESTINATIONS = ("excluded_destinations", "dynamically_included_destinations", "statically_included_destinations")


def problems(brokers: Brokers, links: Links, groups: Groups) -> tuple[str, ...]:
    """Why these do not make a topology; empty if they do. Paths are only looked at once the parts are sound."""
    found = (*_brokers(brokers), *_standbys(brokers), *_links(brokers, links), *_groups(brokers, groups))
    return found or tuple(_reach(brokers, links, groups))


def warnings(brokers: Brokers, links: Links, groups: Groups) -> tuple[str, ...]:
    """What is allowed, and sometimes meant."""
    return (
        *out_of_reach(_needed(groups), brokers, links),
        *_unasked(links),
        *_wildcards(links),
        *_wildcards_of_policies(brokers),
    )


def out_of_reach(needed: Iterable[tuple[str, str]], brokers: Brokers, links: Links) -> Iterator[str]:
    """The (from, to) of brokers between which nothing can pass, often for a TTL that is too small."""
    names = tuple(broker.name for broker in brokers)
    paths, edges = shortest_paths(names, links), joined(names, links)
    for begin, end in needed:
        if (begin, end) not in paths:
            yield f"a message sent at {begin!r} cannot reach a consumer at {end!r}: " + (
                _to_raise(begin, end, links) if (begin, end) in edges else "no link leads there"
            )


def _unasked(links: Links) -> Iterator[str]:
    """Links by which nobody ever asks for a message: consumers are not heard of, and nothing is named instead."""
    for link in links:
        if not isinstance(link, NetworkConnector) or link.statically_included_destinations:
            continue
        if link.static_bridge:
            yield (
                f"link {link.name!r} carries nothing: it is a static_bridge, which hears of no consumers; name what it"
                " shall carry in statically_included_destinations"
            )
            continue
        for _, end in link.directions:
            far = link.to if end == link.to.name else link.opened_by
            if isinstance(far, Broker) and not far.advisory_support:
                yield (
                    f"link {link.name!r} carries nothing to {end!r}: without advisory_support that tells of no"
                    " consumers; leave it on there, or name what shall cross in statically_included_destinations"
                )


def _wildcards_of_policies(brokers: Brokers) -> Iterator[str]:
    for broker in brokers:
        for policy in broker.policies if isinstance(broker, Broker) else ():
            if "#" in policy.pattern.split("."):
                yield (
                    f"broker {broker.name!r}: policies have the pattern {policy.pattern!r}: '#' is Artemis' wildcard,"
                    " and a word like others here; write '>'"
                )


def _wildcards(links: Links) -> Iterator[str]:
    """What Artemis would read as a pattern, and Classic reads as a name."""
    for link in links:
        for field in DESTINATIONS if isinstance(link, NetworkConnector) else ():
            for destination in getattr(link, field):
                if "#" in destination.partition("://")[2].split("."):
                    yield (
                        f"link {link.name!r}: {field} has {destination!r}: '#' is Artemis' wildcard, and a word like"
                        " others here; write '>'"
                    )


def _brokers(brokers: Brokers) -> Iterator[str]:
    if not brokers:
        yield "it has no broker; give it at least one"
    for name in _repeated(broker.name for broker in brokers):
        yield f"two brokers are named {name!r}; give each its own name"


def _standbys(brokers: Brokers) -> Iterator[str]:
    by_name = {broker.name: broker for broker in brokers}
    for broker in brokers:
        if not broker.standby_of:
            continue
        active = by_name.get(broker.standby_of)
        if active is None:
            unknown = _unknown(brokers, AnyBroker(broker.standby_of))
            yield f"broker {broker.name!r} stands by for {broker.standby_of!r}, {unknown}"
        elif active is broker or active.standby_of:
            yield f"broker {broker.name!r} stands by for {active.name!r}; it must be another, active broker"
        elif broker.store is None or broker.store != active.store:
            yield (
                f"broker {broker.name!r} stands by for {active.name!r} but has another persistence; the two share one"
                " store, so give both the same"
            )


def _links(brokers: Brokers, links: Links) -> Iterator[str]:
    for name in _repeated(link.name for link in links):
        yield f"two links are named {name!r}; give each its own name"
    for link in links:
        for end in (link.opened_by, link.to):
            if end not in brokers:
                yield f"link {link.name!r} ends at {end.name!r}, {_unknown(brokers, end)}"
            elif end.standby_of:
                yield (
                    f"link {link.name!r} ends at {end.name!r}, which stands by for {end.standby_of!r}; name the active"
                    " broker, the standby takes its links over with its store"
                )
        if link.opened_by.name == link.to.name:
            yield f"link {link.name!r} joins {link.to.name!r} to itself; a link joins two brokers, name another in to"
        if "openwire" not in link.to.protocols and link.kind == "networkConnector":
            yield f"link {link.name!r} needs an openwire transport connector on {link.to.name!r}; add one"
    yield from _twice(links)
    yield from _told_apart(links)


def _told_apart(links: Links) -> Iterator[str]:
    """A broker tells where it is in one way only, so all that look for it by multicast must look there."""
    seen: dict[str, tuple[str, MulticastDiscovery]] = {}
    for link in links:
        if isinstance(link, NetworkConnector) and isinstance(link.discovery, MulticastDiscovery):
            first, discovery = seen.setdefault(link.to.name, (link.name, link.discovery))
            if discovery != link.discovery:
                yield (
                    f"links {first!r} and {link.name!r} look for {link.to.name!r} by different multicast discoveries;"
                    " give both the same"
                )


def _twice(links: Links) -> Iterator[str]:
    """Two duplex links the same way may be meant (more throughput); one from each end makes every message loop.

    Not those of AMQP, which carry what they match: topologies/artemis/loops.py looks at that.
    """
    duplex = [link for link in links if link.duplex and not isinstance(link, BrokerConnection)]
    opened = {(link.opened_by.name, link.to.name): link.name for link in duplex}
    for (opener, target), name in opened.items():
        other = opened.get((target, opener))
        if other and opener < target:
            yield f"duplex links {name!r} and {other!r} join the same two brokers from both ends; keep one of them"


def _groups(brokers: Brokers, groups: Groups) -> Iterator[str]:
    for name in _repeated(group.name for group in groups):
        yield f"two client groups are named {name!r}; give each its own name"
    for group in groups:
        for broker in group.enter_at:
            if broker not in brokers:
                yield f"client group {group.name!r} enters at {broker.name!r}, {_unknown(brokers, broker)}"
        for name in _repeated(broker.name for broker in group.enter_at):
            yield f"client group {group.name!r} enters at {name!r} twice; list each broker once"


def _reach(brokers: Brokers, links: Links, groups: Groups) -> Iterator[str]:
    needed = tuple(_needed(groups))
    names = tuple(broker.name for broker in brokers)
    paths = shortest_paths(names, links)
    if not needed or any(pair in paths for pair in needed):
        return
    edges = joined(names, links)
    far = next((pair for pair in needed if pair in edges), None)
    if far:
        begin, end = far
        yield (
            f"no message gets from the {PRODUCERS} to the {CONSUMERS}: from {begin!r} to {end!r}"
            f" {_to_raise(begin, end, links)}"
        )
    else:
        yield (
            f"no message gets from the {PRODUCERS} to the {CONSUMERS}: no link leads there; a one-way link carries"
            " messages from the broker that opens it"
        )


def _to_raise(begin: str, end: str, links: Links) -> str:
    """The next step, by the shortest way. Links of one cluster have one limit, which the furthest of them needs."""
    least_of: dict[tuple[str, str], int] = {}
    for limit, link, least in too_near(begin, end, links):
        of, where = f"link {link.name!r}", ""
        if isinstance(link, ClusterLink):
            of, where = f"cluster {link.cluster.name!r}", ", in each of its links"
        raised = f"{limit} of {of} from {limit_of(link, limit)}", where
        least_of[raised] = max(least, least_of.get(raised, 0))
    told = [f"{what} to {least}{where}" for (what, where), least in least_of.items()]
    return f"raise {', '.join(told[:MOST_TOLD])}{', …' if told[MOST_TOLD:] else ''}"


def _needed(groups: Groups) -> Iterator[tuple[str, str]]:
    """(from, to) for the two groups of agreed names; a topology without them promises nothing."""
    by_name = {group.name: group for group in groups}
    if PRODUCERS in by_name and CONSUMERS in by_name:
        for begin in active(by_name[PRODUCERS].enter_at):
            for end in active(by_name[CONSUMERS].enter_at):
                yield begin.name, end.name


def active(brokers: Brokers) -> Brokers:
    """Those that messages pass through: a standby does nothing until it takes its active's place."""
    return tuple(broker for broker in brokers if not broker.standby_of)


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _unknown(brokers: Brokers, broker: AnyBroker) -> str:
    names = [known.name for known in brokers]
    if broker.name in names:
        return "but the topology's broker of that name has other settings; use one and the same value"
    return f"which is not among its brokers ({', '.join(names) or 'none'})"
