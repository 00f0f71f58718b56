"""Manages the brokers of one run: starts them, watches them, browses their queues and takes them down."""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import cast

import psutil

from drivers import canary
from drivers.client.contract import ClientConnector
from drivers.contract import Connector
from drivers.memory.connector import MemoryConnector
from drivers.protocols import Spoken, connector_of, connectors_of
from drivers.users.session import Network
from harness.bring_up import bring_up, links_that_brokers_may_reject
from harness.faults.probe import RuntimeProbe
from harness.memory_runtime import MemoryRuntime
from harness.options.declarations import Options
from harness.routing import Exchange
from harness.run.leftovers import (
    NO_SUBSCRIBERS,
    BrowseResult,
    DeadLetterQueues,
    LeftoverSearch,
    SearchDoubts,
    Subscribers,
    browse_broker,
    queues_of,
    record_held,
)
from harness.run.occupied import OwnQueues
from harness.run.other_consumers import ALL_CLIENTS, OtherConsumers, OwnClients, sentence
from harness.run.snapshot import UP
from harness.run.watch import ManagedWatch, MemoryWatch, Watch
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from topologies.management.contract import agent_at, management_of
from topologies.management.link_logs import attempt_sentences, give_up_sentences
from topologies.management.link_traffic import whole_run_rows
from topologies.management.link_users import sentences, states, up_against_login
from topologies.management.mirrored_queues import MirroredQueues, mirrored_queues, queue_names, removal_wait_s
from topologies.management.mirrored_queues import sentence as mirror_sentence
from topologies.management.sampling import PERIOD_S, CounterReadings, Series
from topologies.model.client_groups import ClientGroup
from topologies.model.endpoints import Endpoint
from topologies.model.management import DurableSubscription, ManagementFailed
from topologies.model.paths import Path
from topologies.model.topology import Topology
from topologies.model.trust import Trust
from topologies.runtimes.capabilities import Capability, can
from topologies.runtimes.choice import runtime_of, trust_in
from topologies.runtimes.contract import Progress, Runtime, RuntimeFailed
from topologies.runtimes.managed import ManagedRuntime, proxies_of

log = logging.getLogger("brokerbench")

Reroute = Callable[[Endpoint], Endpoint]
"""Returns the endpoint of a proxy for clients to use instead of the broker's. Proof and browsing bypass the proxy."""


class BrokerEnvironment:
    """The brokers of one run. `close` may be called at any time, even while `up` is busy, and more than once."""

    def __init__(
        self,
        options: Options,
        directory: RunDirectory,
        recorder: Recorder,
        process: str,
        reroute: Reroute | None,
        destinations: Collection[str],
        subscribers: Subscribers = NO_SUBSCRIBERS,
        *,
        sent_to: Collection[str] = (),
        copied: bool = False,
        own_clients: OwnClients = ALL_CLIENTS,
    ) -> None:
        """``destinations``: the clients' destinations. ``subscribers``: the classes with durable subscriptions.
        ``sent_to``: the destinations that producers send to. ``copied``: whether brokers copy messages to several
        destinations. ``own_clients``: identifies the clients of the run.
        """
        topology = options.built_topology
        self._topologies = [topology]  # at the start, then after each restart that changed settings
        self.runtime: Runtime
        self.connectors: Mapping[str, ClientConnector]
        self._options = options
        self._spoken = Spoken.parse(options.protocol)
        self._trust = Trust()
        self._recorder = recorder
        self._reroute = reroute
        self._destinations = destinations
        self._dead_letters = DeadLetterQueues.of(topology, sent_to)
        self._subscribers = subscribers
        self._watch: Watch
        self._is_up = False
        self._not_joined: Callable[[], Collection[str]] = frozenset
        self._gone: Callable[[], Collection[str]] = frozenset
        self._uncertain_states: dict[str, str] = {}
        self._mirrored: MirroredQueues = {}
        self._mirror_notes: list[str] = []
        if options.runtime == "memory":
            memory = MemoryRuntime([broker.name for broker in topology.brokers])
            self.runtime, self._watch = memory, MemoryWatch(memory)
            self.connectors = {"memory": MemoryConnector(memory.network)}
        else:
            topics = copied or any(destination.startswith("topic://") for destination in destinations)
            self.runtime = runtime_of(options.wanted, topology, directory, topics=topics)
            self._trust = trust_in(self.runtime, options.trust)
            self.connectors = connectors_of(self._spoken, self._trust)
            self._watch = watch = ManagedWatch(topology, self.runtime, recorder, process)
            if isinstance(self.runtime, ManagedRuntime):
                self.runtime.on_reconfigured(self._follow)
                self.runtime.on_reconfigured(watch.follow)
        queues = (self._watch.latest, queues_of(destinations), own_clients, recorder)
        self._others = OtherConsumers(topology, self.runtime.management, *queues)
        self.probe = RuntimeProbe(self.runtime, topology, self.connectors)

    @property
    def topology(self) -> Topology:
        """The topology with the settings that restarts have changed so far."""
        return self._topologies[-1]

    def _follow(self, topology: Topology) -> None:
        """Use a topology with settings that the restart of a broker changes."""
        self._topologies.append(topology)
        self.probe.follow(topology)

    def up(
        self,
        progress: Progress,
        exchanges: Sequence[Exchange],
        started: Callable[[], None],
        not_joined: Callable[[], Collection[str]] = frozenset,
        gone: Callable[[], Collection[str]] = frozenset,
        waiting: Collection[str] = frozenset(),
    ) -> None:
        """Start all brokers, begin to sample them, and prove links and paths.

        ``exchanges``: the groups that exchange messages, with their protocols. ``started``: called between start and
        proof. ``not_joined``: returns the brokers that will join and have not joined yet. ``gone``: returns the brokers
        that a fault has taken down for good. ``waiting``: names of links that a fault starts.
        """
        self._not_joined, self._gone = not_joined, gone
        paths_by_protocols: dict[tuple[str, str], list[Path]] = {}
        for exchange in exchanges:
            paths = self.topology.paths_between(exchange.producers, exchange.consumers)
            paths_by_protocols.setdefault(exchange.protocols, []).extend(paths)
        crossings = [
            (paths, canary.sides(self.runtime, self.connectors, *protocols))
            for protocols, paths in paths_by_protocols.items()
        ]
        parts = (self.runtime, self.topology, crossings, progress)
        proof = bring_up(*parts, started=lambda: self._started(started, progress), absent=not_joined(), waiting=waiting)
        for row in proof.round_trips:
            self._recorder.sample(*row)

    def _started(self, notify: Callable[[], None], progress: Progress) -> None:
        self._is_up = True
        if can(self.runtime.name, Capability.REACHES_RUNNING_BROKERS):
            own = OwnQueues(self.topology, self.runtime.management, queues_of(self._destinations), self._subscribers)
            own.require_unused(progress, may_empty=self._options.empty_queues)
        self._watch.begin()
        self._others.begin()
        notify()

    def network(self) -> Network:
        """Return how the clients reach the brokers, with the user's failover options if any."""
        uris = {protocol: self._uris(protocol) for protocol in self._spoken.distinct}
        for broker in self.topology.brokers:
            self._reached(broker.name)
        groups = [self._group(group) for group in self.topology.groups]
        return Network(
            spoken=self._spoken,
            credentials=self.runtime.credentials(),
            failover_uris={
                protocol: {
                    group.name: group.failover_uri(of_broker)
                    for group in groups
                    if all(broker.name in of_broker for broker in group.enter_at)
                }
                for protocol, of_broker in uris.items()
            },
            broker_names={
                uri.partition("://")[2].partition("?")[0]: name
                for of_broker in uris.values()
                for name, uri in of_broker.items()
            },
            trust=self._trust,
            not_alone=frozenset(self._not_joined())
            | {broker.name for broker in self.topology.brokers if broker.standby_of},
        )

    def _uris(self, protocol: str) -> dict[str, str]:
        """Return the URI for clients of each broker that has a listener for this protocol."""
        endpoints = []
        for broker in self.topology.brokers:
            with suppress(KeyError):
                endpoints.append(self.runtime.endpoint(broker.name, protocol))
        if self._reroute:
            endpoints = [self._reroute(endpoint) for endpoint in endpoints]
        return {endpoint.broker: endpoint.uri for endpoint in endpoints}

    def _reached(self, broker: str) -> Endpoint:
        """Return a broker's endpoint for the run's clients, with a consumer protocol if possible. Raises KeyError."""
        for protocol in (self._spoken.consumers, *self._spoken.distinct):
            with suppress(KeyError):
                return self.runtime.endpoint(broker, protocol)
        return self.runtime.endpoint(broker, self._spoken.consumers)

    def _group(self, group: ClientGroup) -> ClientGroup:
        if self._options.failover is None:
            return group
        return ClientGroup(group.name, group.enter_at, self._options.failover)

    def dead_brokers(self, expected: Callable[[], Collection[str]] = frozenset) -> list[str]:
        """Return a sentence for each broker or link proxy that ended unexpectedly.

        If all brokers went down together, there is one sentence. ``expected``: returns the brokers that should be down.
        It is called before and after the check, as a fault may begin or end during it.
        """
        before = expected()
        missing = [broker.name for broker in self.topology.brokers if not self.runtime.alive(broker.name)]
        dead = [broker for broker in missing if broker not in {*before, *expected()}]
        if outage := self.runtime.outage() if dead else "":
            return [outage]
        proxies = proxies_of(self.runtime)
        broken = [loss] if proxies and (loss := proxies.loss()) else []
        return broken + [
            f"broker {broker} ended unexpectedly; the last lines of its log:\n"
            + "\n".join(self.runtime.log_tail(broker))
            for broker in dead
        ]

    def are_all_linked(self) -> bool:
        """Whether all brokers run and all links are up. False if a broker at an end of a link does not answer.

        Also False for brokers that are not the run's own: they may have links that the topology lacks.
        """
        if not can(self.runtime.name, Capability.OWNS_BROKERS):
            return False
        return all(self.runtime.alive(broker.name) for broker in self.topology.brokers) and self.probe.links_are_up()

    def latest(self) -> Mapping[Series, CounterReadings]:
        """Return the latest samples of the brokers. Sends no request."""
        return self._watch.latest()

    def states(self, expected_down: Collection[str] = ()) -> dict[str, str]:
        """Return the state of each broker: up | frozen | dead | not running | not serving.

        ``expected_down``: the brokers that a fault has taken down and that do not accept logins yet. If their process
        runs, they are "not serving". So is a broker that stands by, as its product reports it.
        """
        return {broker.name: self._state(broker.name, expected_down) for broker in self.topology.brokers}

    def _state(self, broker: str, expected_down: Collection[str]) -> str:
        if not self._is_up:
            return "not running"
        pid = self.runtime.pid(broker)
        if not self.runtime.alive(broker):
            return "not running" if broker in self._not_joined() else "dead"
        try:
            if pid and psutil.Process(pid).status() == psutil.STATUS_STOPPED:
                return "frozen"
        except psutil.Error:
            return "dead"
        return "not serving" if broker in {*expected_down, *self._watch.standbys()} else UP

    def waiting(self) -> int | None:
        """Return the number of messages that consumers can still get, or None if a broker does not answer."""
        try:
            return sum(
                self._dead_letters.waiting(self._depths(broker))
                + sum(subscription.waiting for subscription in self._to_be_delivered(broker))
                for broker in self._searched()
            )
        except ManagementFailed:
            return None

    def _durable_subscriptions(self, broker: str) -> list[DurableSubscription]:
        """Return the durable subscriptions of a broker; [] if the run has none. Raises ManagementFailed."""
        return self._watch.durable_subscriptions(broker) if self._subscribers.classes else []

    def _to_be_delivered(self, broker: str) -> list[DurableSubscription]:
        """Return the subscriptions whose messages can still move: of connected clients, and of the run's links."""
        of_links = can(self.runtime.name, Capability.OWNS_BROKERS)
        return [
            subscription
            for subscription in self._durable_subscriptions(broker)
            if (subscription.active if self._subscribers.owns_subscription(subscription) else of_links)
        ]

    def _searched(self) -> list[str]:
        """Return the brokers whose messages count: all except brokers that never joined or are gone for good."""
        left_out = {*self._not_joined(), *self._gone()}
        return [broker.name for broker in self.topology.brokers if broker.name not in left_out]

    def _depths(self, broker: str) -> Mapping[str, int]:
        """Return the number of messages on each queue that belongs to the run. Raises ManagementFailed."""
        depths = self._watch.depths(broker)
        if can(self.runtime.name, Capability.OWNS_BROKERS):
            return depths
        return self._dead_letters.select_run_queues(depths, self._destinations, self._subscribers)

    def browse(self, run_number: int, *, expires: bool) -> SearchDoubts:
        """Record every message left on a queue. Return what could not be established.

        ``expires``: whether messages can expire. The method then waits until the brokers have been sampled again, as
        only they know which messages expired.
        """
        self._others.end()  # the search itself has consumers
        brokers, look = self._searched(), partial(self._look, run_number)
        linked = bool(self.topology.links)
        search = LeftoverSearch(brokers, self._depths, look, self._dead_letters, linked=linked)
        doubts = SearchDoubts(search.run())
        for leftover in search.leftovers():
            self._recorder.leftover(*leftover)
        for broker in brokers:
            self._browse_subscriptions(broker, run_number, doubts)
        if expires:
            time.sleep(2 * PERIOD_S)
        return doubts

    def _look(self, run_number: int, broker: str, depths: Mapping[str, int]) -> Iterator[BrowseResult]:
        """Browse the queues of one broker that have these depths."""
        where, credentials = self._reached(broker), self.runtime.credentials()
        browser = self._watch.browser(self.connectors[where.protocol], self._trust)
        to = run_number, self._dead_letters
        return browse_broker(where, depths, browser, credentials, *to, lambda: self._depths(broker))

    def _browse_subscriptions(self, broker: str, run_number: int, doubts: SearchDoubts) -> None:
        """Record the messages of durable subscriptions that have no consumer, including subscriptions of links."""
        try:
            abandoned = [
                subscription
                for subscription in self._durable_subscriptions(broker)
                if subscription.waiting
                and not (self._subscribers.owns_subscription(subscription) and subscription.active)
            ]
            if not can(self.runtime.name, Capability.OWNS_BROKERS):
                abandoned = [
                    subscription for subscription in abandoned if self._subscribers.owns_subscription(subscription)
                ]
            elif not all(map(self._subscribers.owns_subscription, abandoned)):
                self._stop_links()  # links use these subscriptions
        except ManagementFailed as error:
            doubts.anywhere.append(f"the messages of durable subscriptions on {broker} are not known: {error}")
            return
        for subscription in abandoned:
            if doubt := self._browse_subscription(broker, subscription, run_number):
                owns = self._subscribers.owns_subscription(subscription)
                doubts.add(doubt, subscription.queue if owns else "")

    def _browse_subscription(self, broker: str, abandoned: DurableSubscription, run_number: int) -> str:
        connector = cast(Connector, connector_of(management_of(self.topology).browse_by, self._trust))
        try:
            where = self.runtime.endpoint(broker, connector.protocol)
        except KeyError as error:
            return f"durable subscriptions are read with {connector.protocol}, but {error.args[0]}"
        return record_held(where, abandoned, connector, self.runtime.credentials(), self._recorder, run_number)

    def _stop_links(self) -> None:
        """Stop every link. Raises ManagementFailed."""
        for link in self.topology.links:
            with agent_at(self.topology, self.runtime.management(link.opened_by.name)) as agent:
                management_of(self.topology).stop_link(agent, link.connector)

    def other_consumers(self) -> str:
        """Return a sentence about consumers of other clients on the run's queues; '' if there were none."""
        return sentence(self._others.found) if self._others.found else ""

    def link_notes(self, load_began_ns: int | None) -> list[str]:
        """Return sentences: links whose users brokers may reject, links that gave up, attempts, and queues of mirrors.

        The first have the link's state and the brokers' log lines. ``load_began_ns``: on the monotonic clock.
        """
        uncertain = sentences(self.runtime, self.topology, self._uncertain_states)
        brokers = (self.runtime, self._topologies)
        unix_ns = time.time_ns() - time.perf_counter_ns() + (load_began_ns or 0)
        attempts = [] if load_began_ns is None else attempt_sentences(*brokers, unix_ns)
        return [*uncertain, *give_up_sentences(*brokers), *attempts, *self._mirror_notes]

    def list_mirrored_queues(self, when: str) -> None:
        """Keep a sentence per mirror with the queues at both its ends, unless the last sentence has the same queues.

        ``when``: such as "after the load".
        """
        if can(self.runtime.name, Capability.CONFIGURES_BROKERS):
            listed = mirrored_queues(self.runtime, self.topology)
            for link in self.topology.links:
                if link.name in listed and queue_names(listed, link) != queue_names(self._mirrored, link):
                    self._mirror_notes.append(mirror_sentence(link, listed[link.name], when))
            self._mirrored = listed

    def list_mirrored_queues_without_clients(self) -> None:
        """Do the same once the brokers have removed the queues that lost their clients."""
        time.sleep(removal_wait_s(self.topology))
        self.list_mirrored_queues("after the clients left")

    def check_uncertain_links(self) -> list[str]:
        """Keep the states of the links whose users brokers may reject. Return why the run is invalid, if it is."""
        uncertain = links_that_brokers_may_reject(self.runtime, self.topology)
        self._uncertain_states = states(self.runtime, self.topology, uncertain)
        return up_against_login(self.topology, self._uncertain_states)

    def count_links(self) -> None:
        """Close the link proxies, and record the bytes that each link carried in the whole run."""
        if proxies := proxies_of(self.runtime):
            try:
                carried = proxies.carried_at_end()
            except (RuntimeFailed, OSError) as error:
                log.warning("the bytes that links carried are not known: %s", error)
                return
            for row in whole_run_rows(carried):
                self._recorder.sample(*row)

    def close(self) -> None:
        """Stop sampling and take every broker down."""
        self._is_up = False
        self._others.end()
        self._watch.end()
        self.runtime.close()
