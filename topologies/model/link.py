"""Links between brokers: one broker opens a link, and it carries messages one way or both ways.

Each product defines further kinds. `Link` has the fields that all kinds share, and that paths, proxies and proofs use.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from topologies.model.broker import AnyBroker
from topologies.model.explicit_fields import replace_explicitly
from topologies.model.impairment import Impairment
from topologies.model.users import login_problems, user_at
from topologies.model.validity import LONGEST_NAME_OF_A_LINK, limit, require_name, require_rules


@dataclass(frozen=True)
class Link:
    """A link between two brokers.

    ``message_ttl``: the number of links that a message may cross. ``consumer_ttl``: the number of links that demand may
    cross. -1: no limit.
    """

    kind: ClassVar[str] = "link"
    carried_by: ClassVar[str] = "openwire"  # the protocol in which the link connects to brokers
    on_demand: ClassVar[bool] = True  # whether it carries only messages with consumers at its other end

    opened_by: AnyBroker
    to: AnyBroker
    name: str = ""  # default: "broker-1-to-broker-2"
    duplex: bool = False
    message_ttl: int = limit(1)
    consumer_ttl: int = limit(1)
    user_name: str = ""  # a user in the brokers' ``users``; empty: the user of all links
    impairment: Impairment | None = None  # None: no proxy

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", f"{self.opened_by.name}-to-{self.to.name}")
        require_name("link", self.name, LONGEST_NAME_OF_A_LINK)
        if self.user_name:
            require_name(f"link {self.name!r}: user_name", self.user_name)
        require_rules(f"link {self.name!r}", self)

    @property
    def directions(self) -> tuple[tuple[str, str], ...]:
        """(from, to) by broker name, for each direction that messages can take."""
        forth = (self.opened_by.name, self.to.name)
        return (forth, forth[::-1]) if self.duplex else (forth,)

    @property
    def joins_regions(self) -> bool:
        """Whether its two brokers are in different regions."""
        return self.opened_by.region != self.to.region

    @property
    def cluster_name(self) -> str:
        """The name of the cluster whose members this link joins; '' if it is not part of a cluster.

        Each member connects to the other, at the single address that a member announces to all.
        """
        return ""

    @property
    def limits(self) -> dict[str, int]:
        """Its limits by field name: ``message_ttl``, ``consumer_ttl`` or ``max_hops``."""
        return {"message_ttl": self.message_ttl, "consumer_ttl": self.consumer_ttl}

    def ttl_field(self, limit: str) -> str:
        """Return the field that users set to change one of the `limits`."""
        return limit

    @property
    def logs_in_at(self) -> tuple[AnyBroker, ...]:
        """The brokers that check its user and password."""
        return (self.to,)

    @property
    def login_problems(self) -> tuple[str, ...]:
        """Why brokers reject its login, according to their users, as one sentence each; empty if none does."""
        if not self.user_name:
            return ()
        ends = ((broker.name, broker.link_users) for broker in self.logs_in_at)
        return tuple(login_problems(self.user_name, (self.opened_by.name, self.opened_by.link_users), ends))

    @property
    def permission_limits(self) -> tuple[str, ...]:
        """The limited permissions of its user, as ``sink: write: queue://orders``; empty if none is limited."""
        users = ((broker.name, user_at(broker.link_users, self.user_name)) for broker in self.logs_in_at)
        return tuple(f"{broker}: {limit}" for broker, user in users if user for limit in user.limits)

    @property
    def uses_tls(self) -> bool:
        """Whether its opener connects with TLS."""
        return False

    @property
    def destination_rules(self) -> tuple[str, ...]:
        """The settings that choose which destinations the link carries, as ``field: value``; empty if none is set."""
        return ()

    @property
    def starts_by_itself(self) -> bool:
        """Whether its opener connects at once; otherwise management starts the link."""
        return True

    @property
    def connector(self) -> str:
        """Its name on the broker that opens it. Links of one opener with the same name start and stop together."""
        return self.name

    @property
    def declares_retries(self) -> bool:
        """Whether it has settings of its own for when to connect again."""
        return False

    @property
    def is_mirror(self) -> bool:
        """Whether its end mirrors everything that happens at its opener."""
        return False

    @property
    def plain_protocol(self) -> str:
        """The protocol for probing its end without TLS and HTTP; '' if there is none."""
        return self.carried_by

    def called(self, brokers: Iterable[AnyBroker]) -> tuple[AnyBroker, ...]:
        """Return the ``brokers`` that the link may connect to, its end first."""
        return (self.to,)

    def between(self, opened_by: AnyBroker, to: AnyBroker) -> "Link":
        """Return a link with the same settings between two other brokers."""
        return replace_explicitly(self, name="", opened_by=opened_by, to=to)
