"""The contract of a load's clients, whether their loops are in Python or in a library that includes failover.

    connector.client(…) ─► LoadClient ── producer(…) ─► LoadProducer: follows a schedule
                               │
                               └─ consumer(…): receives, records and acknowledges

Users and their session use only these classes. There are two implementations: `drivers.client.client` follows the
failover URI in Python; `drivers.jvm.client` leaves that to the broker's own Java client, with its loops in the JVM.
Both record every attempt and every receipt, and report their work to a `LoadStatistics`.
The recorder and the statistics get the same row (records.tables.schemas).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, NotRequired, Protocol, TypedDict, Unpack

from drivers.client.message_settings import PLAIN_MESSAGES, MessageSettings
from drivers.client.work import Work
from drivers.contract import Destination, DriverError, Subscription
from drivers.failover.supported_options import SupportedOptions
from drivers.failover.uri import FailoverUri
from records.loads.send_schedule import Schedule
from records.store.writer import Recorder
from records.tables.schemas import ReceiptRow, SendRow
from topologies.model.endpoints import Credentials


@dataclass(frozen=True)
class ProducerSettings:
    """How one producer sends. The value is passed unchanged from the user to the loop that applies it.

    ``in_flight``: how many durable sends may await their confirmation. ``transaction_size``: how many messages arrive
    together or not at all; 0: no transactions. ``requests``: replies go to the temporary queue of the same connection.
    """

    body_bytes: int = 1_024
    in_flight: int = 1_000
    durable: bool = True
    resend_in_doubt: bool = True
    transaction_size: int = 0
    requests: bool = False
    messages: MessageSettings = PLAIN_MESSAGES


class ScheduledSend(NamedTuple):
    """A message that is due. ``blocked``: the in-flight limit made it wait.

    ``begun_ns``: when the sender began with the message, if it had to connect first. Connecting is part of the sending.
    0: the time of the write counts. ``ready_ns``: when it could have begun; set together with ``begun_ns``.
    """

    seq: int
    due_ns: int
    blocked: bool = False
    begun_ns: int = 0
    ready_ns: int = 0


class NoSenderError(DriverError):
    """No sender can send this message: it was not begun, and nothing about it is recorded."""


class SpokenProtocols(Protocol):
    """The protocols of a run's clients: `drivers.protocols.Spoken`."""

    @property
    def distinct(self) -> tuple[str, ...]:
        """Each protocol once, the producers' first."""

    def of(self, role: str, user_class: str = "") -> str:
        """Return the protocol of a user class, which is a ``producer`` or a ``consumer``."""


class LoadControl(Protocol):
    """Controls whether producers continue: `drivers.users.session.Session`."""

    producing: bool

    def wait_unless_stopped(self, timeout_s: float) -> bool:
        """Sleep, but wake when producing stops; return True if it has stopped.

        It may end up to `drivers.client.pacing.LEAD_NS` early.
        """


class LoadStatistics(Protocol):
    """Counts what clients do: message by message, or in batches if the loops are not in Python.

    Packed rows are numpy arrays (records.store.packing) of at least one row; their texts are numbers of the recorder.
    """

    def settled(self, row: SendRow, reason: str, final: bool) -> None:
        """Count an attempt that has its outcome, for this reason. ``final``: no attempt follows."""

    def received(self, row: ReceiptRow, body: bytes) -> None:
        """Count a message that has arrived with this body."""

    def sends_recorded(self, rows: Any) -> None:
        """Count packed rows of ``sends`` that were recorded."""

    def receipts_recorded(self, rows: Any) -> None:
        """Count packed rows of ``receipts`` that were recorded."""

    def foreign_received(self, destination: str, broker: str, beginning: bytes, body_bytes: int) -> None:
        """Show a foreign message whose row was passed to ``receipts_recorded``; not called for each such message."""

    def counted(self, begun: int, settled: int) -> None:
        """Count ``begun`` more messages, and ``settled`` more messages in packed rows with their final outcome."""

    def on_rejected(self, destination: str, broker: str, reason: str) -> None:
        """Show why a broker rejected a message; not called for each rejected message."""

    def connection_changed(self, client: int, event: str, at_ns: int) -> None:
        """Handle a row of ``connections`` that was recorded, for this client number."""


OnOutcome = Callable[[SendRow, str, bool], None]
"""See `LoadStatistics.settled`."""

OnReceipt = Callable[[ReceiptRow, bytes], None]
"""See `LoadStatistics.received`."""


class NoStatistics:
    """Counts nothing."""

    def settled(self, row: SendRow, reason: str, final: bool) -> None: ...
    def received(self, row: ReceiptRow, body: bytes) -> None: ...
    def sends_recorded(self, rows: Any) -> None: ...
    def receipts_recorded(self, rows: Any) -> None: ...
    def foreign_received(self, destination: str, broker: str, beginning: bytes, body_bytes: int) -> None: ...
    def counted(self, begun: int, settled: int) -> None: ...
    def on_rejected(self, destination: str, broker: str, reason: str) -> None: ...
    def connection_changed(self, client: int, event: str, at_ns: int) -> None: ...


NO_STATISTICS: LoadStatistics = NoStatistics()


class ScheduledProducer(Protocol):
    """Sends the messages of one producer of the run on a schedule."""

    @property
    def begun(self) -> int:
        """Number of sends that `run` has begun, even if it was stopped in the middle."""

    @property
    def held_back(self) -> bool:
        """Whether it waits for the brokers, or did before its last message: for in-flight room, a write, a commit.

        Also whether it still catches up after a wait (`drivers.client.backpressure`).
        """

    def run(self, schedule: Schedule, control: LoadControl) -> int:
        """Send each message when it is due, until the schedule or producing ends; return the number begun.

        Message n is slot n of the schedule. With a `ClosedSchedule`, it is sent as soon as message n - 1 has its final
        outcome; the settings then allow one message in flight. Raises DriverError if nothing can be sent any longer.
        """


class LoadProducer(ScheduledProducer, Protocol):
    """A producer of one client to its destinations."""

    def prepare(self) -> None:
        """Prepare `run` before any message is due: a broker may have to answer. Raises DriverError."""

    def send_one(self, send: ScheduledSend) -> None:
        """Send this message alone, already counted as begun; return once its outcome is known and recorded.

        Raises DriverError if it could not be sent, and `NoSenderError` if in addition nothing is recorded.
        """


class LoadClient(Protocol):
    """One client of a group, created unconnected. ``number``: its number in the run (records.tables.schemas)."""

    number: int
    group: str

    @property
    def broker(self) -> str | None:
        """The name of the broker that it is connected to."""

    def open(self) -> None:
        """Connect as the URI says; blocks until connected. Raises DriverError: refused, or the schedule exhausted."""

    def producer(
        self,
        destination: Destination,
        settings: ProducerSettings,
        *,
        number: int | None = None,
        run: int,
        more_destinations: Sequence[Destination] = (),
    ) -> LoadProducer:
        """Return a producer of this number: by default the client's own number; different if several producers share
        its connection.

        ``run``: the number stamped into the bodies. ``more_destinations``: it sends to ``destination`` and these
        alternately: message n goes to number n modulo their count. Clients in the JVM send to one destination only.
        """

    def consumer(
        self,
        subscription: Subscription,
        *,
        number: int | None = None,
        run: int,
        work: Work | None = None,
        work_rng: Random | None = None,
    ) -> Any:
        """Subscribe, now and after every failover; returns once the broker has confirmed. Raises DriverError.

        ``work``: the processing time per message before the acknowledgment, drawn with ``work_rng``. The next message
        counts as received after that.
        """

    def usable(self) -> Any:
        """Wait, if necessary, until there is a connection. Raises DriverError once there will never be one again."""

    def close(self) -> None:
        """Close: waits a limited time for answers. Sends without an answer by then are in doubt. Idempotent."""


class ClientSettings(TypedDict):
    """The parameters of a client.

    ``brokers`` names the broker behind each ``host:port``. ``rng`` orders the brokers of a client in Python, and
    ``clock`` gives its times. Java libraries have their own. ``client_id`` is for durable subscriptions. ``tag``:
    prefix of the ids of all other connections, so that brokers show who owns them.
    """

    number: int
    group: str
    uri: FailoverUri
    brokers: Mapping[str, str]
    credentials: Credentials
    recorder: Recorder
    statistics: LoadStatistics
    rng: Random
    clock: Callable[[], int]
    client_id: NotRequired[str]
    tag: NotRequired[str]


class ClientConnector(Protocol):
    """Makes the clients of one protocol."""

    protocol: str
    supported_options: SupportedOptions

    def client(self, **settings: Unpack[ClientSettings]) -> LoadClient:
        """Return a new, unconnected client. Raises DriverError for a URI that cannot be used."""
