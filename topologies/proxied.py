"""Which links go through a proxy? All, as soon as one of a topology is delayed, narrowed or measured.

In between or not, for every link alike: else the proxy's own cost would be taken for a difference of the links.
"""

from collections.abc import Iterable, Iterator

from topologies.artemis.links import BrokerConnection
from topologies.brokers import AnyBroker
from topologies.cluster_calls import called_twice
from topologies.links import Link, NetworkConnector


def proxied(links: Iterable[Link]) -> tuple[Link, ...]:
    """All; none unless at least one has an impairment."""
    every = tuple(links)
    return every if any(link.impairment is not None for link in every) else ()


def ends_of(link: Link, brokers: Iterable[AnyBroker]) -> tuple[AnyBroker, ...]:
    """Every broker that a link may call, each behind a proxy of its own: its end, standbys of it, alternates."""
    standbys = tuple(broker for broker in brokers if broker.standby_of == link.to.name)
    alternates = link.alternates if isinstance(link, BrokerConnection) else ()
    return tuple(dict.fromkeys((link.to, *(standbys if isinstance(link, NetworkConnector) else ()), *alternates)))


def impairment_problems(links: Iterable[Link]) -> Iterator[str]:
    """Why links cannot be as they are asked to be."""
    for one, other in called_twice(proxied(links)):
        yield (
            f"links {one.name!r} and {other.name!r} both join {one.opened_by.name!r} and {one.to.name!r}, each of which"
            " has one address for all its clusters, so no proxy can tell them apart; keep one, or leave both as they"
            " are"
        )
