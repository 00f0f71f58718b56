"""How does a client speak Core? By Artemis' own Java client, whose reconnection and failover follow the URI."""

from drivers.jvm.connector import JavaConnector
from drivers.jvm.core_uri import uri_of_a_link, uri_of_a_load
from drivers.jvm.speech import Speech
from topologies.trust import Trust

CORE = Speech("core", "Core", ("tcp", "ssl"), of_a_load=uri_of_a_load, of_a_link=uri_of_a_link)


class CoreConnector(JavaConnector):
    """Opens Core connections; see `drivers.contract.Connector`."""

    def __init__(self, trust: Trust | None = None) -> None:
        super().__init__(CORE, trust)
