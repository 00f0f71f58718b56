"""Checks Classic brokers and their links, in addition to the rules for every product.

Each rule yields one sentence per violation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from topologies.classic.broker import Broker
from topologies.classic.network_connectors import FailoverDiscovery, MulticastDiscovery, NetworkConnector
from topologies.model.broker import AnyBroker
from topologies.model.link import Link

DESTINATIONS = ("excluded_destinations", "dynamically_included_destinations", "statically_included_destinations")


def classic_problems(brokers: Sequence[AnyBroker], links: Sequence[Link]) -> Iterator[str]:
    for link in links:
        if isinstance(link, NetworkConnector) and "openwire" not in link.to.protocols:
            yield f"link {link.name!r} needs an openwire transport connector on {link.to.name!r}; add one"
    yield from _told_apart(links)
    yield from _multicast_groups(links)


def classic_warnings(brokers: Sequence[AnyBroker], links: Sequence[Link]) -> Iterator[str]:
    """Yield warnings about settings that are valid, and sometimes intended."""
    yield from _links_without_demand(links)
    yield from _reconnected_below_bridges(links)
    yield from _wildcards(links)
    yield from _wildcards_of_policies(brokers)


def _links_without_demand(links: Sequence[Link]) -> Iterator[str]:
    """Yield links that never have demand: they learn of no consumers, and include no destinations statically."""
    for link in links:
        if not isinstance(link, NetworkConnector) or link.statically_included_destinations:
            continue
        if link.static_bridge:
            yield (
                f"link {link.name!r} carries nothing: it is a static_bridge, which ignores consumers; list its"
                " destinations in statically_included_destinations"
            )
            continue
        for _, end in link.directions:
            far = link.to if end == link.to.name else link.opened_by
            if isinstance(far, Broker) and not far.advisory_support:
                yield (
                    f"link {link.name!r} carries nothing to {end!r}: without advisory_support that broker announces no"
                    " consumers; turn it on there, or list destinations in statically_included_destinations"
                )


def _wildcards_of_policies(brokers: Sequence[AnyBroker]) -> Iterator[str]:
    for broker in brokers:
        for policy in broker.policies if isinstance(broker, Broker) else ():
            if "#" in policy.pattern.split("."):
                yield (
                    f"broker {broker.name!r}: policies have the pattern {policy.pattern!r}: '#' is Artemis's wildcard,"
                    " and an ordinary word here; write '>'"
                )


def _reconnected_below_bridges(links: Sequence[Link]) -> Iterator[str]:
    """Yield links whose transport connects again without a new bridge.

    The broker at the end then takes the bridge for a client that resends: it discards each persistent message whose
    number is not higher than that of the last one, whichever producer sent it (ProducerBrokerExchange.canDispatch).
    """
    for link in links:
        discovery = link.discovery if isinstance(link, NetworkConnector) else None
        if isinstance(discovery, FailoverDiscovery) and discovery.max_reconnect_attempts:
            yield (
                f"link {link.name!r}: its failover transport may connect again below the bridge; the other broker then"
                " discards messages of different producers as duplicates, and confirms them; write"
                " max_reconnect_attempts: 0 in its discovery, as masterslave: does"
            )


def _wildcards(links: Sequence[Link]) -> Iterator[str]:
    """Warn about text that Artemis would read as a pattern, but Classic reads as a name."""
    for link in links:
        for field in DESTINATIONS if isinstance(link, NetworkConnector) else ():
            for destination in getattr(link, field):
                if "#" in destination.partition("://")[2].split("."):
                    yield (
                        f"link {link.name!r}: {field} has {destination!r}: '#' is Artemis's wildcard, and an ordinary"
                        " word here; write '>'"
                    )


def _multicast_groups(links: Sequence[Link]) -> Iterator[str]:
    by_group: dict[str, list[NetworkConnector]] = {}
    for link in links:
        if isinstance(link, NetworkConnector) and link.multicast_group:
            by_group.setdefault(link.multicast_group, []).append(link)
    for group, members in by_group.items():
        for link in members:
            yield from _impossible_in_group(link)
        yield from _not_in_group(group, members)
        yield from _named_as_group(group, members, links)


def _impossible_in_group(link: NetworkConnector) -> Iterator[str]:
    subject = f"link {link.name!r} of multicast group {link.multicast_group!r}"
    if link.duplex:
        yield f"{subject} is duplex, but each broker of a group opens links itself; write one link each way"
    if link.impairment:
        yield (
            f"{subject} has an impairment, but a broker announces one address to its whole group, so its links have no"
            " proxies of their own; leave group out"
        )


def _not_in_group(group: str, members: Sequence[NetworkConnector]) -> Iterator[str]:
    """Yield links that brokers would not open as declared.

    By one connector, a broker opens a link to every broker that others look for in the group.
    """
    first = {link.opened_by.name: link for link in reversed(members)}
    for link in members:
        earlier = first[link.opened_by.name]
        if _without_end(link) != _without_end(earlier):
            yield (
                f"links {earlier.name!r} and {link.name!r} of multicast group {group!r} have different settings, but"
                f" {link.opened_by.name} opens both by one connector; give both the same"
            )
    pairs = {(link.opened_by.name, link.to.name) for link in members}
    for opener in first:
        for to in sorted({to for _, to in pairs} - {opener}):
            if (opener, to) not in pairs:
                yield (
                    f"broker {opener!r} opens a link to {to!r}, which it finds in multicast group {group!r};"
                    f" add a link from {opener} to {to}, or give one of them another group"
                )


def _named_as_group(group: str, members: Sequence[NetworkConnector], links: Sequence[Link]) -> Iterator[str]:
    """Yield other links of the same brokers whose connector would have the name of the group's connector."""
    openers = {link.opened_by.name for link in members}
    for link in links:
        if not isinstance(link, NetworkConnector) or link.multicast_group:
            continue
        if link.name == group and link.opened_by.name in openers:
            yield (
                f"link {link.name!r} of {link.opened_by.name} has the name of multicast group {group!r}, and both would"
                " be one connector; rename the link"
            )


def _without_end(link: NetworkConnector) -> NetworkConnector:
    return replace(link, to=link.opened_by, name="any")


def _told_apart(links: Sequence[Link]) -> Iterator[str]:
    """Yield links that discover the same broker by different multicast discoveries.

    A broker announces itself in only one way, so all links that discover it must look there.
    """
    discoveries: dict[str, tuple[str, MulticastDiscovery]] = {}
    for link in links:
        if isinstance(link, NetworkConnector) and isinstance(link.discovery, MulticastDiscovery):
            earlier, discovery = discoveries.setdefault(link.to.name, (link.name, link.discovery))
            if discovery != link.discovery:
                yield (
                    f"links {earlier!r} and {link.name!r} look for {link.to.name!r} by different multicast discoveries;"
                    " give both the same"
                )
