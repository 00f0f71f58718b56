"""A Classic broker's data on its links."""

from dataclasses import dataclass

from topologies.model.management import Bridge


@dataclass(frozen=True)
class NetworkSubscription:
    """A subscription of a broker, with the client id that created it."""

    client_id: str
    destination: str


@dataclass(frozen=True)
class LinkEnd:
    """A broker's data on all links that begin or end there."""

    broker: str
    bridges: tuple[Bridge, ...] = ()
    client_ids: frozenset[str] = frozenset()
    subscriptions: tuple[NetworkSubscription, ...] = ()
    failure: str = ""  # why there is no data
