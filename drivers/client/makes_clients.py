"""Makes the clients of a protocol that Python reconnects: the common part of these protocols' connectors."""

from typing import Unpack

from drivers.client.client import Client, ReconnectingConnector
from drivers.client.contract import ClientSettings


class MakesPythonClients:
    """The part of a `drivers.client.contract.ClientConnector` that makes clients."""

    def client(self: ReconnectingConnector, **settings: Unpack[ClientSettings]) -> Client:
        """See `drivers.client.contract.ClientConnector`."""
        return Client(connector=self, **settings)
