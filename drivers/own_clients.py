"""What of a protocol whose library fails over by itself, and keeps its loops outside Python? It brings its own clients.

They stand where a `drivers.client.Client` stands; but a producer keeps its schedule by itself, and what was sent and
received is told in batches, to a clerk.
"""

from collections.abc import Mapping
from typing import Any, Protocol, TypedDict, runtime_checkable

from drivers.contract import Destination, DriverError, Subscription
from drivers.failover import FailoverUri
from drivers.pacing import Schedule
from drivers.sends import Slot
from records.writer import Recorder
from topologies.endpoints import Credentials


class SendOptions(TypedDict):
    """What every client's ``producer`` is told, its own (`OwnClient`) or a `drivers.client.Client`'s."""

    number: int
    durable: bool
    run: int
    resend_in_doubt: bool
    transaction_size: int


class NoSenderError(DriverError):
    """There is nothing that could send this message: it was not begun, and nothing of it is on record."""


class Clerk(Protocol):
    """Counts what comes in batches. Texts in the rows are numbers of the recorder."""

    def took_sends(self, rows: Any) -> None:
        """A numpy array of packed rows (records.packing) of ``sends``, at least one."""

    def took_receipts(self, rows: Any) -> None:
        """The same of ``receipts``, at least one."""

    def counted(self, begun: int, settled: int) -> None:
        """So many more messages were begun, and so many got their final outcome."""

    def refused(self, destination: str, broker: str, reason: str) -> None:
        """A broker refused a message; not told of each."""


class Pacing(Protocol):
    """Whether to go on producing: `drivers.session.Session`."""

    producing: bool

    def wait_unless_stopped(self, timeout_s: float) -> bool: ...


class OwnProducer(Protocol):
    @property
    def begun(self) -> int:
        """How many slots `keep` has begun, also when it was stopped in their middle."""

    def prepare(self, body_bytes: int, in_flight: int) -> None:
        """Make what `keep` sends by, before anything is due: that takes an answer of the broker. Raises DriverError.

        `keep` is then given the same size and cap.
        """

    def keep(self, schedule: Schedule, body_bytes: int, in_flight: int, pacing: Pacing) -> int:
        """Send each slot when it is due, until the schedule or producing ends; how many slots were begun.

        Raises DriverError when nothing can be sent any more, and ValueError where it was prepared for other messages.
        """

    def send_one(self, slot: Slot, body_bytes: int) -> None:
        """Send this message alone, counted as begun by whoever asks; returns once its outcome is known, and recorded.

        Raises DriverError when it could not be sent; `NoSenderError`: and is not recorded either.
        """


class OwnClient(Protocol):
    number: int
    group: str

    @property
    def broker(self) -> str | None:
        """The name of the broker it is connected to."""

    def open(self) -> None:
        """Connect as the URI says; blocks until connected. Raises DriverError: refused, or the schedule exhausted."""

    def producer(
        self,
        destination: Destination,
        *,
        number: int | None = None,
        durable: bool,
        run: int,
        resend_in_doubt: bool = True,
        transaction_size: int = 0,
    ) -> OwnProducer:
        """``number``: this client's own, unless several producers share its connection.

        ``transaction_size``: how many messages arrive together or not at all; 0: each by itself.
        """

    def consumer(self, subscription: Subscription, *, number: int | None = None, run: int) -> None:
        """Subscribe, now and after every failover; returns once the broker has confirmed. Raises DriverError."""

    def usable(self) -> None:
        """Raises DriverError once there will be no connection again."""

    def close(self) -> None:
        """Leave: waits a bounded time for answers; what is unanswered then is in doubt. Idempotent."""


@runtime_checkable
class MakesClients(Protocol):
    """A connector that makes the clients of a load as well."""

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
    ) -> OwnClient:
        """A new, still unconnected client. Raises DriverError for a URI that cannot be used."""
