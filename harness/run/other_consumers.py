"""Watches for consumers of other clients on the run's queues during a run.

Messages that they take are missing although no broker lost them. A broker lists its consumers with their client ids.
The client ids of this run begin with its tag (`drivers.users.session`). Listing costs a broker more than a sample, so
consumers are listed when their number has changed, and otherwise every LOOK_ANYWAY_S.

A Core consumer that reconnects has no client id at first, and other clients may never have one. So a consumer without
an id is listed again until it has one. It belongs to another client if it leaves without one, or still has none at the
end of the watch, unless its address is that of a socket of this run's processes on this machine.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psutil

from topologies.management.contract import agent_at, management_of
from topologies.management.sampling import PERIOD_S, CounterReadings, SampleSink, Series
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.management import BrokerConsumer, ManagementFailed, QueueUsers
from topologies.model.topology import Topology

log = logging.getLogger("brokerbench")

LOOK_ANYWAY_S = 10.0
NAMELESS_LOOK_S = 2.0  # while a consumer has no client id
END_TIMEOUT_S = 10.0
MOST_NAMED = 5
METRIC = "other_consumers"
MAPPED = "::ffff:"  # before the IPv4 address of an IPv6 socket, as in Java


@dataclass(frozen=True)
class OwnClients:
    """Identifies the clients of a run by their ids. ``tag``: the prefix of the ids.

    ``groups``: client groups with durable subscriptions, whose ids are the same in all runs.
    """

    tag: str
    groups: frozenset[str] = frozenset()

    def owns_client(self, client_id: str) -> bool:
        kept = "|".join(map(re.escape, sorted(self.groups)))
        return client_id.startswith(self.tag) or bool(kept and re.fullmatch(rf"(?:{kept})-\d+", client_id))


ALL_CLIENTS = OwnClients("")


def sentence(found: Collection[tuple[str, BrokerConsumer]]) -> str:
    """Describe the other consumers for a report. ``found``: (broker, consumer). Pure."""
    named = [f"{consumer} of queue {consumer.queue!a} on {broker}" for broker, consumer in sorted(found)]
    more = [f"and {len(named) - MOST_NAMED:,} more"] if len(named) > MOST_NAMED else []
    return (
        "clients outside this run consumed from its queues, so messages may have gone to them: "
        f"{', '.join((*named[:MOST_NAMED], *more))}; stop them, or use queues that no other client uses"
    )


class NamelessConsumers:
    """The consumers of one broker that have no client id yet, without those on the run's own sockets."""

    def __init__(self) -> None:
        self.waiting: frozenset[BrokerConsumer] = frozenset()
        self._own: frozenset[BrokerConsumer] = frozenset()

    def left(self, listed: Collection[BrokerConsumer]) -> list[BrokerConsumer]:
        """Return the waiting consumers that left without an id. Pure."""
        there = {(consumer.queue, consumer.address) for consumer in listed}
        return sorted(consumer for consumer in self.waiting if (consumer.queue, consumer.address) not in there)

    def update(self, nameless: Collection[BrokerConsumer], own_sockets: Callable[[], Collection[str]]) -> None:
        """Replace the waiting consumers. ``own_sockets`` is called only if there are new consumers without an id."""
        new = frozenset(nameless) - self.waiting - self._own
        sockets = own_sockets() if new else ()
        own = frozenset(consumer for consumer in new if consumer.address in sockets)
        self._own = (self._own & frozenset(nameless)) | own
        self.waiting = frozenset(nameless) - self._own


def own_sockets() -> set[str]:
    """Return the local ends of the connections of this process and its child processes, such as 127.0.0.1:51112."""
    found: set[str] = set()
    process = psutil.Process()
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.Error):
            ends = (socket.laddr for socket in each.net_connections("tcp") if socket.raddr)
            found |= {f"{end.ip.removeprefix(MAPPED)}:{end.port}" for end in ends}
    return found


class OtherConsumers:
    """Watches the queues of one run from `begin` to `end`."""

    def __init__(
        self,
        topology: Topology,
        management: Callable[[str], ManagementEndpoint],
        latest: Callable[[], Mapping[Series, CounterReadings]],
        queues: Collection[str],
        own: OwnClients,
        sink: SampleSink,
    ) -> None:
        """``queues``: the names of the run's queues. ``latest``: returns the latest samples of the brokers."""
        self.found: set[tuple[str, BrokerConsumer]] = set()
        self._topology, self._management, self._latest = topology, management, latest
        self._queues, self._own, self._sink = frozenset(queues), own, sink
        self._users = management_of(topology).queue_users
        self._counted: dict[str, int] = {}  # consumers on the queues at the last look, by broker
        self._looked_s: dict[str, float] = {}
        self._nameless = {broker.name: NamelessConsumers() for broker in topology.brokers}
        self._stopping, self._over = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        if self._users is not None and self._queues:
            arguments = (self._users,)
            self._thread = threading.Thread(target=self._watch, args=arguments, name="other-consumers", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Stop watching. No consumers are found after this call."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(END_TIMEOUT_S)
            self._thread = None
        self._over.set()

    def _watch(self, users: QueueUsers[Any]) -> None:
        while not self._stopping.wait(PERIOD_S / 2):
            latest = self._latest()
            for broker in self._topology.brokers:
                if broker.keeps_messages and self._is_due(broker.name, latest):
                    self._look(broker.name, users)
        for name, nameless in self._nameless.items():
            if nameless.waiting:
                self._look(name, users)
                self._report(name, nameless.waiting)

    def _is_due(self, broker: str, latest: Mapping[Series, CounterReadings]) -> bool:
        readings = [latest.get((broker, "queue", queue, "consumers")) for queue in self._queues]
        count = sum(reading.now.value for reading in readings if reading is not None)
        changed = count != self._counted.get(broker, 0)
        self._counted[broker] = count
        waiting = bool(self._nameless[broker].waiting)
        look_after_s = NAMELESS_LOOK_S if waiting else LOOK_ANYWAY_S
        is_old = time.monotonic() - self._looked_s.get(broker, 0.0) >= look_after_s
        return changed or (is_old and (count > 0 or waiting))

    def _look(self, broker: str, users: QueueUsers[Any]) -> None:
        self._looked_s[broker] = time.monotonic()
        try:
            with agent_at(self._topology, self._management(broker)) as agent:
                consumers = users.consumers(agent, self._queues, [other.own_name for other in self._topology.brokers])
        except ManagementFailed:  # a broker that is down has no consumers; without management there is no list
            return
        nameless = self._nameless[broker]
        others = [consumer for consumer in consumers if not self._own.owns_client(consumer.client_id)]
        self._report(broker, [*(consumer for consumer in others if consumer.client_id), *nameless.left(consumers)])
        nameless.update([consumer for consumer in others if not consumer.client_id], own_sockets)

    def _report(self, broker: str, others: Collection[BrokerConsumer]) -> None:
        """Report ``others``, the consumers of other clients."""
        if self._over.is_set():
            return
        for queue in sorted({consumer.queue for consumer in others}):
            count = sum(consumer.queue == queue for consumer in others)
            self._sink.sample(broker, time.perf_counter_ns(), "queue", queue, METRIC, count)
        for consumer in others:
            if (broker, consumer) not in self.found:
                self.found.add((broker, consumer))
                log.warning("queue %a on %s has a consumer of another client: %s", consumer.queue, broker, consumer)
