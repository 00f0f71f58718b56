"""How does a client speak OpenWire? By ActiveMQ Classic's own Java client, whose failover transport follows the URI."""

from drivers.jvm.connector import JavaConnector
from drivers.jvm.speech import Speech
from topologies.trust import Trust

OPENWIRE = Speech("openwire", "OpenWire", ("tcp", "ssl"), of_a_load=str, of_a_link=str)


class OpenWireConnector(JavaConnector):
    """Opens OpenWire connections; see `drivers.contract.Connector`."""

    def __init__(self, trust: Trust | None = None) -> None:
        super().__init__(OPENWIRE, trust)
