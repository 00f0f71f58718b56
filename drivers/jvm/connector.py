"""How does a client reach brokers by their own Java clients? Whatever the protocol: in the JVM of this process.

`connect` opens one connection to one broker, as any protocol does. The clients of a load are made by `client`: they
fail over by the Java client's own means, and keep their schedules in the JVM (`drivers.jvm.client`).
"""

import ssl
import time
from collections.abc import Mapping

from drivers.broker_words import nothing_sent
from drivers.contract import Browsed, OnLost, OnSettled, Refused
from drivers.failover import FailoverUri
from drivers.honoured import refuse_unusable
from drivers.jvm.books import Books
from drivers.jvm.client import JavaClient
from drivers.jvm.connection import JavaConnection, browse_error
from drivers.jvm.hub import JavaHub, hub
from drivers.jvm.speech import Speech
from drivers.own_clients import Clerk
from records.writer import Recorder
from topologies.endpoints import Credentials, Endpoint
from topologies.trust import Trust

NS_PER_MS = 1_000_000


class JavaConnector:
    """Opens connections of one protocol; see `drivers.contract.Connector`."""

    def __init__(self, speech: Speech, trust: Trust | None = None) -> None:
        self.protocol = speech.protocol
        self._speech = speech
        self._trusted_pem = trusted_pem(trust or Trust())
        self._books: Books | None = None

    def connect(
        self,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        client_id: str,
        timeout_s: float,
        on_settled: OnSettled,
        on_lost: OnLost,
    ) -> JavaConnection:
        """One attempt, all of it within ``timeout_s``. Raises `ConnectFailed` or `Refused`."""
        uri = self._link_uri(endpoint)
        connection = JavaConnection(hub(self.protocol), endpoint, timeout_s, on_settled, on_lost)
        connection.open(uri, credentials, client_id, self._trusted_pem)
        return connection

    def client(
        self,
        *,
        number: int,
        group: str,
        uri: FailoverUri,
        brokers: Mapping[str, str],
        credentials: Credentials,
        recorder: Recorder,
        clerk: Clerk,
        client_id: str,
    ) -> JavaClient:
        """A client that fails over by itself; see `drivers.own_clients.MakesClients`."""

        def books(link: JavaHub) -> Books:
            if self._books is None or self._books.recorder is not recorder:
                self._books = Books(link, recorder, brokers, clerk)
            return self._books

        refuse_unusable(uri, brokers, self.protocol)
        return JavaClient(
            number=number,
            group=group,
            uri=uri,
            brokers=brokers,
            credentials=credentials,
            recorder=recorder,
            books=books,
            speech=self._speech,
            trusted_pem=self._trusted_pem,
            client_id=client_id,
        )

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        """Every message on a queue as it lies there; ages are by the wall clocks of the sender and of this host."""
        deadline_s = time.monotonic() + timeout_s
        lost: list[str] = []
        connection = self.connect(
            endpoint, credentials, client_id="", timeout_s=timeout_s, on_settled=nothing_sent, on_lost=lost.append
        )
        try:
            found, trouble = connection.browse(queue, deadline_s)
        finally:
            connection.close()
        if trouble or lost:
            raise browse_error(endpoint, queue, (lost or [trouble])[0], len(found))
        now_ns = time.time_ns()
        return [Browsed(body, now_ns - sent_ms * NS_PER_MS if sent_ms > 0 else None) for body, sent_ms in found]

    def _link_uri(self, endpoint: Endpoint) -> str:
        speech = self._speech
        if endpoint.uri.partition("://")[0] not in speech.schemes:
            raise Refused(
                f"broker {endpoint.broker}: {endpoint.uri!r} is no {speech.told} URI; write tcp://HOST:PORT or ssl://…"
            )
        return speech.of_a_link(endpoint.uri)


def trusted_pem(trust: Trust) -> str:
    """The certificates to believe, as text: the given ones, else those that this machine trusts ('': Java's own)."""
    if trust.pem:
        return trust.pem
    return "".join(ssl.DER_cert_to_PEM_cert(der) for der in trust.context().get_ca_certs(binary_form=True))
