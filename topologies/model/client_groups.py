"""Client groups: scenarios name a group, and the topology maps it to the brokers that its clients connect to."""

from collections.abc import Mapping
from dataclasses import dataclass

from topologies.model.broker import AnyBroker
from topologies.model.validity import TopologyInvalid, plain, require_name, require_rules

PRODUCERS = "producers"
CONSUMERS = "consumers"


@dataclass(frozen=True)
class ClientGroup:
    """Clients that share a failover URI over ``enter_at``, in that order, with the query ``failover``."""

    name: str
    enter_at: tuple[AnyBroker, ...]
    failover: str = plain("randomize=true")

    def __post_init__(self) -> None:
        require_name("client group", self.name)
        if not self.enter_at:
            raise TopologyInvalid(f"client group {self.name!r} has no broker: list at least one broker in enter_at")
        require_rules(f"client group {self.name!r}", self)
        if self.failover.startswith("?"):
            bare = self.failover.lstrip("?")
            raise TopologyInvalid(
                f"client group {self.name!r}: failover={self.failover!r}, but '?' is added for you; write {bare!r}",
                field="failover",
            )

    def failover_uri(self, uris: Mapping[str, str]) -> str:
        """Return ``failover:(stomp://127.0.0.1:40123,…)?randomize=true``. ``uris``: endpoints by broker name."""
        query = f"?{self.failover}" if self.failover else ""
        return f"failover:({','.join(uris[broker.name] for broker in self.enter_at)}){query}"

    def failover_uri_by_name(self, protocol: str) -> str:
        """Return the failover URI for people, with broker names as hosts: ``failover:(stomp://broker-1,…)?…``."""
        return self.failover_uri({broker.name: f"{protocol}://{broker.name}" for broker in self.enter_at})
