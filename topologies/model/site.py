"""The hosts and ports of one rendering, and the names that rendered files use for the secrets.

A topology has no hosts or ports: a runtime assigns them. It passes system properties and secrets to the brokers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Template

Version = tuple[int, ...]


def is_before(version: str, than: Version) -> bool:
    """Return whether e.g. ``5.16.6`` is before (5, 17). False if it begins with no number: it may be the newest."""
    numbers = re.match(r"\d+(\.\d+)*", version)
    return numbers is not None and tuple(map(int, numbers[0].split("."))) < than


@dataclass(frozen=True)
class Site:
    """The addresses of one rendering.

    ``ports``: by (broker, protocol). ``hosts``: the host at which brokers reach a broker; the default is ``bind_host``.
    ``link_addresses``: "host:port" by (link, called broker) for a proxy between the two.
    ``announced``: "host:port" by broker for cluster members that announce a different address.
    ``loopback_interface``: the interface for multicast if brokers listen on loopback; otherwise the system chooses it.
    ``version``: version of the brokers; '' is the version in the images.
    ``unset_defaults``: whether fields that are not set explicitly are left to the broker's defaults.
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
        """Return the port. Raises KeyError, which names the broker and the protocol."""
        try:
            return self.ports[broker, protocol]
        except KeyError:
            raise KeyError(f"the site has no port for {protocol} on broker {broker!r}") from None

    def address(self, broker: str, protocol: str) -> str:
        """Return ``host:port`` at which other brokers reach this one."""
        return f"{self.hosts.get(broker, self.bind_host)}:{self.port(broker, protocol)}"

    def address_for(self, link: str, broker: str, protocol: str) -> str:
        """Return ``host:port`` at which a link connects to one of the brokers that it may call."""
        return self.link_addresses.get((link, broker)) or self.address(broker, protocol)


# System properties (-Dname=value); the values are paths, never secrets.
DATA_PROPERTY = "activemq.data"
"""A separate folder per broker for its store, index and temporary files."""
STORE_PROPERTY = "brokerbench.store"
"""Passed only to a standby: the active broker's data folder, as they share the store and the lock."""
SECRETS_PROPERTY = "brokerbench.secrets"
"""Properties file (mode 600, outside the run folder) with `SECRET_KEYS` and, for TLS, the passwords of the stores."""

KEYSTORE_PROPERTY = "brokerbench.keystore"
"""PKCS12 file with the broker's certificate and key; passed if a broker needs TLS."""
TRUSTSTORE_PROPERTY = "brokerbench.truststore"
"""PKCS12 file with the authorities that bridges trust; passed if a broker needs TLS."""

# The keys of the secrets file. Passwords have no '${' and no backslash (an escape in a properties file).
CLIENT_USERNAME = "brokerbench.client.username"
CLIENT_PASSWORD = "brokerbench.client.password"
BRIDGE_USERNAME = "brokerbench.bridge.username"
BRIDGE_PASSWORD = "brokerbench.bridge.password"
BRIDGE_USER = "brokerbench-bridge"
"""The user name of brokers that connect to each other, to distinguish them from clients."""
SECRET_KEYS = (CLIENT_USERNAME, CLIENT_PASSWORD, BRIDGE_USERNAME, BRIDGE_PASSWORD)
KEYSTORE_PASSWORD = "brokerbench.keystore.password"
TRUSTSTORE_PASSWORD = "brokerbench.truststore.password"


SECRETS_FOLDER = "secrets"
"""Rendered files in this folder are templates: once filled, they go into a folder that only their owner can read."""


class _Secrets(Template):
    braceidpattern = r"[A-Za-z0-9_.-]+"


def fill_placeholders(template: str, secrets: Mapping[str, str]) -> str:
    """Fill the placeholders of a template. Raises KeyError for a placeholder that ``secrets`` lacks."""
    return _Secrets(template).substitute(secrets)
