"""Holds the fields of any product's brokers: name, region, active broker of a standby, and protocols."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from topologies.model.users import LinkUser
from topologies.model.validity import require_name, require_rules

GIB = 1024**3
MIB = 1024**2


class ProcessSettings(Protocol):
    """The settings of a broker's process, as a dataclass. ``section``: their field in a topology file."""

    section: ClassVar[str]

    @property
    def options(self) -> tuple[str, ...]:
        """Options of its command line, without those of further settings."""

    @property
    def arguments(self) -> list[str]:
        """All settings as arguments of its command line."""


@dataclass(frozen=True)
class AnyBroker:
    """A broker with the fields that all kinds share. Each kind adds further configuration."""

    has_agent: ClassVar[bool] = True  # a management interface, for queries about the broker
    keeps_messages: ClassVar[bool] = True
    listener_called: ClassVar[str] = ""  # what to add to the broker so that it speaks another protocol

    name: str
    region: str = ""
    # Name of its active broker: the standby shares that broker's store, waits for the lock on it, then opens its links.
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
    def own_name(self) -> str:
        """The name in the broker's configuration, by which other brokers and its MBeans know it."""
        return self.name

    @property
    def active(self) -> str:
        """The broker that serves while both are up: the active broker's name, or this broker's name."""
        return self.standby_of or self.name

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols it listens for: one port each, in this order."""
        return ()

    @property
    def spoken(self) -> tuple[str, ...]:
        """The protocols its clients may use, each on a separate port or all on one."""
        return self.protocols

    @property
    def dead_letter_queues(self) -> tuple[str, ...]:
        """Queues for undeliverable messages. Queues for single destinations have names with these prefixes."""
        return ()

    @property
    def expiry_queues(self) -> tuple[str, ...]:
        """Queues that receive only expired messages."""
        return ()

    @property
    def removes_unused_queues_after_s(self) -> float:
        """Seconds until it has removed an empty queue without consumers; 0 if such queues stay."""
        return 0.0

    @property
    def longest_delay_s(self) -> float:
        """The longest time for which it holds a message back on purpose, although a consumer could take it."""
        return 0.0

    @property
    def store(self) -> object | None:
        """Its message store; None for memory only. Both brokers of a pair have the same store."""
        return None

    @property
    def link_users(self) -> tuple[LinkUser, ...]:
        """The users that other brokers' links may log in as, in addition to the user of all links."""
        return ()

    @property
    def process(self) -> ProcessSettings | None:
        """The settings of its process; None if it has none."""
        return None

    @property
    def copies_store(self) -> bool:
        """Whether it and its standby have separate stores with replication, instead of a shared store."""
        return False

    def client_scheme(self, protocol: str) -> str:
        """Return the scheme of clients' URIs. Raises KeyError for a protocol that the broker does not speak."""
        self.listener(protocol)
        return "tcp" if protocol in ("openwire", "core") else protocol

    def largest_frame_bytes(self, protocol: str) -> int | None:
        """Return the message size at which the broker closes a client's connection; None without a limit."""
        return None

    def require_spoken(self, protocol: str) -> None:
        """Raise KeyError, which lists the valid protocols, if clients cannot use ``protocol``."""
        if protocol not in self.spoken:
            protocols = ", ".join(self.spoken)
            raise KeyError(f"broker {self.name!r} does not support {protocol!r} to clients; it supports {protocols}")

    def listener(self, protocol: str) -> str:
        """Return the entry of `protocols` with the port for clients of this protocol.

        Raises KeyError, which lists the valid protocols.
        """
        if protocol in self.protocols:
            return protocol
        raise KeyError(f"broker {self.name!r} does not support {protocol!r}; it supports {', '.join(self.protocols)}")
