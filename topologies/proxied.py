"""Which links go through a proxy? All that can, as soon as one of a topology is delayed, narrowed or measured.

In between or not, for every link alike: else the proxy's own cost would be taken for a difference of the links.
"""

from collections.abc import Iterable, Iterator

from topologies.artemis_links import BrokerConnection
from topologies.brokers import AnyBroker
from topologies.cluster_calls import called_twice
from topologies.links import Link, MulticastDiscovery, NetworkConnector


def proxied(links: Iterable[Link]) -> tuple[Link, ...]:
    """Those that go through a proxy; none unless at least one has an impairment."""
    every = tuple(links)
    if all(link.impairment is None for link in every):
        return ()
    return tuple(link for link in every if not cannot_be_proxied(link))


def cannot_be_proxied(link: Link) -> str:
    """Why a link cannot go through a proxy, with the next step; '' if it can."""
    if isinstance(link, NetworkConnector) and isinstance(link.discovery, MulticastDiscovery):
        return (
            "it finds its end by multicast, which tells the end's own address, so it cannot go through a proxy; give it"
            " a static discovery"
        )
    return ""


def ends_of(link: Link, brokers: Iterable[AnyBroker]) -> tuple[AnyBroker, ...]:
    """Every broker that a link may call, each behind a proxy of its own: its end, standbys of it, alternates."""
    standbys = tuple(broker for broker in brokers if broker.standby_of == link.to.name)
    alternates = link.alternates if isinstance(link, BrokerConnection) else ()
    return tuple(dict.fromkeys((link.to, *(standbys if isinstance(link, NetworkConnector) else ()), *alternates)))


def impairment_problems(links: Iterable[Link]) -> Iterator[str]:
    """Why links cannot be as they are asked to be."""
    every = tuple(links)
    for one, other in called_twice(proxied(every)):
        yield (
            f"links {one.name!r} and {other.name!r} both join {one.opened_by.name!r} and {one.to.name!r}, each of which"
            " has one address for all its clusters, so no proxy can tell them apart; keep one, or leave both as they"
            " are"
        )
    for link in every:
        if link.impairment is not None and (why := cannot_be_proxied(link)):
            yield f"link {link.name!r} is to have {link.impairment}, but {why}"
