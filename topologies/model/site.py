"""Says where everything is for one rendering: hosts and ports. A topology leaves them open, and a runtime sets them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

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
