"""Holds a broker's addresses and credentials: the values that pass from a runtime to drivers and management."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Endpoint:
    """Where a client reaches one broker by one protocol: ``stomp://127.0.0.1:40123``, any URI options included."""

    broker: str
    protocol: str  # openwire | stomp | amqp | core | memory
    uri: str


@dataclass(frozen=True)
class ManagementEndpoint:
    """The Jolokia agent of one broker: ``http://127.0.0.1:40124/jolokia/``.

    ``ca_file``: certificates to trust for https; '' for those that this machine trusts. ``calls_itself``: the name in
    the broker's MBeans, if it is not ``broker``, the name in the topology.
    """

    broker: str
    url: str
    username: str
    password: str = field(repr=False)
    ca_file: str = ""
    calls_itself: str = ""


@dataclass(frozen=True)
class Credentials:
    username: str
    password: str = field(repr=False)
