"""Which broker of a list shows a certificate that its clients cannot believe? Java's own failover never tells.

To a Java client a failed handshake is one more broker that cannot be reached, and it tries for ever. Our part of the
JVM (Believing.java) says of each attempt whether it was that.
"""

from collections.abc import Iterable, Mapping

from drivers.contract import Untrusted
from drivers.failover import ServerUri
from drivers.tls import doubted
from topologies.trust import Trust

HANDSHAKE_TIMEOUT_S = 5.0
DOUBTED = "its certificate is not to be trusted"  # so the reason of such an attempt begins (Standing.java)


class Doubts:
    """Which brokers of a list were last attempted in vain because of their certificates."""

    def __init__(self, servers: Iterable[ServerUri], brokers: Mapping[str, str]) -> None:
        self._brokers = brokers
        self._last = {server.address: "" for server in servers}

    def attempted(self, address: str, reason: str) -> None:
        """``reason``: why in vain; '' if it was not."""
        self._last[address] = reason if reason.startswith(DOUBTED) else ""

    def of_all(self) -> bool:
        """Whether there is nobody else."""
        return all(self._last.values())

    def told(self) -> str:
        """To be put behind an error."""
        told = [f"broker {self._brokers.get(at, '')} at {at}: {doubt}" for at, doubt in self._last.items() if doubt]
        step = "renew such a certificate, or name its authority by --ca-file"
        return "".join(f"; {each}" for each in (*told, step)) if told else ""


def not_believed(servers: Iterable[ServerUri], brokers: Mapping[str, str], trusted_pem: str) -> Untrusted | None:
    """The first one's, in the words of every protocol; ``brokers``: names by address.

    Only a certificate counts: who cannot be reached, or speaks no TLS, may do so later.
    """
    for server in servers:
        if "ssl" in server.scheme and server.port is not None:
            who = f"broker {brokers.get(server.address, '')} at {server.address}"
            doubt = doubted(who, server.host, server.port, Trust(trusted_pem), HANDSHAKE_TIMEOUT_S)
            if isinstance(doubt, Untrusted):
                return doubt
    return None
