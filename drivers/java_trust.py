"""Which broker of a list shows a certificate that its clients cannot believe? Java's own failover never tells.

To a Java client a failed handshake is one more broker that cannot be reached, and it tries for ever.
"""

from collections.abc import Iterable, Mapping

from drivers.contract import Refused
from drivers.failover import ServerUri
from drivers.tls import doubted
from topologies.trust import Trust

HANDSHAKE_TIMEOUT_S = 5.0


def not_believed(servers: Iterable[ServerUri], brokers: Mapping[str, str], trusted_pem: str) -> Refused | None:
    """The first one's, in the words of every protocol; ``brokers``: names by address.

    Only a certificate counts: who cannot be reached, or speaks no TLS, may do so later.
    """
    for server in servers:
        if "ssl" in server.scheme and server.port is not None:
            who = f"broker {brokers.get(server.address, '')} at {server.address}"
            doubt = doubted(who, server.host, server.port, Trust(trusted_pem), HANDSHAKE_TIMEOUT_S)
            if isinstance(doubt, Refused):
                return doubt
    return None
