"""The management contract of a broker product: the operations on its brokers, and their results.

A product implements the operations by its own means. They receive the product's `Agent`, a connection to one broker,
and raise ManagementFailed if the broker does not answer.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Generic, Protocol, TypeVar


class ManagementFailed(Exception):
    """A management request failed: names the broker, the object and the reason. Never contains a password."""


class Agent(Protocol):
    """A connection to the management interface of one broker. Not thread-safe."""

    broker: str
    """The broker's name in the topology."""

    @property
    def calls_itself(self) -> str:
        """The broker's own name."""

    def close(self) -> None: ...


AgentT = TypeVar("AgentT", bound=Agent)
AgentT_contra = TypeVar("AgentT_contra", bound=Agent, contravariant=True)


@dataclass(frozen=True)
class Bridge:
    """One end of a link, from its broker's data. The far end of a duplex link does not know the link's name."""

    connector: str  # the link's name; '#0', '#1', … at the far end of a duplex link
    remote_broker: str
    created_by_duplex: bool
    counters: Mapping[str, int]  # by metric name: totals since the bridge came up, and backlogs


@dataclass(frozen=True)
class Figures:
    """A broker's sampled figures. Counters are totals since its start; everything is an integer."""

    broker: Mapping[str, int]  # by metric name
    queues: Mapping[str, Mapping[str, int]]  # by queue and metric
    bridges: tuple[Bridge, ...]
    clients: Mapping[str, int]  # connections by transport connector, without bridges
    subscriptions: Mapping[str, int] = field(default_factory=dict)  # stored messages by `DurableSubscription.queue`
    stands_by: bool = False  # as in `BrokerQueries.stands_by`


class BrokerQueries(Protocol[AgentT_contra]):
    """Queries to one broker of a topology. Calls raise ManagementFailed if the broker does not answer."""

    @property
    def duplex(self) -> Mapping[tuple[str, str], str]:
        """(opener, far end) to link, for products whose far end does not know the link's name."""

    def serves(self, agent: AgentT_contra) -> bool:
        """Return whether it has started everything that clients connect to."""

    def stands_by(self, agent: AgentT_contra) -> bool:
        """Return whether it waits as a standby and accepts no clients. It may also be true while a broker starts."""

    def figures(self, agent: AgentT_contra) -> Figures: ...
    def names(self, agent: AgentT_contra) -> list[str]:
        """Return the names of the brokers behind an agent; one of them should be this broker."""

    def version(self, agent: AgentT_contra) -> str:
        """Return the broker's version; '' if it has no management interface."""

    def connected(self, agent: AgentT_contra) -> frozenset[str]:
        """Return an identifier for each client connection; connections of other brokers' links are left out."""

    def disconnect(self, agent: AgentT_contra, connections: Iterable[str]) -> None:
        """End these connections from `connected`. Connections that are already closed are ignored."""


@dataclass(frozen=True)
class QueuedMessage:
    """A message on a queue: the beginning of the body, as far as management returns it, and the send time."""

    body: bytes
    sent_ms: int


@dataclass(frozen=True)
class DurableSubscription:
    """A durable subscription at a broker, of a client or of another broker's link.

    ``active``: a client is using it now. ``waiting``: messages that the broker stores for it.
    """

    client_id: str
    name: str
    topic: str
    selector: str
    active: bool
    waiting: int

    @property
    def queue(self) -> str:
        """The queue name for its leftover messages. No client's queue has this name by accident."""
        return f"{self.client_id}.{self.name}"


@dataclass(frozen=True, order=True)
class BrokerConsumer:
    """A consumer on a queue.

    ``client_id``: chosen by the client, or created by the broker. ``address``: the client's address, such as
    ``tcp://10.0.0.7:51112``; empty if the broker does not report it.
    """

    queue: str
    client_id: str
    address: str

    def __str__(self) -> str:
        """Return text for a sentence. The client id is escaped, because clients choose it."""
        return f"{self.client_id!a}{f' at {self.address}' if self.address else ''}"


@dataclass(frozen=True)
class QueueUsers(Generic[AgentT]):
    """Queue queries for the brokers of a product. Calls raise ManagementFailed.

    ``consumers``: the consumers on the given queues, through a broker's agent. Its last argument has the names of all
    brokers in the topology; the consumers of links between them are left out. ``empty``: removes all messages from a
    queue.
    """

    consumers: Callable[[AgentT, Collection[str], Collection[str]], list[BrokerConsumer]]
    empty: Callable[[AgentT, str], None]


@dataclass(frozen=True)
class StoreLimit(Generic[AgentT]):
    """How to change the store limit of a running broker. All functions raise ManagementFailed.

    ``lower``: set the limit below the current content; returns the previous limit in bytes. ``restore``: set that limit
    again. ``percent``: the used percentage of the limit; at 100 or more the store is full.
    """

    lower: Callable[[AgentT], int]
    restore: Callable[[AgentT, int], None]
    percent: Callable[[AgentT], int]


class Outcome(Enum):
    CONNECTED = auto()
    FAILED = auto()
    UNKNOWN = auto()


@dataclass(frozen=True)
class LinkAttempt:
    """An attempt of a link's opener to connect: its Unix time, and its result; '' if the log does not have it."""

    at_ns: int
    result: str = ""
    outcome: Outcome = Outcome.UNKNOWN


@dataclass(frozen=True)
class LinkLog:
    """What the opener of a link logs about it.

    ``give_up_pattern``: a pattern, by the link's names in the run and the addresses that it calls, of the text that the
    opener logs once it makes no more attempts. ``connected_pattern``: the same for the text that it logs once the link
    is up. ``broker_starts``: a pattern of the text that each start of the broker logs. ``advice``: how to avoid that
    the opener gives up. ``addresses``: each ``host:port`` that a link calls, by the rendered files, its opener and its
    name; None if the log names links. ``attempts``: the attempts to connect to addresses, from the lines of a log; None
    if the log does not have them.
    """

    give_up_pattern: Callable[[Sequence[str], Sequence[str]], re.Pattern[str]]
    connected_pattern: Callable[[Sequence[str], Sequence[str]], re.Pattern[str]]
    broker_starts: re.Pattern[str]
    advice: str
    addresses: Callable[[Mapping[str, str], str, str], tuple[str, ...]] | None = None
    attempts: Callable[[Sequence[str], Sequence[str]], list[LinkAttempt]] | None = None
