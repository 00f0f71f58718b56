"""Connects by OpenWire: ActiveMQ Classic's own Java client. Its failover transport follows the URI."""

from drivers.jvm.connector import JavaConnector
from drivers.jvm.java_protocol import JavaProtocol
from drivers.jvm.supported_options import OPENWIRE_OPTIONS
from topologies.model.trust import Trust

OPENWIRE = JavaProtocol("openwire", "OpenWire", ("tcp", "ssl"), load_uri=str, connection_uri=str)


class OpenWireConnector(JavaConnector):
    """Makes OpenWire clients; see `drivers.client.contract.ClientConnector`."""

    def __init__(self, trust: Trust | None = None) -> None:
        super().__init__(OPENWIRE, OPENWIRE_OPTIONS, trust)
