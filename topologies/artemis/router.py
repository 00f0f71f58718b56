"""Models a router beside Artemis brokers. It stores nothing: brokers are its waypoints, clients see only it."""

from dataclasses import dataclass
from typing import ClassVar

from topologies.model.broker import AnyBroker
from topologies.model.validity import TopologyInvalid, require_plain


@dataclass(frozen=True)
class Router(AnyBroker):
    """A Qpid Dispatch router. Addresses that begin with one of ``waypoints`` go through a queue of a broker."""

    has_agent: ClassVar[bool] = False
    keeps_messages: ClassVar[bool] = False

    waypoints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.waypoints:
            raise TopologyInvalid(
                f"router {self.name!r} has no waypoints: give it the prefix of an address, e.g. queue"
            )
        for prefix in self.waypoints:
            require_plain(f"router {self.name!r}", waypoints=prefix)

    def is_waypoint(self, address: str) -> bool:
        return any(address == prefix or address.startswith((f"{prefix}.", f"{prefix}/")) for prefix in self.waypoints)

    @property
    def protocols(self) -> tuple[str, ...]:
        return ("amqp",)
