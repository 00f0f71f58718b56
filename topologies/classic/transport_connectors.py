"""Models a Classic broker's listening ports and its announcements to clients: values of a ``transportConnector``."""

from dataclasses import dataclass, field
from typing import ClassVar

from topologies.model.validity import (
    TopologyInvalid,
    choice,
    number,
    plain,
    require_choice,
    require_name,
    require_plain,
    require_rules,
)

SCHEMES = {"openwire": "tcp", "stomp": "stomp", "amqp": "amqp", "mqtt": "mqtt"}
"""The URI scheme of a connector, by the protocol's name in endpoints."""
TRANSPORTS = ("tcp", "nio", "ssl", "nio+ssl")
"""Transports for any protocol; ``nio``: selector threads instead of a thread per connection."""
OPENWIRE_TRANSPORTS = (*TRANSPORTS, "http", "https", "auto", "auto+nio", "auto+ssl", "auto+nio+ssl")
"""``http``: OpenWire as XML, for networks that pass only HTTP; ``auto``: one port that detects the protocol."""


@dataclass(frozen=True)
class TransportConnector:
    """A listening port for one protocol. The renderer's site has the port number."""

    KEY: ClassVar[tuple[str, ...]] = ("protocol",)

    protocol: str = choice(*SCHEMES)
    name: str = ""  # default: the protocol's
    transport: str = "tcp"  # one of `TRANSPORTS`; openwire: of `OPENWIRE_TRANSPORTS`
    # Classic's default is no limit; its shipped configuration has 1000.
    maximum_connections: int = number(100_000, least=1)
    max_frame_size_bytes: int = number(104_857_600, least=1)
    # openwire: silence after which a connection or bridge is closed; 0: never
    max_inactivity_ms: int = number(30_000, least=0)
    # stomp: how many agreed heartbeat intervals may pass without traffic. Classic's 1.0 leaves a busy machine no slack.
    heartbeat_grace_multiplier: float = number(2.0, least=1, most=1000)
    # amqp: jms converts each message for clients of the other protocols too, and keeps a binary body binary.
    transformer: str = choice("jms", "native", "raw")
    idle_timeout_ms: int = number(30_000, least=0)  # amqp: silence after which a client is disconnected; 0: never
    producer_credit: int = number(1_000, least=1)  # amqp: messages that a producer may send ahead
    # Data on the network for OpenWire clients; without update_cluster_clients they get none.
    update_cluster_clients: bool = False
    rebalance_cluster_clients: bool = False
    update_cluster_clients_on_remove: bool = False
    update_cluster_filter: str = plain()  # comma-separated patterns of broker names; empty: all
    # The host in the addresses that the broker announces to clients.
    published_host: str = choice("default", "ipaddress", "hostname", "fqdn", default="ipaddress")
    audit_network_producers: bool = False  # drop messages that a bridge forwards a second time
    enable_status_monitor: bool = False
    disable_async_dispatch: bool = False
    allow_link_stealing: bool = False  # a second connection with the same client id closes the first
    warn_on_remote_close: bool = False
    maximum_consumers_per_connection: int = number(2_147_483_647, least=1)
    maximum_producers_per_connection: int = number(2_147_483_647, least=1)
    transport_options: tuple[tuple[str, str], ...] = field(default=())  # ("transport.soTimeout", "0")

    def __post_init__(self) -> None:
        subject = f"transport connector {self.name or self.protocol!r}"
        require_rules(subject, self)
        choices = OPENWIRE_TRANSPORTS if self.protocol == "openwire" else TRANSPORTS
        require_choice(subject, choices, transport=self.transport)
        if not self.name:
            object.__setattr__(self, "name", self.protocol)
        require_name("transport connector", self.name)
        self._require_telling_clients()
        for option, value in self.transport_options:
            require_name(f"{subject}: transport option", option)
            require_plain(subject, **{option: value})

    def _require_telling_clients(self) -> None:
        """Require ``update_cluster_clients`` for the two settings that have no effect without it.

        The broker would send clients an empty list.
        """
        if (
            self.rebalance_cluster_clients or self.update_cluster_clients_on_remove
        ) and not self.update_cluster_clients:
            raise TopologyInvalid(
                f"transport connector {self.name!r}: rebalance_cluster_clients and update_cluster_clients_on_remove"
                " have no effect without update_cluster_clients; set it too"
            )

    @property
    def scheme(self) -> str:
        """The scheme of the listener: ``tcp``, ``nio+ssl``, ``stomp``, ``stomp+nio``, …"""
        if self.protocol == "openwire":
            return self.transport
        plain = SCHEMES[self.protocol]
        return plain if self.transport == "tcp" else f"{plain}+{self.transport}"

    @property
    def called_by(self) -> str:
        """The scheme for another broker's bridge, which does not depend on the listener's nio or auto."""
        if self.is_http:
            return self.transport
        return "ssl" if self.is_secure else "tcp"

    @property
    def called_by_clients(self) -> str:
        """The scheme in the URIs of clients: ``tcp``, ``ssl``, ``http``, ``stomp``, ``stomp+ssl``, ``amqps``, …"""
        if self.protocol == "openwire":
            return self.called_by
        secure = "amqps" if self.protocol == "amqp" else f"{SCHEMES[self.protocol]}+ssl"
        return secure if self.is_secure else SCHEMES[self.protocol]

    @property
    def is_secure(self) -> bool:
        return self.transport == "https" or self.transport.endswith("ssl")

    @property
    def is_http(self) -> bool:
        return self.transport in ("http", "https")


DEFAULT_CONNECTORS = (TransportConnector("openwire"), TransportConnector("stomp"), TransportConnector("amqp"))
