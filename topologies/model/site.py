"""Says where everything is for one rendering: hosts and ports, and the names by which rendered files find the secrets.

A topology leaves hosts and ports open, and a runtime sets them. It passes system properties and secrets to brokers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Template

Version = tuple[int, ...]


def is_before(version: str, than: Version) -> bool:
    """Whether ``5.16.6`` is before (5, 17). Not if it does not begin with numbers, as '' does: it may be the newest."""
    numbers = re.match(r"\d+(\.\d+)*", version)
    return numbers is not None and tuple(map(int, numbers[0].split("."))) < than


@dataclass(frozen=True)
class Site:
    """``ports``: by (broker, protocol). ``hosts``: how brokers reach a broker, ``bind_host`` where none is given.

    ``link_addresses``: "host:port" by (link, broker that it calls) where a proxy is between the two.
    ``announced``: "host:port" by broker where members of a cluster tell another address than their own.
    ``loopback_interface``: where multicast goes when brokers listen on loopback; the system chooses it otherwise.
    ``version``: of the brokers; '' is the one that the images have.
    ``unset_defaults``: whether what nobody stated is left to the broker.
    """

    ports: Mapping[tuple[str, str], int]
    bind_host: str = "127.0.0.1"
    hosts: Mapping[str, str] = field(default_factory=dict)
    link_addresses: Mapping[tuple[str, str], str] = field(default_factory=dict)
    announced: Mapping[str, str] = field(default_factory=dict)
    loopback_interface: str = "lo"
    version: str = ""
    unset_defaults: bool = False

    def port(self, broker: str, protocol: str) -> int:
        """Raises KeyError that names the broker and the protocol."""
        try:
            return self.ports[broker, protocol]
        except KeyError:
            raise KeyError(f"the site has no port for {protocol} on broker {broker!r}") from None

    def address(self, broker: str, protocol: str) -> str:
        """``host:port`` by which other brokers reach this one."""
        return f"{self.hosts.get(broker, self.bind_host)}:{self.port(broker, protocol)}"

    def address_for(self, link: str, broker: str, protocol: str) -> str:
        """``host:port`` by which a link calls one of the brokers that it may call."""
        return self.link_addresses.get((link, broker)) or self.address(broker, protocol)


# The system properties (-Dname=value); values are paths, never secrets.
DATA_PROPERTY = "activemq.data"
"""Folder of this broker's own for its store, index and temporary files."""
STORE_PROPERTY = "brokerbench.store"
"""Passed to a standby only: the data folder of the broker that it stands by for, whose store and lock it shares."""
SECRETS_PROPERTY = "brokerbench.secrets"
"""Properties file (mode 600, outside the run folder) with `SECRET_KEYS`, and for TLS the passwords of the stores."""

KEYSTORE_PROPERTY = "brokerbench.keystore"
"""PKCS12 file with the certificate and key that a broker shows; passed where a broker needs TLS."""
TRUSTSTORE_PROPERTY = "brokerbench.truststore"
"""PKCS12 file with the authorities whose brokers a bridge believes; passed where a broker needs TLS."""

# The keys of the secrets file. Passwords: no '${', no backslash (a properties file would read it as an escape).
CLIENT_USERNAME = "brokerbench.client.username"
CLIENT_PASSWORD = "brokerbench.client.password"
BRIDGE_USERNAME = "brokerbench.bridge.username"
BRIDGE_PASSWORD = "brokerbench.bridge.password"
BRIDGE_USER = "brokerbench-bridge"
"""As whom brokers of our own log in to each other: so clients are told from them."""
SECRET_KEYS = (CLIENT_USERNAME, CLIENT_PASSWORD, BRIDGE_USERNAME, BRIDGE_PASSWORD)
KEYSTORE_PASSWORD = "brokerbench.keystore.password"
TRUSTSTORE_PASSWORD = "brokerbench.truststore.password"


SECRETS_FOLDER = "secrets"
"""Rendered files below it are templates: filled, they go into a folder that only their owner reads."""


class _Secrets(Template):
    braceidpattern = r"[a-z.]+"


def filled(template: str, secrets: Mapping[str, str]) -> str:
    """A template with its placeholders replaced. KeyError for one that ``secrets`` lacks."""
    return _Secrets(template).substitute(secrets)
