"""Holds the fields of brokers of every product: name, region, active broker of a standby, and protocols."""

from dataclasses import dataclass
from typing import ClassVar

from topologies.model.jvm import Jvm
from topologies.model.validity import require_name, require_rules

GIB = 1024**3
MIB = 1024**2


@dataclass(frozen=True)
class AnyBroker:
    """The fields of brokers of every kind. Each kind adds its own configuration."""

    has_agent: ClassVar[bool] = True  # a Jolokia agent, by which it can be asked about itself
    keeps_messages: ClassVar[bool] = True
    listener_called: ClassVar[str] = ""  # what is added to it so that it speaks one protocol more

    name: str
    region: str = ""
    # Name of the broker it stands by for: it shares that one's store, waits for the lock on it, then opens its links.
    standby_of: str = ""

    def __post_init__(self) -> None:
        subject = f"broker {self.name!r}"
        require_name("broker", self.name)
        require_rules(subject, self)
        if self.region:
            require_name(f"{subject}: region", self.region)
        if self.standby_of:
            require_name(f"{subject}: standby_of", self.standby_of)

    @property
    def active(self) -> str:
        """The name of the broker that serves while both are up: its active's, or its own."""
        return self.standby_of or self.name

    @property
    def protocols(self) -> tuple[str, ...]:
        """What it speaks: one listening port each, in this order."""
        return ()

    @property
    def spoken(self) -> tuple[str, ...]:
        """The protocols of its clients, each on a port of its own or all on one."""
        return self.protocols

    @property
    def dead_letter_queues(self) -> tuple[str, ...]:
        """Where messages go that cannot be delivered. Queues of one destination each have names that begin so."""
        return ()

    @property
    def expiry_queues(self) -> tuple[str, ...]:
        """Where only messages go whose time to live is over."""
        return ()

    @property
    def store(self) -> object | None:
        """Its message store; None for memory only. A pair of brokers has the same."""
        return None

    @property
    def java(self) -> Jvm:
        """Its Java virtual machine, if it runs in one."""
        return Jvm()

    @property
    def copies_store(self) -> bool:
        """Whether it and its standby have a store each, copied from one to the other, instead of sharing one."""
        return False

    def client_scheme(self, protocol: str) -> str:
        """What clients' URIs begin with. Raises KeyError for a protocol that it does not speak."""
        self.listener(protocol)
        return "tcp" if protocol in ("openwire", "core") else protocol

    def largest_frame_bytes(self, protocol: str) -> int | None:
        """The size of a message at which it ends the connection of a client; None where it has no such limit."""
        return None

    def require_spoken(self, protocol: str) -> None:
        """Raises KeyError for a protocol that clients cannot use; it names those that they can."""
        if protocol not in self.spoken:
            protocols = ", ".join(self.spoken)
            raise KeyError(f"broker {self.name!r} does not speak {protocol!r} to clients; it speaks {protocols}")

    def listener(self, protocol: str) -> str:
        """The entry of `protocols` with the port for clients of this protocol.

        Raises KeyError, which names the existing ones.
        """
        if protocol in self.protocols:
            return protocol
        raise KeyError(f"broker {self.name!r} does not speak {protocol!r}; it speaks {', '.join(self.protocols)}")
