"""Makes the clients of any Java protocol: the brokers' own Java clients, in the JVM of this process.

They use the Java client's own failover, and keep their schedules in the JVM (`drivers.jvm.client`).
"""

import ssl
from typing import Unpack

from drivers.client.contract import ClientSettings
from drivers.contract import Refused
from drivers.jvm.client import JavaClient
from drivers.jvm.event_buffers import EventBuffers
from drivers.jvm.hub import JavaHub
from drivers.jvm.java_protocol import JavaProtocol
from records.tables.schemas import CLIENTS_PER_PROCESS
from topologies.model.trust import Trust

SCHEMES = ("tcp", "ssl")


class JavaConnector:
    """Makes clients of one protocol; see `drivers.client.contract.ClientConnector`."""

    def __init__(self, protocol: JavaProtocol, trust: Trust | None = None) -> None:
        self.protocol = protocol.name
        self.supported_options = protocol.supported_options
        self._protocol = protocol
        self._trusted_pem = trusted_pem(trust or Trust())
        self._buffers: EventBuffers | None = None

    def client(self, **settings: Unpack[ClientSettings]) -> JavaClient:
        """Return a client with its own failover; see `drivers.client.contract.ClientConnector`."""
        uri, recorder, brokers = settings["uri"], settings["recorder"], settings["brokers"]

        def buffers(java_hub: JavaHub) -> EventBuffers:
            if self._buffers is None or self._buffers.recorder is not recorder:
                process_index = settings["number"] // CLIENTS_PER_PROCESS
                self._buffers = EventBuffers(java_hub, recorder, brokers, settings["statistics"], process_index)
            return self._buffers

        for server in uri.servers:
            if server.scheme not in SCHEMES:
                raise Refused(f"{server} is not a {self._protocol.display_name} URI; write tcp://HOST:PORT or ssl://…")
        self.supported_options.refuse_unusable(uri, brokers)
        return JavaClient(
            number=settings["number"],
            group=settings["group"],
            uri=uri,
            brokers=brokers,
            credentials=settings["credentials"],
            recorder=recorder,
            buffers=buffers,
            protocol=self._protocol,
            trusted_pem=self._trusted_pem,
            client_id=settings.get("client_id", ""),
            tag=settings.get("tag", ""),
        )


def trusted_pem(trust: Trust) -> str:
    """Return the trusted certificates as text: the given ones, or the machine's trusted certificates (empty:
    Java's)."""
    if trust.pem:
        return trust.pem
    return "".join(ssl.DER_cert_to_PEM_cert(der) for der in trust.context().get_ca_certs(binary_form=True))
