"""Receives messages over AMQP, and acknowledges them.

Credit is the prefetch: each settled delivery gives the broker one credit back.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from proton import Receiver, Session

from drivers.amqp import engine
from drivers.amqp.engine import Transfer
from drivers.amqp.links import Attachments, attach_browser, attach_receiver
from drivers.amqp.messages import Incoming, node_address, read_message, read_request
from drivers.amqp.wire import AmqpWire, Call
from drivers.contract import Destination, Refused, Subscription

OnMessage = Callable[[Incoming, int, int], None]
"""(message, received_ns, number to settle it by)"""


@dataclass(frozen=True)
class _Inlet:
    """The consumer of a receiver link's messages. ``on_drained``: called for a browser once it has the requested
    messages.

    ``read``: how it reads a message.
    """

    on_message: OnMessage
    on_drained: Call | None = None
    read: Callable[[bytes], Incoming] = read_message


class Receiving:
    """The receivers of one connection. The reader calls the methods ``on_…``, with the wire's lock held."""

    def __init__(
        self, broker: str, wire: AmqpWire, session: Session, attachments: Attachments, numbers: Iterator[int]
    ) -> None:
        self.prefixes: Mapping[str, str] = {}
        self.temporaries: dict[str, str] = {}  # the broker's names for the temporary queues of this connection
        self._broker, self._wire, self._session, self._attachments = broker, wire, session, attachments
        self._numbers = numbers
        self._inlets: dict[str, _Inlet] = {}  # by link name
        self._links: dict[str, Receiver] = {}
        self._unacknowledged: dict[int, Transfer] = {}

    def subscribe(self, subscription: Subscription, on_message: OnMessage) -> int:
        """Subscribe; return when (ns) the broker confirmed it. Raises `Refused` and ConnectionError."""
        name = subscription.durable_name or f"receive-{next(self._numbers)}"
        node = node_address(subscription.destination, self.prefixes)
        attach = partial(attach_receiver, self._session, name, subscription, node)
        selecting = f" with selector {subscription.selector!r}" if subscription.selector else ""
        inlet = _Inlet(on_message, read=read_request if subscription.replies else read_message)
        began_ns = self._receive(name, f"{subscription.destination}{selecting}", inlet, attach)
        if subscription.temporary:
            with self._wire.lock:
                self.temporaries[subscription.destination.name] = str(self._links[name].remote_source.address)
        return began_ns

    def browse(self, destination: Destination, most: int, on_message: OnMessage, on_drained: Call) -> str:
        """Begin to receive copies of the messages on a queue; return the browser's name. Raises like `subscribe`."""
        name, node = f"browse-{next(self._numbers)}", node_address(destination, self.prefixes)
        attach = partial(attach_browser, self._session, name, node, most)
        self._receive(name, str(destination), _Inlet(on_message, on_drained), attach)
        return name

    def drain(self, name: str) -> None:
        """Make the broker send a browser the messages in memory and return the rest of the credit: ``on_drained``."""
        with self._wire.lock:
            self._links[name].drain(0)
        self._wire.write_out()

    def grant_credit(self, name: str, most: int) -> None:
        """Give a drained browser credit for ``most`` more messages."""
        with self._wire.lock:
            self._links[name].flow(most)
        self._wire.write_out()

    def settle(self, number: int) -> None:
        """Acknowledge the delivery with this number."""
        with self._wire.lock:
            transfer = self._unacknowledged.pop(number, None)
            if transfer is None or self._wire.reason:
                return
            engine.accept(transfer)
            if self._wire.in_reader() or self._wire.flush():
                return  # the reader writes all results of one read at once
        self._wire.write_out()

    def on_transfer(self, transfer: Transfer) -> Call | None:
        received_ns, come = time.perf_counter_ns(), engine.whole_message(transfer)
        if come is None:
            return None
        (link, raw), number = come, next(self._numbers)
        self._unacknowledged[number] = transfer
        return partial(self._deliver, self._inlets[link], raw, received_ns, number)

    def on_flow(self, link: Receiver) -> Call | None:
        return None if link.credit > link.queued else self._inlets[link.name].on_drained

    def on_gone(self) -> None:
        self._unacknowledged.clear()

    def _deliver(self, inlet: _Inlet, raw: bytes, received_ns: int, number: int) -> None:
        if not self._wire.reason:
            inlet.on_message(inlet.read(raw), received_ns, number)

    def _receive(self, name: str, address: str, inlet: _Inlet, attach: Callable[[], Receiver]) -> int:
        with self._wire.lock:
            answer = self._attachments.expect(name)
            self._inlets[name] = inlet
            self._links[name] = attach()
        self._attachments.wait(answer, f"to the subscription of {address}")
        if answer.refusal:
            raise Refused(f"broker {self._broker} refused to subscribe {address}: {answer.refusal}")
        return answer.at_ns
