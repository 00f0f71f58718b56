"""The client of a load that uses a broker's own Java client, which has its own failover.

Its failover follows the URI; threads of the JVM (drivers/java/) send, receive and record. Python opens and closes,
hands over due times, and is notified of every attempt, connection and loss. See `drivers.client.contract`.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any
from uuid import uuid4

from drivers.broker_errors import cause_of_loss, refused_user
from drivers.client.consumer import kind_of, name_of
from drivers.client.contract import ProducerSettings
from drivers.client.request_reply import replies_of
from drivers.client.work import Work
from drivers.contract import Destination, DriverError, Refused, Subscription
from drivers.failover.uri import FailoverUri
from drivers.jvm.event_buffers import EventBuffers
from drivers.jvm.hub import ENDED, UNHEARD, JavaHub, JavaReply, Requests, hub
from drivers.jvm.java_protocol import JavaProtocol
from drivers.jvm.producer import JavaProducer
from drivers.jvm.trust import DOUBTED, CertificateDoubts, failed_handshakes, untrusted_error
from records.store.packing import NULL_INT32
from records.store.writer import Recorder
from records.tables.connection_events import Cause, ConnectionEvent
from topologies.model.endpoints import Credentials

SUBSCRIBE_TIMEOUT_S = 60.0
DOUBT_AFTER_S = 1.0  # without a connection; doubled each time
UNTRUSTED = "untrusted"
BROKER = "broker"  # the broker told its clients to move
LEFT = {
    BROKER: (Cause.ORDER, "the broker told it to move"),
    "priority": (Cause.PRIORITY, "a better broker is there"),
}
CLOSE_TIMEOUT_S = 12.0  # for outstanding answers, then for the broker's goodbye
ABANDON_TIMEOUT_S = 30.0  # it waits for no broker, but in-doubt sends must be recorded, even on a busy machine


class JavaClient:
    """One client of a group, created unconnected; see `Client` for the parameters."""

    def __init__(
        self,
        *,
        number: int,
        group: str,
        uri: FailoverUri,
        brokers: Mapping[str, str],
        credentials: Credentials,
        recorder: Recorder,
        buffers: Callable[[JavaHub], EventBuffers],
        protocol: JavaProtocol,
        trusted_pem: str,
        client_id: str = "",
        tag: str = "",
    ) -> None:
        self.number, self.group = number, group
        self.broker: str | None = None
        self._name = f"{group} client {number}"
        self._uri, self._brokers, self._credentials = uri, brokers, credentials
        self._recorder, self._make_buffers, self._pem = recorder, buffers, trusted_pem
        self._client_id, self._protocol = client_id, protocol
        self._login_id = client_id or (f"{tag}{group}-{number}-{uuid4().hex[:8]}" if tag else "")
        self._last_broker = ""
        self._left: Cause | None = None  # why it left that broker
        self._over = ""  # why there will be no connection again
        self._attempted_at = f"of {uri}"  # the broker of the last attempt: its name and address
        self._looking = False  # checking the certificates, none of which is trusted
        self._doubts = CertificateDoubts(uri.servers, brokers)
        self._opened, self._closed = JavaReply(), JavaReply()
        self._requests = Requests()  # subscriptions and senders that are being created
        self._finished: dict[int, JavaReply] = {}  # of the producers, by number
        self._destinations: dict[int, Destination] = {}  # of the producers, by number
        self._buffers: EventBuffers | None = None
        self._java: Any = None

    def __repr__(self) -> str:
        return f"JavaClient({self.group} {self.number}, {self.broker or self._over or 'disconnected'})"

    def open(self) -> None:
        """Connect as the URI says; blocks until connected. Raises DriverError: refused, or the schedule exhausted."""
        java_hub = hub(self._protocol.name)
        refuse_unknown(java_hub, self._uri, self._protocol)
        self._id = java_hub.listen(self._on_event)
        buffers = self._make_buffers(java_hub)
        try:
            rows = buffers.names, buffers.sends, buffers.receipts
            self._java = java_hub.make("Client", java_hub.java, self._id, *rows)
        except DriverError:
            java_hub.forget(self._id)
            raise
        self._buffers = buffers
        buffers.open()
        credentials = self._credentials
        self._java.open(
            self._protocol.load_uri(self._uri), credentials.username, credentials.password, self._login_id, self._pem
        )
        self._wait_opened(self._java)
        if self._opened.event == "opened":
            return
        words = str(self._opened.values[0])
        if self._opened.event == UNTRUSTED:
            self._over = f"{self._name}: {words}"
            raise Refused(self._over)
        if self._opened.event == "refused":
            refusal = refused_user(self._attempted_at, credentials.username, words)
            self._over = f"{self._name}: {refusal}"
            raise Refused(self._over)
        self._over = f"{self._name}: no broker of {self._uri} could be reached: {words}; {self._next_step()}"
        raise DriverError(self._over)

    def _next_step(self) -> str:
        """Return the next step for a client that reached no broker. A client that has been closed contacts no
        broker."""
        servers = self._uri.servers if self._java is not None else ()
        return str(next(failed_handshakes(servers, self._brokers, self._pem), "check that one is up"))

    def _wait_opened(self, java: Any) -> None:
        """Wait until connected, refused or given up, or until a certificate is known to be the cause."""
        patience_s = DOUBT_AFTER_S
        while not self._opened.wait(patience_s):
            patience_s *= 2
            if doubt := untrusted_error(self._uri.servers, self._brokers, self._pem):
                self._opened.give(UNTRUSTED, str(doubt))
                if self._opened.event == UNTRUSTED:
                    java.abandon()

    def producer(
        self,
        destination: Destination,
        settings: ProducerSettings,
        *,
        number: int | None = None,
        run: int,
        more_destinations: Sequence[Destination] = (),
    ) -> JavaProducer:
        """Return a producer of this number. ``run`` is the number stamped into the bodies.

        Raises DriverError for ``more_destinations``: clients in the JVM send to one destination.
        """
        if more_destinations:
            raise DriverError(
                f"{self._name} can send only to {destination}, not to {len(more_destinations)} more destinations"
            )
        return JavaProducer(self, self.number if number is None else number, destination, settings, run)

    def consumer(
        self,
        subscription: Subscription,
        *,
        number: int | None = None,
        run: int,
        work: Work | None = None,
        work_rng: Random | None = None,
    ) -> None:
        """Subscribe, now and after every failover; returns once the broker has confirmed. Raises DriverError.

        Replies to a subscription's requests are sent, and recorded, in the JVM.
        """
        if subscription.durable_name and not self._client_id:
            raise DriverError(f"client {self.number} requests a durable subscription without a client id: give it one")
        number = self.number if number is None else number
        wanted, name = subscription.destination, name_of(subscription, number)
        replies = NULL_INT32
        if subscription.replies:
            self._destinations[number] = replies_of(wanted)
            replies = self._recorder.number(str(replies_of(wanted)))

        def subscribed(began_ns: Any, address: Any) -> None:
            broker = self._brokers.get(str(address), "")
            kind, selector = kind_of(subscription), subscription.selector
            self._recorder.subscription(number, name, str(wanted), kind, broker, int(began_ns), selector)

        def late(event: str, began_ns: Any, address: Any) -> None:
            if event == "subscribed":  # and it receives: other users may hold the connection open
                subscribed(began_ns, address)

        with self._requests.new(late) as (request, answer):
            self._open_java().receiver(
                request,
                wanted.kind == "topic",
                wanted.name,
                subscription.temporary,
                subscription.prefetch,
                subscription.selector,
                subscription.durable_name,
                number,
                self._recorder.number(name),
                self._recorder.number(str(wanted)),
                replies,
                _signed(run),
                *_work(work, work_rng),
            )
            began_ns, address, _ = self._await(answer, "subscribed", f"to subscribe {wanted}")
        subscribed(began_ns, address)

    def usable(self) -> None:
        """Raise DriverError once it will never be connected again."""
        if self._over:
            raise DriverError(self._over)

    def close(self) -> None:
        """Close: waits a limited time for answers and for the close. Unanswered sends are in doubt. Idempotent."""
        if self._java is None or self._buffers is None:
            return
        java, self._java = self._java, None
        self._over = self._over or f"{self._name} is closed"
        self._requests.end()
        if not self._opened.event:
            java.abandon()
            self._closed.wait(ABANDON_TIMEOUT_S)
        elif self._opened.event == "opened":
            java.close()
            if not self._closed.wait(CLOSE_TIMEOUT_S):
                java.abandon()
                self._closed.wait(ABANDON_TIMEOUT_S)
                doubt = str(self._closed.values[0] or "") if self._closed.event == "abandoned" else ""
                reason = "; ".join(filter(None, ("no answer to the goodbye", doubt)))
                self._event("closed", time.perf_counter_ns(), reason, "")
        self._buffers.close()
        hub(self._protocol.name).forget(self._id)
        self.broker = None
        self._opened.give(
            "unreachable", "it was closed in the meantime"
        )  # no caller waits for events that are not listened to any longer
        self._requests.end()  # requests that came in the meantime
        for finished in tuple(self._finished.values()):
            finished.give("finished", "")

    # For its producer.

    def sender(
        self, number: int, destination: Destination, settings: ProducerSettings, template: bytes
    ) -> tuple[Any, JavaReply]:
        """Return a sender in the JVM, which waits for due times, and the reply at its end. Raises DriverError."""
        finished = self._finished[number] = JavaReply()
        self._destinations[number] = destination
        with self._requests.new(_stop) as (request, answer):
            self._open_java().sender(
                request,
                destination.kind == "topic",
                destination.name,
                number,
                self._recorder.number(str(destination)),
                _java_settings(hub(self._protocol.name), settings, template),
                replies_of(destination).name if settings.requests else "",
            )
            java_sender, _, _ = self._await(answer, "sender", f"to send to {destination}")
            return java_sender, finished

    def _open_java(self) -> Any:
        if self._java is None:
            raise DriverError(self._over)
        return self._java

    def _await(self, answer: JavaReply, wanted: str, purpose: str) -> tuple[Any, Any, Any]:
        if not answer.wait(SUBSCRIBE_TIMEOUT_S):
            answer.give(UNHEARD)
        if answer.event == UNHEARD:
            raise DriverError(f"{self._name}: no answer {purpose} within {SUBSCRIBE_TIMEOUT_S:g} s; is a broker alive?")
        if answer.event == ENDED:
            raise DriverError(self._over)
        if answer.event == wanted:
            return answer.values
        words, refused, _ = answer.values
        if refused:
            raise DriverError(f"{self._name}: broker {self.broker} refused {purpose}: {words}")
        raise DriverError(f"{self._name}: there was no longer a connection {purpose}: {words}")

    # Called by the hub.

    def _on_event(self, event: str, first: Any, second: Any, third: Any) -> None:
        match event:
            case "opened" | "refused" | "unreachable":
                self._opened.give(event, first)
            case "attempt" | "attempt refused":
                self._attempted(first, str(second), str(third), refused=event == "attempt refused")
            case "connected" | "lost" | "closed" | "blocked" | "unblocked":
                self._event(event, int(first), str(second), str(third))
            case "left":
                cause, reason = LEFT[str(second)]
                self._event("closed", int(first), reason, str(third), cause)
            case "sender" | "unsendable" | "subscribed" | "unsubscribed":
                self._requests.answered(int(third), event, first, second)
            case "finished" if int(second) in self._finished:
                self._finished[int(second)].give(event, str(first))
            case "message refused" if self._buffers:
                self._buffers.statistics.on_rejected(
                    str(self._destinations[int(second)]), self.broker or self._last_broker, str(first)
                )
            case "over":
                self._over = self._over or f"{self._name}: {first}{self._doubts.describe()}"
        if event in ("closed", "abandoned"):
            self._closed.give(event, first)

    def _attempted(self, times_ns: Any, reason: str, address: str, *, refused: bool) -> None:
        began_ns, ended_ns = (int(time_ns) for time_ns in times_ns)
        cause = _cause_of_failure(reason, refused=refused)
        self._record(ConnectionEvent(self._brokers.get(address), "attempt", began_ns, reason, None, cause, ended_ns))
        self._doubts.attempted(address, reason)
        self._attempted_at = f"{self._brokers.get(address, '')} at {address}"
        if self._doubts.of_all() and self._opened.event == "opened" and self.broker is None and not self._looking:
            self._looking = True
            threading.Thread(target=self._look_at_them, daemon=True).start()

    def _look_at_them(self) -> None:
        """Check the certificates once the JVM trusts none of the list. If so, it would try forever, so give up."""
        try:
            doubt, java = untrusted_error(self._uri.servers, self._brokers, self._pem), self._java
            if doubt and self._doubts.of_all() and java is not None and self.broker is None:
                self._over = self._over or f"{self._name}: no broker of {self._uri} is trusted any longer: {doubt}"
                java.abandon()
        finally:
            self._looking = False

    def _event(self, event: str, at_ns: int, reason: str, address: str, cause: Cause | None = None) -> None:
        """Record a change of the connection, with the broker's name."""
        broker = self._brokers.get(address) if address else self._last_broker or None
        if event == "closed" and self.broker is None:
            return  # it was lost before, or was never connected
        if event == "connected":
            self._connected(broker, at_ns, reason)
            return
        cause = cause or _cause_of_end(event, reason)
        self._record(ConnectionEvent(broker, event, at_ns, reason, None, cause))
        if event in ("lost", "closed"):
            self.broker, self._left = None, cause

    def _connected(self, broker: str | None, at_ns: int, left_for: str) -> None:
        from_broker = self._last_broker or None
        change = ConnectionEvent(broker, "connected", at_ns, "", from_broker, self._left)
        self._record(change)
        if not broker:
            return
        if from_broker not in (None, broker):
            moved = f"from {from_broker}" + (f", by the {left_for}" if left_for == BROKER else "")
            self._record(change._replace(event="moved", reason=moved))
        if from_broker:  # the library reports a connection once it has restored its state there
            self._record(change._replace(event="ready"))
        self.broker = self._last_broker = broker

    def _record(self, change: ConnectionEvent) -> None:
        self._recorder.connection(self.number, self.group, self._protocol.name, change)
        if self._buffers and change.event not in ("moved", "ready"):
            self._buffers.statistics.connection_changed(self.number, change.event, change.at_ns)


def refuse_unknown(java_hub: JavaHub, uri: FailoverUri, protocol: JavaProtocol) -> None:
    """Raise `Refused`, with the library's words, for options in a broker's own URI that the library would not accept.

    Otherwise it would try forever without a message (OpenWire), or ignore them (Core).
    """
    for server in dict.fromkeys(map(uri.effective, uri.servers)):
        if not server.query:
            continue
        words = str(java_hub.java_class("ServerOptions").misread(protocol.connection_uri(str(server))))
        if words:
            raise Refused(
                f"{protocol.display_name} clients do not accept {server.query!r} as options of {server.address}:"
                f" {words}; correct them in its URI, or as nested.… of the failover URI, or leave them out"
            )


def _cause_of_end(event: str, reason: str) -> Cause | None:
    """Return the cause; None if the event ends no connection."""
    if event == "lost":
        return cause_of_loss(reason)
    return Cause.CLOSED if event == "closed" else None


def _cause_of_failure(reason: str, *, refused: bool) -> Cause | None:
    """Return the cause of a failed attempt; None if it succeeded."""
    if reason.startswith(DOUBTED):
        return Cause.UNTRUSTED
    if refused:
        return Cause.REFUSED
    return Cause.UNREACHABLE if reason else None


def _stop(event: str, sender: Any, *_: Any) -> None:
    """Stop a sender that will never get a due time."""
    if event == "sender":
        sender.stop()


def _java_settings(java_hub: JavaHub, settings: ProducerSettings, template: bytes) -> Any:
    """Convert the settings for the senders in the JVM."""
    messages = settings.messages
    headers = java_hub.make(
        "MessageHeaders",
        messages.time_to_live_ms,
        messages.priority,
        [name for name, _ in messages.properties.cycles],
        [list(values) for _, values in messages.properties.cycles],
    )
    return java_hub.make(
        "ProducerSettings",
        settings.durable,
        settings.resend_in_doubt,
        settings.in_flight,
        settings.transaction_size,
        template,
        headers,
    )


def _work(work: Work | None, rng: Random | None) -> tuple[float, float, bool, int]:
    """Convert the work for the receiver in the JVM: milliseconds, the kind, and the seed of its random numbers."""
    if work is None:
        return 0.0, 0.0, False, 0
    return work.low_ms, work.high_ms, work.exponential, (rng or Random()).getrandbits(63)


def _signed(number: int) -> int:
    """Convert an unsigned 32-bit number to Java's signed one."""
    return number - (1 << 32) if number >= 1 << 31 else number
