"""Checks before a run on brokers that are already running that the run's queues are empty and unused.

Existing messages would be received as foreign messages, and other consumers would take messages of the run. Only the
queues and durable subscriptions of the run are checked, and emptied if the user permits it.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.run.leftovers import Subscribers
from records.errors import UserError
from topologies.management.contract import agent_at, management_of, queries_of
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.management import BrokerConsumer, DurableSubscription, ManagementFailed, QueueUsers
from topologies.model.topology import Topology
from topologies.runtimes.contract import Progress

log = logging.getLogger("brokerbench")

EMPTIED_WITHIN_S = 5.0
LOOK_EVERY_S = 0.2
MOST_NAMED = 5
"""Maximum number of queues that an error names."""
STEP_IF_FULL = (
    "the run would receive them as foreign messages: use destinations that no other client uses, or remove these "
    "messages with --empty-queues"
)
STEP_IF_USED = (
    "it would take messages of the run: stop it, or use destinations that no other client uses (simultaneous "
    "brokerbench runs on the same brokers need different destinations)"
)


@dataclass(frozen=True)
class Occupied:
    """Messages and consumers on the run's queues of one broker before the run.

    ``queues``: (queue, number of messages) of queues that are not empty. ``subscriptions``: durable subscriptions that
    have messages or are in use.
    """

    broker: str
    queues: tuple[tuple[str, int], ...] = ()
    subscriptions: tuple[DurableSubscription, ...] = ()
    consumers: tuple[BrokerConsumer, ...] = ()

    @property
    def used(self) -> list[str]:
        """A clause for each consumer and for each subscription in use."""
        on_queues = [f"queue {user.queue!a} of {self.broker} has the consumer {user}" for user in self.consumers]
        active = [subscription for subscription in self.subscriptions if subscription.active]
        return on_queues + [f"{self._named(subscription)} is in use" for subscription in active]

    @property
    def full(self) -> list[str]:
        """A clause for each queue or subscription with messages."""
        held = [subscription for subscription in self.subscriptions if subscription.waiting]
        return [f"queue {queue!a} of {self.broker} holds {count:,} messages" for queue, count in self.queues] + [
            f"{self._named(subscription)} holds {subscription.waiting:,} messages" for subscription in held
        ]

    def _named(self, subscription: DurableSubscription) -> str:
        of_topic = f"of client {subscription.client_id!a} to topic {subscription.topic!a}"
        return f"durable subscription {subscription.name!a} {of_topic} on {self.broker}"


def refusal(found: Sequence[Occupied], *, may_empty: bool) -> str:
    """Return the reason why the run cannot start, or ''. ``may_empty``: whether queues may be emptied. Pure."""
    if used := [words for occupied in found for words in occupied.used]:
        return f"{_some(used)}; {STEP_IF_USED}"
    full = [words for occupied in found for words in occupied.full]
    return f"{_some(full)}; {STEP_IF_FULL}" if full and not may_empty else ""


def _some(words: Sequence[str]) -> str:
    more = [f"and {len(words) - MOST_NAMED:,} more"] if len(words) > MOST_NAMED else []
    return ", ".join((*words[:MOST_NAMED], *more))


class OwnQueues:
    """The queues of one run on brokers that are already running."""

    def __init__(
        self,
        topology: Topology,
        management: Callable[[str], ManagementEndpoint],
        queues: Collection[str],
        subscribers: Subscribers,
    ) -> None:
        """``queues``: names of the run's queues.

        ``management``: returns a broker's access; may raise ManagementFailed.
        """
        self._topology, self._management, self._own = topology, management, frozenset(queues)
        self._subscribers = subscribers
        self._users = management_of(topology).queue_users

    def require_unused(self, progress: Progress, *, may_empty: bool) -> None:
        """Raise UserError if a queue has messages or consumers. ``may_empty``: remove the messages instead.

        A broker that does not answer is reported. Its queues are checked after the run.
        """
        found = list(self._look(progress))
        if problem := refusal(found, may_empty=may_empty):
            raise UserError(problem)
        for occupied in found:
            self._empty(occupied, progress)

    def _look(self, progress: Progress) -> Iterator[Occupied]:
        if self._users is None:
            return
        for broker in self._topology.brokers:
            if not broker.keeps_messages:
                continue
            try:
                yield self._occupied(broker.name, self._users)
            except ManagementFailed as error:
                progress(f"it is not known whether the run's queues on {broker.name} are empty and unused: {error}")

    def _occupied(self, broker: str, users: QueueUsers[Any]) -> Occupied:
        with agent_at(self._topology, self._management(broker)) as agent:
            depths = {
                queue: figures["depth"]
                for queue, figures in queries_of(self._topology, broker).figures(agent).queues.items()
                if queue in self._own or self._subscribers.owns_queue(queue)
            }
            names = [other.own_name for other in self._topology.brokers]
            consumers = users.consumers(agent, {*self._own, *depths}, names)
            listed = management_of(self._topology).durable_subscriptions
            subscriptions = listed(agent) if listed and self._subscribers.classes else []
        return Occupied(
            broker,
            tuple(sorted((queue, depth) for queue, depth in depths.items() if depth)),
            tuple(subscription for subscription in subscriptions if self._subscribers.owns_subscription(subscription)),
            tuple(consumers),
        )

    def _empty(self, occupied: Occupied, progress: Progress) -> None:
        """Remove the messages. Raises UserError if messages are left."""
        assert self._users is not None
        if not occupied.full:
            return
        try:
            with agent_at(self._topology, self._management(occupied.broker)) as agent:
                for queue, _ in occupied.queues:
                    self._users.empty(agent, queue)
                for subscription in occupied.subscriptions:
                    if subscription.waiting:
                        self._remove(agent, subscription)
            until_s = time.monotonic() + EMPTIED_WITHIN_S
            while (left := self._occupied(occupied.broker, self._users)).full and time.monotonic() < until_s:
                time.sleep(LOOK_EVERY_S)
        except ManagementFailed as error:
            raise UserError(f"--empty-queues: {_some(occupied.full)}, which could not be removed: {error}") from error
        if left.full:
            raise UserError(f"--empty-queues: {_some(left.full)} after emptying; stop the clients that send them")
        progress(f"emptied because of --empty-queues: {_some(occupied.full)}")

    def _remove(self, agent: Any, subscription: DurableSubscription) -> None:
        remove = management_of(self._topology).remove_subscription
        assert remove is not None, "a product that lists durable subscriptions removes them"
        remove(agent, subscription)
