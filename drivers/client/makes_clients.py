"""Makes the clients of a protocol that Python reconnects: the common part of these protocols' connectors."""

from collections.abc import Callable, Mapping
from random import Random

from drivers.client.client import Client, ReconnectingConnector
from drivers.client.contract import LoadStatistics
from drivers.failover.uri import FailoverUri
from records.writer import Recorder
from topologies.model.endpoints import Credentials


class MakesPythonClients:
    """The part of a `drivers.client.contract.ClientConnector` that makes clients."""

    def client(
        self: ReconnectingConnector,
        *,
        number: int,
        group: str,
        uri: FailoverUri,
        brokers: Mapping[str, str],
        credentials: Credentials,
        recorder: Recorder,
        statistics: LoadStatistics,
        rng: Random,
        clock: Callable[[], int],
        client_id: str = "",
    ) -> Client:
        """See `drivers.client.contract.ClientConnector`."""
        return Client(
            number=number,
            group=group,
            uri=uri,
            brokers=brokers,
            connector=self,
            credentials=credentials,
            recorder=recorder,
            rng=rng,
            clock=clock,
            client_id=client_id,
            statistics=statistics,
        )
