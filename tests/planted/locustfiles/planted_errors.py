"""A load of a few seconds on in-memory brokers. ``PLANTED`` names the planted error.

Asks: does the run report this error, and no other?
"""

import os
import threading
import time
from collections.abc import Callable
from itertools import count

from brokerbench import Hold, Scenario, duplicates_at_most, no_acked_send_lost, run
from drivers.contract import Browsed, Delivery, Destination, DriverError, OnDelivery, Outcome, Outgoing, Subscription
from drivers.memory.connector import MemoryConnection, MemoryConnector
from drivers.memory.network import Member, MemoryNetwork
from drivers.memory.queues import Stored
from drivers.users.locust_users import ConsumerUser, ProducerUser

PLANTED = os.environ["PLANTED"]
OF_A_TOPIC = PLANTED in ("a deaf subscriber", "two subscribers", "subscribers that are away")
DESTINATION = "topic://planted" if OF_A_TOPIC else "queue://planted"
NOBODYS = Destination("queue", "nobodys")  # no consumer is there
SLOW_S = 0.02

Store = Callable[[MemoryNetwork, Member, Outgoing], None]
store, accept = MemoryNetwork._store, MemoryNetwork._accept
subscribe, browse = MemoryConnection.subscribe, MemoryConnector.browse
stored_before, accepted_before, delivered_before, subscribed_before = count(), count(), count(), count()


def swallow(most: int) -> Store:
    """Acknowledge the first ``most`` messages, but drop them."""
    return lambda *message: None if is_one_of(most, message[-1], stored_before) else store(*message)


def lead_astray(most: int) -> Store:
    """Put the first ``most`` messages on a queue that no consumer reads."""

    def put(network: MemoryNetwork, member: Member, message: Outgoing) -> None:
        stray = is_one_of(most, message, stored_before)
        store(network, member, message._replace(destination=NOBODYS) if stray else message)

    return put


def is_one_of(most: int, message: Outgoing, before: "count[int]") -> bool:
    """Whether the message is one of the first ``most`` of the load."""
    return str(message.destination) == DESTINATION and next(before) < most


def refuse_and_store(network: MemoryNetwork, member: Member, message: Outgoing) -> None:
    if is_one_of(50, message, accepted_before):
        member.answer(message.token, Outcome.FAILED, "planted")
        network._store(member, message)
    else:
        accept(network, member, message)


def accept_late(network: MemoryNetwork, member: Member, message: Outgoing) -> None:
    """A message is stored and answered after `SLOW_S`."""

    def late() -> None:
        with network._changed:
            accept(network, member, message)

    threading.Timer(SLOW_S, late).start()


def heard_by(change: Callable[[OnDelivery], OnDelivery]) -> Callable[..., int]:
    """Return a replacement for subscribe that wraps each consumer's callback with ``change``."""

    def subscribed(self: MemoryConnection, subscription: Subscription, on_delivery: OnDelivery) -> int:
        ours = str(subscription.destination) == DESTINATION
        return subscribe(self, subscription, change(on_delivery) if ours else on_delivery)

    return subscribed


def repeated(on_delivery: OnDelivery) -> OnDelivery:
    def twice(delivery: Delivery) -> None:
        on_delivery(delivery)
        if next(delivered_before) < 20:
            on_delivery(delivery._replace(redelivered=True))

    return twice


def deaf(on_delivery: OnDelivery) -> OnDelivery:
    """Give the first subscriber no deliveries."""
    return (lambda _: None) if next(subscribed_before) == 0 else on_delivery


def slow(on_delivery: OnDelivery) -> OnDelivery:
    def slowly(delivery: Delivery) -> None:
        time.sleep(SLOW_S)
        on_delivery(delivery)

    return slowly


def show_a_page(connector: MemoryConnector, *arguments: object, **options: float) -> list[Browsed]:
    return browse(connector, *arguments, **options)[:400]  # type: ignore[arg-type]


def show_nothing(connector: MemoryConnector, *arguments: object, **options: float) -> list[Browsed]:
    raise DriverError("planted: it did not answer")


def leave_dead_letters(network: MemoryNetwork, member: Member, message: Outgoing) -> None:
    """Add three dead letters of another run with the first message."""
    if is_one_of(1, message, stored_before):
        for _ in range(3):
            network._places.deliver(Destination("queue", "DLQ"), Stored(b"not of this run", member.broker, 0))
    store(network, member, message)


CHANGES: dict[str, list[tuple[type, str, Callable[..., object]]]] = {
    "all swallowed": [(MemoryNetwork, "_store", swallow(1_000))],
    "60 % swallowed": [(MemoryNetwork, "_store", swallow(600))],
    "refused and stored": [(MemoryNetwork, "_accept", refuse_and_store)],
    "slow answers": [(MemoryNetwork, "_accept", accept_late)],
    "repeated": [(MemoryConnection, "subscribe", heard_by(repeated))],
    "a deaf subscriber": [(MemoryConnection, "subscribe", heard_by(deaf))],
    "a drain without time": [(MemoryConnection, "subscribe", heard_by(slow))],
    "a page of what is left": [
        (MemoryNetwork, "_store", lead_astray(1_000)),
        (MemoryConnector, "browse", show_a_page),
    ],
    "a queue that cannot be browsed": [
        (MemoryNetwork, "_store", lead_astray(10)),
        (MemoryConnector, "browse", show_nothing),
    ],
    "dead letters of others": [(MemoryNetwork, "_store", leave_dead_letters)],
}
for owner, method, planted in CHANGES.get(PLANTED, []):
    setattr(owner, method, planted)


class Producer(ProducerUser):
    group, destination, fixed_count, body_bytes = "producers", DESTINATION, 2, 64
    sends_per_second = 500
    durable = PLANTED != "a deaf subscriber"


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", DESTINATION, 2


run(
    Scenario(
        (Producer, Consumer),
        "source-and-sink",
        Hold(for_s=5),
        (no_acked_send_lost(), duplicates_at_most(0)),
        question=__doc__,
        warm_up_s=0,
    )
)
