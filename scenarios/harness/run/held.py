"""Records the messages that brokers hold for durable subscriptions which no client uses any more.

A subscriber that went on at another broker leaves such a subscription behind. A broker shows these messages to nobody
but the subscriber. So a connection in the subscriber's name takes them and acknowledges none: the broker keeps them.
"""

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from drivers.contract import Connector, Delivery, Destination, DriverError, Subscription
from records import identity
from records.run import UserInfo
from records.writer import Recorder
from topologies.management.contract import DurableSubscription
from topologies.model.endpoints import Credentials, Endpoint

CONNECT_TIMEOUT_S = 10.0
NOTHING_MORE_S = 5.0
LOOK_EVERY_S = 0.1


@dataclass(frozen=True)
class Subscribers:
    """The classes of a run's users that have durable subscriptions: (class, client group)."""

    classes: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, users: Iterable[UserInfo]) -> "Subscribers":
        durable = (user for user in users if user.role == "consumer" and user.settings.get("durable"))
        return cls(frozenset((user.name, user.group) for user in durable if user.destination.startswith("topic://")))

    def have(self, subscription: DurableSubscription) -> bool:
        """Whether it is one of theirs: as `drivers.users` names client and subscription."""
        return any(
            re.fullmatch(rf"{re.escape(group)}-\d+", subscription.client_id)
            and re.fullmatch(
                rf"{re.escape(name)}-\d+(-.+)?", subscription.name
            )  # with its destination, if one of several
            for name, group in self.classes
        )


NO_SUBSCRIBERS = Subscribers()


def record_held(
    endpoint: Endpoint,
    held: DurableSubscription,
    connector: Connector,
    credentials: Credentials,
    recorder: Recorder,
    run_number: int,
) -> str:
    """Record the messages of one subscription. Returns why they are not all known; '' if they are."""
    taken: list[Delivery] = []
    to, about = Destination("topic", held.topic), f"{endpoint.broker}: durable subscription {held.name} of {held.topic}"
    wanted = Subscription(to, prefetch=held.waiting + 1, selector=held.selector, durable_name=held.name)
    try:
        connection = connector.connect(
            endpoint,
            credentials,
            client_id=held.client_id,
            timeout_s=CONNECT_TIMEOUT_S,
            on_settled=_ignore,
            on_lost=_ignore,
        )
        try:
            connection.subscribe(wanted, taken.append)
            _wait_for(held.waiting, lambda: len(taken))
        finally:
            connection.close()
    except (DriverError, ConnectionError) as error:
        return f"{about} holds {held.waiting} messages, reading them failed: {error}"
    for delivery in taken:
        reading = identity.read(delivery.body, run_number)
        recorder.leftover(endpoint.broker, held.name, False, reading.producer, reading.seq, reading.attempt, None)
    return "" if len(taken) >= held.waiting else f"{about} holds {held.waiting} messages, and gave {len(taken)}"


def _wait_for(count: int, so_far: Callable[[], int]) -> None:
    """Until there are so many, or no more come."""
    seen, since_s = 0, time.monotonic()
    while (now := so_far()) < count and time.monotonic() - since_s < NOTHING_MORE_S:
        if now > seen:
            seen, since_s = now, time.monotonic()
        time.sleep(LOOK_EVERY_S)


def _ignore(*_: object) -> None:
    """Nothing is sent, and a connection that is lost shows by what is missing."""
