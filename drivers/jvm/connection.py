"""What does one connection of a Java client do, message by message? The brokers' own client sends, subscribes, settles.

For paths to prove, queues to browse and tests: each message passes through Python. What drives a load is
`drivers.jvm.client`, whose loops are in the JVM.
"""

import itertools
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from drivers.broker_words import may_try_again, out_of_reach, refused_user, turned_away
from drivers.contract import (
    Delivery,
    DriverError,
    OnDelivery,
    OnLost,
    OnSettled,
    Outcome,
    Outgoing,
    Refused,
    Subscription,
)
from drivers.jvm.hub import Answer, JavaHub
from drivers.jvm.transactions import JavaTransaction
from drivers.tls import doubted
from records.packing import NULL_INT32
from topologies.endpoints import Credentials, Endpoint
from topologies.trust import Trust

CLOSE_TIMEOUT_S = 5.0
BROWSING = 0  # the number of a connection's one browse; what else is asked counts from 1


class JavaConnection:
    """One open connection; see `drivers.contract.Connection`. Made by `JavaConnector.connect`."""

    def __init__(
        self,
        hub: JavaHub,
        endpoint: Endpoint,
        timeout_s: float,
        on_settled: OnSettled,
        on_lost: OnLost,
    ) -> None:
        self.broker = endpoint.broker
        self._hub, self._endpoint, self._timeout_s = hub, endpoint, timeout_s
        self._on_settled, self._on_lost = on_settled, on_lost
        self._numbers: Iterator[int] = itertools.count(1)
        self._asked: dict[int, Answer] = {}  # sends and subscriptions under way
        self._unsettled: dict[int, object] = {}  # durable sends, by number: their tokens
        self._consumers: dict[int, OnDelivery] = {}
        self._transactions: dict[int, JavaTransaction] = {}  # that have not ended
        self._opened, self._closed = Answer(), Answer()
        self._reason = ""  # why it is gone
        self._leaving = False
        self._id = hub.listen(self._on_event)
        self._java = hub.make("Link", hub.java, self._id)

    def __repr__(self) -> str:
        return f"<JavaConnection {self.broker} {self._reason or 'open'}>"

    def open(self, uri: str, credentials: Credentials, client_id: str, trusted_pem: str) -> None:
        """Connect and log in, within the timeout. Raises `ConnectFailed` or `Refused`, leaving nothing open."""
        self._java.open(uri, credentials.username, credentials.password, client_id, trusted_pem)
        answered = self._opened.wait(self._timeout_s)
        if answered and self._opened.what == "opened":
            return
        self._java.abandon()
        self._hub.forget(self._id)
        words = str(self._opened.values[0])
        if self._opened.what == "refused":
            raise refused_user(self._at, credentials.username, words)
        if answered and may_try_again(words):
            raise turned_away(self._at, credentials.username, words)
        if doubt := self._doubt(trusted_pem):
            raise doubt
        what = f"could not be reached: {words}" if answered else f"did not answer within {self._timeout_s:g} s"
        raise out_of_reach(self._at, what, f"{self._hub.protocol} port")

    def _doubt(self, trusted_pem: str) -> DriverError | None:
        """What is wrong with the certificate there, where TLS is asked for: Java's client tells it darkly."""
        parts = urlsplit(self._endpoint.uri)
        if "ssl" not in parts.scheme or not parts.hostname or parts.port is None:
            return None
        return doubted(f"broker {self._at}", parts.hostname, parts.port, Trust(trusted_pem), self._timeout_s)

    @property
    def _at(self) -> str:
        return f"{self.broker} at {self._endpoint.uri.partition('://')[2].partition('?')[0]}"

    def send(self, message: Outgoing) -> int:
        number, answer = self.ask()
        to = message.destination
        if message.durable:
            self._unsettled[number] = message.token
        self._java.send(number, to.kind == "topic", to.name, message.body, message.durable)
        answer.wait(None)
        if answer.what == "written":
            return int(answer.values[1])
        self._unsettled.pop(number, None)
        raise self._trouble(answer, f"a message to {to}")

    def begin(self) -> JavaTransaction:
        """See `drivers.contract.Connection`."""
        number, answer = self.ask()
        java = self._java.transactions
        begun = self._transactions[number] = JavaTransaction(self, number, java, self._on_settled)
        java.begin(number)
        answer.wait(None)
        if answer.what == "begun":
            return begun
        self._transactions.pop(number, None)
        raise self._trouble(answer, "a transaction")

    def subscribe(self, subscription: Subscription, on_delivery: OnDelivery) -> int:
        number, answer = self.ask()
        wanted = subscription.destination
        self._consumers[number] = on_delivery  # messages may come before the answer
        self._java.subscribe(
            number,
            wanted.kind == "topic",
            wanted.name,
            subscription.prefetch,
            subscription.selector,
            subscription.durable_name,
        )
        if not answer.wait(self._timeout_s):
            self._lose(f"no answer to the subscription of {wanted} in {self._timeout_s:g} s")
        if answer.what == "subscribed":
            return int(answer.values[1])
        del self._consumers[number]
        raise self._trouble(answer, f"to subscribe {wanted}")

    def settle(self, delivery: Delivery) -> None:
        self._java.settle(delivery.ack_token)

    def browse(self, queue: str, deadline_s: float) -> tuple[list[tuple[bytes, int]], str]:
        """The bodies on a queue with the time (ms) at which each was sent, and what went wrong, or ''."""
        answer = self._asked[BROWSING] = Answer()
        if self._reason:  # looked at after it was put there, as in `ask`
            return [], self._reason
        self._java.browse(queue)
        if not answer.wait(max(0.0, deadline_s - time.monotonic())):
            return [], "no end in time"
        if answer.what != "browsed":
            return [], self._reason
        return [(bytes(body), int(sent_ms)) for body, sent_ms in answer.values[0]], str(answer.values[1])

    def close(self) -> None:
        """Leave politely; bounded, also on a frozen broker."""
        if self._leaving:
            return
        self._leaving = True
        if not self._reason:  # one that was lost has been abandoned
            self._java.close()
            if not self._closed.wait(CLOSE_TIMEOUT_S):
                self._java.abandon()
            self._end("closed")
        self._hub.forget(self._id)

    def ask(self) -> tuple[int, Answer]:
        number, answer = next(self._numbers), Answer()
        self._asked[number] = answer
        if self._reason:  # checked after it was put there: whoever ends the connection answers those that it finds
            raise self.gone()
        return number, answer

    def gone(self, words: str = "") -> ConnectionError:
        """What to say of the connection that is, or must be, gone; ``words``: the library's."""
        return ConnectionError(f"broker {self._at}: {self._reason or words}")

    def _trouble(self, answer: Answer, what: str) -> Exception:
        _, words, refused = answer.values
        if refused:
            return Refused(f"broker {self.broker} refused {what}: {words}")
        return self.gone(words)

    def _lose(self, reason: str) -> None:
        if self._reason:
            return
        self._end(reason)
        self._java.abandon()
        if not self._leaving:
            self._on_lost(reason)

    def _end(self, reason: str) -> None:
        self._reason = self._reason or reason
        for number in list(self._asked):
            self._asked.pop(number).give("gone")
        for number in list(self._transactions):
            self._transactions.pop(number).lost(self._reason)

    # Called by the hub.

    def _on_event(self, what: str, first: Any, second: Any, third: Any) -> None:
        match what:
            case "delivery":
                self._delivered(int(first), bytes(second), third)
            case "settled":
                self._answered(int(first), int(second), str(third))
            case "opened" | "refused" | "failed":
                self._opened.give(what, first)
            case "refused in" | "concluded" | "inconclusive" if int(first) in self._transactions:
                self._on_transaction(what, int(first), second, third)
            case "closed":
                self._closed.give(what, first)
            case "lost":
                self._lose(str(first))
            case "browsed":
                self._asked.pop(BROWSING, Answer()).give(what, first, second)  # late: nobody waits any more
            case _:
                answer = self._asked.pop(int(first), None)
                if answer:
                    answer.give(what, first, second, third)

    def _on_transaction(self, what: str, number: int, second: Any, third: Any) -> None:
        if what == "refused in":
            at_ns, words = third
            self._transactions[number].refused(int(second), int(at_ns), str(words))
        elif what == "concluded":
            self._transactions.pop(number).ended(int(second), str(third))
        else:
            self._transactions.pop(number).lost(str(second))

    def _delivered(self, subscription: int, body: bytes, about: Any) -> None:
        received_ns, redelivered, hops, number = about
        crossed = None if int(hops) == NULL_INT32 else int(hops)
        self._consumers[subscription](Delivery(body, int(received_ns), bool(redelivered), crossed, int(number)))

    def _answered(self, number: int, at_ns: int, refusal: str) -> None:
        token = self._unsettled.pop(number, None)
        if token is not None and not self._reason:
            self._on_settled(token, Outcome.FAILED if refusal else Outcome.ACKED, at_ns, refusal)


def browse_error(endpoint: Endpoint, queue: str, trouble: str, found: int) -> DriverError:
    return DriverError(
        f"browsing queue {queue} of broker {endpoint.broker}: {trouble}, {found} messages had come; "
        "is the broker alive, or the time too short for what lies there?"
    )
