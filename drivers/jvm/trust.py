"""Finds the brokers of a list with certificates that a Java client does not trust, which Java's failover never reports.

A Java client treats a failed handshake like an unreachable broker, and tries forever. RecordingTrustManager.java, our
code in the JVM, records for each attempt whether the certificate was the cause.
"""

from collections.abc import Iterable, Iterator, Mapping

from drivers.contract import DriverError, Untrusted
from drivers.failover.uri import ServerUri
from drivers.tls import handshake_problem
from topologies.model.trust import Trust

HANDSHAKE_TIMEOUT_S = 5.0
DOUBTED = "its certificate is not to be trusted"  # beginning of such an attempt's reason (ClientState.java)


class CertificateDoubts:
    """The brokers of a list whose last attempt failed because of the certificate."""

    def __init__(self, servers: Iterable[ServerUri], brokers: Mapping[str, str]) -> None:
        self._brokers = brokers
        self._last = {server.address: "" for server in servers}

    def attempted(self, address: str, reason: str) -> None:
        """Record an attempt. ``reason``: why it failed; empty if it did not."""
        self._last[address] = reason if reason.startswith(DOUBTED) else ""

    def of_all(self) -> bool:
        """Whether all brokers are doubted."""
        return all(self._last.values())

    def describe(self) -> str:
        """Return the doubts as the end of an error."""
        doubts = [f"broker {self._brokers.get(at, '')} at {at}: {doubt}" for at, doubt in self._last.items() if doubt]
        step = "renew the certificate, or pass its authority with --ca-file"
        return "".join(f"; {sentence}" for sentence in (*doubts, step)) if doubts else ""


def untrusted_error(servers: Iterable[ServerUri], brokers: Mapping[str, str], trusted_pem: str) -> Untrusted | None:
    """Return the error for the first untrusted broker, in every protocol's words; ``brokers``: names by address.

    Only certificates count: a broker that cannot be reached, or does not speak TLS, may do so later.
    """
    doubts = failed_handshakes(servers, brokers, trusted_pem)
    return next((doubt for doubt in doubts if isinstance(doubt, Untrusted)), None)


def failed_handshakes(
    servers: Iterable[ServerUri], brokers: Mapping[str, str], trusted_pem: str
) -> Iterator[DriverError]:
    """Yield why TLS fails with brokers that can be reached: Java's clients report it unclearly."""
    for server in servers:
        if "ssl" in server.scheme and server.port is not None:
            broker_at = f"broker {brokers.get(server.address, '')} at {server.address}"
            if doubt := handshake_problem(broker_at, server.host, server.port, Trust(trusted_pem), HANDSHAKE_TIMEOUT_S):
                yield doubt
