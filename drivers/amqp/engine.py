"""Fast access to proton's engine for the operations that every message needs.

It calls the functions below proton's objects (module ``cproton``). One event as an object creates five more objects;
this took more than half of the CPU of a send. Rare operations use the objects. A transfer here is the engine's own
handle: valid until it is settled or the connection is gone, and only with the wire's lock held.
"""

from collections.abc import Iterator
from typing import NewType

from cproton import (
    PN_ACCEPTED,
    PN_DELIVERY,
    PN_LINK_FLOW,
    PN_RECEIVED,
    PN_TRANSPORT,
    isnull,
    pn_collector_peek,
    pn_collector_pop,
    pn_delivery,
    pn_delivery_link,
    pn_delivery_partial,
    pn_delivery_pending,
    pn_delivery_readable,
    pn_delivery_remote_state,
    pn_delivery_settle,
    pn_delivery_settled,
    pn_delivery_tag,
    pn_delivery_update,
    pn_delivery_updated,
    pn_event_delivery,
    pn_event_link,
    pn_event_type,
    pn_link_advance,
    pn_link_flow,
    pn_link_is_sender,
    pn_link_name,
    pn_link_recv,
    pn_link_send,
)
from proton import Collector, Delivery, Event, Sender

NO_STATE = 0
TRANSACTIONAL, DECLARED = 0x34, 0x33  # states of a transfer that proton has no names for

Transfer = NewType("Transfer", object)


def take_events(collector: Collector) -> Iterator[Event | Transfer]:
    """Yield each waiting event; a delivery event as its transfer.

    All flows of a link after the first are left out, and events that only mean pending output. Classic renews the
    credit of many messages with as many frames at once: 700 events of each kind, which took 30 ms.
    """
    impl, flowed = collector._impl, set()
    while not isnull(event := pn_collector_peek(impl)):
        kind = pn_event_type(event)
        if kind == PN_DELIVERY:
            yield Transfer(pn_event_delivery(event))
        elif kind == PN_LINK_FLOW and (link := pn_event_link(event)) not in flowed:
            flowed.add(link)
            yield Event.wrap(event)
        elif kind not in (PN_LINK_FLOW, PN_TRANSPORT):
            yield Event.wrap(event)
        pn_collector_pop(impl)


def send(link: Sender, tag: str, message: bytes, *, settled: bool) -> None:
    """Pass one message to the engine."""
    impl = link._impl
    transfer = pn_delivery(impl, tag)
    pn_link_send(impl, message)
    pn_link_advance(impl)
    if settled:
        pn_delivery_settle(transfer)


def send_in(transaction: bytes, link: Sender, tag: str, message: bytes) -> None:
    """Pass one message to the engine as part of a transaction."""
    transfer = Delivery.wrap(pn_delivery(link._impl, tag))
    transfer.local.data = [transaction]
    transfer.update(TRANSACTIONAL)
    pn_link_send(link._impl, message)
    pn_link_advance(link._impl)


def is_outgoing(transfer: Transfer) -> bool:
    return bool(pn_link_is_sender(pn_delivery_link(transfer)))


def is_answered(transfer: Transfer) -> bool:
    """Whether the broker has reported an outcome, or will report nothing further. A progress report does not count."""
    if not pn_delivery_updated(transfer):
        return False
    return bool(pn_delivery_settled(transfer)) or has_outcome(transfer)


def has_outcome(transfer: Transfer) -> bool:
    """Whether the broker has reported an outcome."""
    return pn_delivery_remote_state(transfer) not in (NO_STATE, PN_RECEIVED)


def tag_of(transfer: Transfer) -> str:
    return str(pn_delivery_tag(transfer))


def is_accepted(transfer: Transfer) -> bool:
    return bool(pn_delivery_remote_state(transfer) == PN_ACCEPTED)


def settle(transfer: Transfer) -> None:
    pn_delivery_settle(transfer)


def accept(transfer: Transfer) -> None:
    """Acknowledge the transfer, and give the broker credit for another message."""
    link = pn_delivery_link(transfer)
    pn_delivery_update(transfer, PN_ACCEPTED)
    pn_delivery_settle(transfer)
    pn_link_flow(link, 1)


def whole_message(transfer: Transfer) -> tuple[str, bytes] | None:
    """Return the name of the link, and the message; None while parts of it are still missing."""
    if pn_delivery_partial(transfer) or not pn_delivery_readable(transfer):
        return None
    link = pn_delivery_link(transfer)
    read, message = pn_link_recv(link, pn_delivery_pending(transfer))
    pn_link_advance(link)
    return str(pn_link_name(link)), bytes(message) if read > 0 else b""


def as_object(transfer: Transfer) -> Delivery:
    """Wrap the transfer in an object, for rare operations."""
    return Delivery.wrap(transfer)
