"""Checks whether brokers, links and groups form a valid topology. Each rule yields one sentence per violation.

Rules for a single product are in the product's ``validation.py``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from records.run import OUT_OF_REACH
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import CONSUMERS, PRODUCERS, ClientGroup
from topologies.model.link import Link
from topologies.model.paths import blocking_limits, connected_pairs, shortest_paths

Brokers = tuple[AnyBroker, ...]
Links = tuple[Link, ...]
Groups = tuple[ClientGroup, ...]
MOST_TOLD = 4


def kind_problems(
    product: str, brokers: Brokers, links: Links, of_brokers: Iterable[type], of_links: Iterable[type]
) -> Iterator[str]:
    """Yield a sentence for each broker or link of another product."""
    for part_name, parts, kinds in (("broker", brokers, tuple(of_brokers)), ("link", links, tuple(of_links))):
        for part in parts:
            if not isinstance(part, kinds):
                fitting = " or ".join(kind.__name__ for kind in kinds)
                yield (
                    f"{part_name} {part.name!r} is of kind {type(part).__name__}, which flavour {product!r} does not"
                    f" have; use {fitting}"
                )


def part_problems(brokers: Brokers, links: Links, groups: Groups) -> Iterator[str]:
    """Yield the problems of brokers, links and groups themselves, regardless of paths."""
    yield from (*_brokers(brokers), *_standbys(brokers), *_links(brokers, links), *_groups(brokers, groups))
    yield from _users(brokers, links)


def reach_problems(brokers: Brokers, links: Links, groups: Groups) -> Iterator[str]:
    """Yield a problem if no message gets from producers to consumers. Call it only if there are no other problems."""
    needed = tuple(_needed(groups))
    names = tuple(broker.name for broker in brokers)
    paths = shortest_paths(names, links)
    if not needed or any(pair in paths for pair in needed):
        return
    edges = connected_pairs(names, links)
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


def reach_warnings(brokers: Brokers, links: Links, groups: Groups) -> Iterator[str]:
    """Yield the consumers that some producers do not reach. This is allowed, and sometimes intended."""
    return unreachable_pairs(_needed(groups), brokers, links)


def unreachable_pairs(needed: Iterable[tuple[str, str]], brokers: Brokers, links: Links) -> Iterator[str]:
    """Yield a sentence for each (from, to) of brokers that no message can cross, often because of a small TTL."""
    names = tuple(broker.name for broker in brokers)
    paths, edges = shortest_paths(names, links), connected_pairs(names, links)
    for begin, end in needed:
        if (begin, end) not in paths:
            yield f"a message sent at {begin!r} cannot reach {OUT_OF_REACH} {end!r}: " + (
                _to_raise(begin, end, links) if (begin, end) in edges else "no link leads there"
            )


def _brokers(brokers: Brokers) -> Iterator[str]:
    if not brokers:
        yield "it has no broker; give it at least one"
    for name in _repeated(broker.name for broker in brokers):
        yield f"two brokers are named {name!r}; give each its own name"
    for own_name in _repeated(broker.own_name for broker in {broker.name: broker for broker in brokers}.values()):
        names = ", ".join(broker.name for broker in brokers if broker.own_name == own_name)
        yield f"brokers {names} have the name {own_name!r} in their configurations; give each another broker_name"


def _standbys(brokers: Brokers) -> Iterator[str]:
    by_name = {broker.name: broker for broker in brokers}
    for broker in brokers:
        if not broker.standby_of:
            continue
        active = by_name.get(broker.standby_of)
        if active is None:
            unknown = _unknown(brokers, AnyBroker(broker.standby_of))
            yield f"broker {broker.name!r} is a standby for {broker.standby_of!r}, {unknown}"
        elif active is broker or active.standby_of:
            yield f"broker {broker.name!r} is a standby for {active.name!r}; it must be another, active broker"
        elif broker.store is None or broker.store != active.store:
            yield (
                f"broker {broker.name!r} is a standby for {active.name!r} but has different persistence; the two share"
                " one store, so give both the same settings"
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
                    f"link {link.name!r} ends at {end.name!r}, a standby for {end.standby_of!r}; name the active"
                    " broker: the standby takes over its links with its store"
                )
        if link.opened_by.name == link.to.name:
            yield f"link {link.name!r} joins {link.to.name!r} to itself; name a different broker in to"
    yield from _repeated_links(links)


def _repeated_links(links: Links) -> Iterator[str]:
    """Yield pairs of duplex links that join the same brokers from both ends, where every message would loop.

    Two duplex links in one direction may be intended, for throughput. Links that forward without demand are excluded:
    their product checks them.
    """
    duplex = [link for link in links if link.duplex and link.on_demand]
    opened = {(link.opened_by.name, link.to.name): link.name for link in duplex}
    for (opener, target), name in opened.items():
        opposite = opened.get((target, opener))
        if opposite and opener < target:
            yield f"duplex links {name!r} and {opposite!r} join the same two brokers from both ends; keep one of them"


def _users(brokers: Brokers, links: Links) -> Iterator[str]:
    """Users that no link logs in as, and links whose user no broker has."""
    known = dict.fromkeys(user.name for broker in brokers for user in broker.link_users)
    used = {link.user_name for link in links}
    for broker in brokers:
        for user in broker.link_users:
            if user.name not in used:
                yield (
                    f"broker {broker.name!r} has the user {user.name!r}, but no link has this user_name; write"
                    f" user_name: {user.name} in a link, or remove the user"
                )
    for link in links:
        if link.user_name and link.user_name not in known:
            yield (
                f"link {link.name!r} has user_name={link.user_name!r}, but no broker has this user; add it to the users"
                f" of {' and '.join(dict.fromkeys(broker.name for broker in link.logs_in_at))}"
            )


def _groups(brokers: Brokers, groups: Groups) -> Iterator[str]:
    for name in _repeated(group.name for group in groups):
        yield f"two client groups are named {name!r}; give each its own name"
    for group in groups:
        for broker in group.enter_at:
            if broker not in brokers:
                yield f"client group {group.name!r} enters at {broker.name!r}, {_unknown(brokers, broker)}"
        for name in _repeated(broker.name for broker in group.enter_at):
            yield f"client group {group.name!r} enters at {name!r} twice; list each broker once"


def _to_raise(begin: str, end: str, links: Links) -> str:
    """Return the next step, along the shortest path.

    Links of a cluster share one limit: the highest value that one of them needs.
    """
    least_of: dict[tuple[str, str], int] = {}
    for limit, link, least in blocking_limits(begin, end, links):
        subject, where = f"link {link.name!r}", ""
        if link.cluster_name:
            subject, where = f"cluster {link.cluster_name!r}", ", in each of its links"
        raised = f"{link.ttl_field(limit)} of {subject} from {link.limits[limit]}", where
        least_of[raised] = max(least, least_of.get(raised, 0))
    steps = [f"{raised} to {least}{where}" for (raised, where), least in least_of.items()]
    return f"raise {', '.join(steps[:MOST_TOLD])}{', …' if steps[MOST_TOLD:] else ''}"


def _needed(groups: Groups) -> Iterator[tuple[str, str]]:
    """Yield (from, to) for the groups ``producers`` and ``consumers``. Without them, no paths are required."""
    by_name = {group.name: group for group in groups}
    if PRODUCERS in by_name and CONSUMERS in by_name:
        for begin in active(by_name[PRODUCERS].enter_at):
            for end in active(by_name[CONSUMERS].enter_at):
                yield begin.name, end.name


def active(brokers: Brokers) -> Brokers:
    """Return the brokers that messages pass through: a standby is idle until it takes over from its active broker."""
    return tuple(broker for broker in brokers if not broker.standby_of)


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _unknown(brokers: Brokers, broker: AnyBroker) -> str:
    names = [member.name for member in brokers]
    if broker.name in names:
        return "but the topology's broker of that name has other settings; use the same value in both places"
    return f"which is not among its brokers ({', '.join(names) or 'none'})"
