"""Connects by Core: Artemis' own Java client. Its reconnection and failover follow the URI."""

from drivers.jvm.connector import JavaConnector
from drivers.jvm.core_uri import connection_uri, load_uri
from drivers.jvm.java_protocol import JavaProtocol
from drivers.jvm.supported_options import CORE_OPTIONS
from topologies.model.trust import Trust

CORE = JavaProtocol("core", "Core", ("tcp", "ssl"), load_uri=load_uri, connection_uri=connection_uri)


class CoreConnector(JavaConnector):
    """Makes Core clients; see `drivers.client.contract.ClientConnector`."""

    def __init__(self, trust: Trust | None = None) -> None:
        super().__init__(CORE, CORE_OPTIONS, trust)
