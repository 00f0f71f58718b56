"""A broker's addresses and credentials: the values that pass from a runtime to drivers and management."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Endpoint:
    """A broker's address for clients of one protocol: ``stomp://127.0.0.1:40123``, including any URI options."""

    broker: str
    protocol: str  # openwire | stomp | amqp | core | memory
    uri: str


@dataclass(frozen=True)
class ManagementEndpoint:
    """The management interface of a broker, such as its Jolokia agent: ``http://127.0.0.1:40124/jolokia/``.

    ``ca_file``: certificates to trust for https; '' for this machine's trusted certificates. ``calls_itself``: the
    broker's own name, if it differs from ``broker``, the name in the topology.
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
