"""Attaches AMQP links to a broker's queues and topics, and waits for the broker's reply.

How the brokers read an attach:

- routing type: Artemis takes it from the capability ``queue`` or ``topic``, Classic from the address prefix that it
  announced;
- durable subscription: a link with a source that does not expire. The link's name and the connection's container id
  identify it;
- browser: a receiver with the distribution mode copy;
- temporary queue: a receiver with a dynamic source. The broker makes the queue, and its reply names it.
"""

import threading
import time
from dataclasses import dataclass, field

from proton import Condition, Delivery, Described, Link, Receiver, Sender, Session, Terminus, symbol

from drivers.amqp.wire import AmqpWire
from drivers.contract import Destination, Subscription

SELECTOR = symbol("apache.org:selector-filter:string")
TEMPORARY_QUEUE = "temporary-queue"  # both brokers' name for that capability
_OUTCOMES = {Delivery.RELEASED: "released", Delivery.MODIFIED: "modified"}
NOBODY_SAID = "the broker gives no reason"


@dataclass
class PeerReply:
    """The broker's reply to a request: a time, the broker's refusal, or neither if the connection is gone."""

    came: threading.Event = field(default_factory=threading.Event)
    at_ns: int = 0
    refusal: str = ""

    def give(self, at_ns: int, refusal: str = "") -> None:
        self.at_ns, self.refusal = at_ns, refusal
        self.came.set()


class Attachments:
    """Requested links without a reply so far. ``who`` begins the errors: the broker and its address."""

    def __init__(self, wire: AmqpWire, broker_at: str, timeout_s: float) -> None:
        self._wire, self._who, self._timeout_s = wire, broker_at, timeout_s
        self._asked: dict[str, PeerReply] = {}

    def expect(self, name: str) -> PeerReply:
        """Register a link name before the link is requested, with the wire's lock held. ConnectionError without a
        connection."""
        self.require_open()
        answer = self._asked[name] = PeerReply()
        return answer

    def require_open(self) -> None:
        if self._wire.reason:
            raise self.lost()

    def wait(self, answer: PeerReply, request: str) -> None:
        """Wait for the reply. A broker that does not answer in time is given up. Raises ConnectionError."""
        self._wire.write_out()
        if not answer.came.wait(self._timeout_s):
            self._wire.lose(f"no answer {request} in {self._timeout_s:g} s")
        if not answer.at_ns:
            raise self.lost()

    def lost(self) -> ConnectionError:
        return ConnectionError(f"{self._who}: {self._wire.reason}")

    def on_granted(self, link: Link) -> None:
        """Handle an attached link. If its far end is missing, the broker is about to detach it, with the reason."""
        far_end = link.remote_target if link.is_sender else link.remote_source
        stands = far_end.address is not None or far_end.type == Terminus.COORDINATOR
        if stands and link.name in self._asked:
            self._asked.pop(link.name).give(time.perf_counter_ns())

    def on_ended(self, link: Link) -> None:
        """Handle the refusal of a link, or the end of an attached one. After the latter nothing on the link can be
        relied on, so the connection is given up."""
        reason = words(link.remote_condition)
        link.close()
        if link.name in self._asked:
            self._asked.pop(link.name).give(time.perf_counter_ns(), reason)
        else:
            self._wire.lose(f"the broker ended {link.name}: {reason}")

    def on_gone(self) -> None:
        """Answer all waiting requests: no reply will come."""
        for name in list(self._asked):
            self._asked.pop(name).give(0)


def attach_sender(session: Session, name: str, destination: Destination, node: str) -> Sender:
    """Attach a sender. Durable sends over it are unsettled, others are settled."""
    link = session.sender(name)
    link.source.address = name
    link.target.address = node
    link.target.capabilities.put_object(symbol(destination.kind))
    link.snd_settle_mode = Link.SND_MIXED
    link.open()
    return link


def attach_coordinator(session: Session, name: str) -> Sender:
    """Attach the link that declares and ends transactions."""
    link = session.sender(name)
    link.source.address = name
    link.target.type = Terminus.COORDINATOR
    link.target.capabilities.put_object(symbol("amqp:local-transactions"))
    link.snd_settle_mode = Link.SND_UNSETTLED
    link.open()
    return link


def attach_receiver(session: Session, name: str, subscription: Subscription, node: str) -> Receiver:
    """Attach a receiver, with its whole prefetch as credit."""
    link = session.receiver(name)
    if subscription.temporary:
        link.source.dynamic = True
        link.source.capabilities.put_object(symbol(TEMPORARY_QUEUE))
    else:
        link.source.address = node
        link.source.capabilities.put_object(symbol(subscription.destination.kind))
    link.target.address = name
    if subscription.selector:
        link.source.filter.put_object({SELECTOR: Described(SELECTOR, subscription.selector)})
    if subscription.durable_name:
        link.source.durability = Terminus.DELIVERIES
        link.source.expiry_policy = Terminus.EXPIRE_NEVER
    link.snd_settle_mode = Link.SND_UNSETTLED
    link.open()
    link.flow(subscription.prefetch)
    return link


def attach_browser(session: Session, name: str, node: str, most: int) -> Receiver:
    """Attach a browser, with credit for ``most`` messages."""
    link = session.receiver(name)
    link.source.address = node
    link.source.capabilities.put_object(symbol("queue"))
    link.source.distribution_mode = Terminus.DIST_MODE_COPY
    link.target.address = name
    link.snd_settle_mode = Link.SND_SETTLED
    link.open()
    link.flow(most)
    return link


def words(condition: Condition | None) -> str:
    """Return the broker's error message on one line, without its stack trace."""
    if condition is None:
        return NOBODY_SAID
    first_line = str(condition.description or "").strip().partition("\n")[0]
    return " ".join(f"{condition.name}: {first_line}".split()) if first_line else str(condition.name)


def rejection(delivery: Delivery) -> str:
    """Return why a send was not accepted."""
    if delivery.remote_state == Delivery.REJECTED:
        return words(delivery.remote.condition)
    return f"the broker answered {_OUTCOMES.get(delivery.remote_state, delivery.remote_state)}"
