"""Makes the plan of a run from the scenario and the options, checked before anything starts.

Options become settings of user classes (`harness.options.user_classes`), and rules judge both
(`harness.options.topology_rules`, `harness.options.user_rules`). Then the faults are planned, and the run is described.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ProducerUser
from harness.checks import require_labels
from harness.faults import Fault
from harness.faults.away import absences
from harness.faults.planning import plan_faults
from harness.faults.rolling_restart import earliest_s, expected_s
from harness.judgement import abort_conditions_of, checks_of
from harness.options.declarations import Options
from harness.options.description import describe
from harness.options.topology_rules import (
    brokers_file_refusals,
    client_refusals,
    entry_refusals,
    failover_refusals,
    group_refusals,
    place_refusals,
    proxy_refusals,
    uri_refusals,
)
from harness.options.user_classes import setting_refusals, users_of
from harness.options.user_rules import (
    closed_refusals,
    message_refusals,
    reply_refusals,
    search_refusals,
    stay_refusals,
    unserved_warnings,
    unwanted_refusals,
    work_refusals,
)
from harness.routing import (
    Exchange,
    carriage_refusals,
    exchanges_of,
    producer_consumer_pairs,
    routes_of,
    routing_refusals,
)
from harness.scenario import WARM_UP_AT_MOST_S, Hold, Scenario
from records.errors import refuse_first
from records.figures.abort import AbortCondition
from records.figures.checks import Check
from records.loads.rate_steps import format_steps
from records.loads.routes import TOPIC, Copy, copies_of
from records.run import CONSUMER, PRODUCER, RunInfo
from topologies.model.paths import count_by_links
from topologies.model.topology import Topology


@dataclass(frozen=True)
class Plan:
    """The checked plan of a run.

    ``users``: the classes that Locust makes users of. ``load_s``: None if the load ends only by message count.
    ``exchanges``: the client groups between which messages must be able to pass, with the protocols in use.
    """

    options: Options
    users: tuple[type[BrokerUser], ...]
    exchanges: tuple[Exchange, ...]
    load_s: float | None
    faults: tuple[Fault, ...]
    info: RunInfo
    after_faults_s: float | None = None  # the load ends this many seconds after the last fault
    abort_on: tuple[AbortCondition, ...] = ()  # each ends the load early

    @property
    def counts(self) -> Mapping[str, int]:
        """Users by class name."""
        return {user.__name__: user.fixed_count for user in self.users}

    @property
    def producers(self) -> Mapping[str, int]:
        """Users of the producer classes, by class name."""
        return {user.__name__: user.fixed_count for user in self.users if issubclass(user, ProducerUser)}

    @property
    def roles(self) -> tuple[tuple[str, str], ...]:
        """The (producers', consumers') client groups between which messages must be able to pass."""
        return tuple(dict.fromkeys((exchange.producers, exchange.consumers) for exchange in self.exchanges))

    @property
    def expected_load_s(self) -> float | None:
        """Expected length of the load in seconds; None if it ends only by message count."""
        if self.options.search and self.load_s is not None:
            return min(self.load_s, self.options.search.expected_s)
        if self.after_faults_s is None or self.load_s is None:
            return self.load_s
        return min(self.load_s, expected_s(self.faults) + self.after_faults_s)

    @property
    def clients_before_load(self) -> int:
        """Number of users that must be connected before the load begins."""
        clients = self.options.clients
        return clients.steps[0].clients if clients else sum(self.counts.values())

    @property
    def load_bound(self) -> str:
        """Prefix for `expected_load_s` if the end depends on the course of the run: "at most " or "about "."""
        if self.options.clients:
            return "at most "
        return "" if self.after_faults_s is None and self.options.search is None else "about "

    @property
    def topology(self) -> Topology:
        return self.options.built_topology

    @property
    def copies(self) -> float:
        """Expected deliveries per message, averaged over the producers: one per queue and one per topic subscriber."""
        producing = [user for user in self.info.users if user.role == PRODUCER]
        deliveries = sum(
            user.count * sum(map(self._deliveries, user.destinations)) / len(user.destinations) for user in producing
        )
        return deliveries / sum(self.producers.values())

    def _deliveries(self, destination: str) -> float:
        """Return the expected deliveries per message to a destination."""
        copies = copies_of(self.info.routes, destination)
        return sum(self._takers(copy) if copy.place.startswith(TOPIC) else 1 for copy in copies)

    def _takers(self, copy: Copy) -> float:
        """Return the average number of subscribers per destination. Each consumer subscribes to its share."""
        return sum(
            max(1, user.count / len(user.destinations))
            for user in self.info.users
            if user.role == CONSUMER and not {*user.destinations}.isdisjoint(copy.consumers)
        )


def expected_messages(plan: Plan) -> float | None:
    """Return the number of deliveries that the load should have; None if it has no single rate or an open length."""
    if plan.options.messages is not None:
        return plan.options.messages * plan.copies
    if plan.options.steps or plan.options.search or plan.options.clients or plan.expected_load_s is None:
        return None
    if plan.info.is_closed:
        return None
    per_s = sum(
        user.count * float(user.settings["sends_per_second"]) for user in plan.info.users if user.role == PRODUCER
    )
    return per_s * plan.expected_load_s * plan.copies


def would_run(plan: Plan) -> dict[str, object]:
    """Return the planned run as ``--dry-run`` prints it."""
    warm_up_s = plan.options.warm_up_s
    return {
        "scenario": plan.info.scenario,
        "topology": plan.info.topology,
        "brokers": len(plan.topology.brokers),
        "standbys": sum(bool(broker.standby_of) for broker in plan.topology.brokers),
        "pairs_by_links": list(plan.info.pairs_by_links),
        "enter_at": {role: sorted(plan.info.enter_at(role)) for role in (PRODUCER, CONSUMER)},
        "runtime": plan.options.runtime,
        "broker_version": plan.options.broker_version,
        "distribution": str(plan.options.distribution) if plan.options.distribution else None,
        "overlay": str(plan.options.overlay.path) if plan.options.overlay else None,
        "unset_defaults": plan.options.unset_defaults,
        "protocol": plan.options.protocol,
        "client_version": plan.options.client_version,
        "users": dict(plan.counts),
        "warm_up_at_most_s": WARM_UP_AT_MOST_S if warm_up_s is None else warm_up_s,
        "load_s": plan.load_s,
        "load_ends_after_faults_s": plan.after_faults_s,
        "expected_load_s": plan.expected_load_s,
        "expected_messages": expected_messages(plan),
        "rate_steps": format_steps(plan.options.steps) if plan.options.search is None else str(plan.options.search),
        "clients": str(plan.options.clients) if plan.options.clients else None,
        "faults": list(map(_describe_fault, plan.faults, earliest_s(plan.faults))),
        "checks": _demands(plan.info.checks),
        "premises": _demands(plan.info.premises),
        "abort_on": list(map(str, plan.abort_on)),
        "warnings": list(plan.info.warnings),
    }


def _describe_fault(fault: Fault, begins_s: float) -> str:
    """Describe a fault: ``kill broker-2 at 5 s for 8 s``. A fault that waits for an earlier one may begin later."""
    begins = f"at {begins_s:g} s" + ("" if fault.turn_pause_s is None else " or later")
    lasting = ", forever" if fault.is_forever else f" for {fault.least_s:g} s" if fault.least_s else ""
    return f"{fault.kind} {fault.target} {begins}{lasting}"


def _demands(checks: Iterable[Check]) -> dict[str, str]:
    """Return each check's condition by name, such as ``messages.lost <= 0``."""
    return {check.name: f"{check.metric} {check.rule}" for check in checks}


def make(scenario: Scenario, options: Options) -> Plan:
    """Plan a run. Raises UserError.

    The options become settings of the run's user classes. The rules judge these settings, the options and the topology
    in one pass. Faults, checks and the description of the run follow from what the rules accept.
    """
    users = users_of(scenario, options)
    producing, consuming = users.producing, users.consuming
    routes, unroutable = routes_of(users.every, options)
    by_count_alone = options.messages is not None and options.load_s is None
    load_s = None if by_count_alone else options.load_s or scenario.load.for_s
    refuse_first(
        chain(
            setting_refusals(users, options),
            failover_refusals(options),
            group_refusals(scenario, options),
            client_refusals(users.every, options),
            routing_refusals(users.every, options, unroutable),
            entry_refusals(scenario, options),
            uri_refusals(users.every, options),
            place_refusals(scenario, consuming, options),
            carriage_refusals(users.every, options, routes),
            brokers_file_refusals(options),
            proxy_refusals(options),
            closed_refusals(producing, options),
            message_refusals(producing, consuming, options, routes),
            reply_refusals(producing, consuming, options),
            search_refusals(producing, options),
            stay_refusals(consuming, load_s),
            work_refusals(producing, consuming, options),
            unwanted_refusals(producing, consuming, options),
        )
    )
    unserved = tuple(unserved_warnings(producing, consuming, options))
    planned = plan_faults(scenario.faults, options, load_s)
    faults = planned.faults + absences(consuming, load_s)
    producers = sum(user.fixed_count for user in producing)
    steps = options.search.first_steps(producers) if options.search else options.steps
    options = replace(options, built_topology=planned.topology, disk_mb=planned.disk_mb, steps=steps)
    judged_by = checks_of(scenario, options, users, faults)
    exchanges = exchanges_of(producer_consumer_pairs(users.every, routes), Spoken.parse(options.protocol))
    pairs = (planned.topology.paths_between(exchange.producers, exchange.consumers) for exchange in exchanges)
    after_faults_s = scenario.load.after_faults_s if faults and isinstance(scenario.load, Hold) else None
    if options.load_s is not None or options.messages is not None or options.steps or options.search:
        after_faults_s = None  # an option sets the length of the load
    info = describe(
        scenario,
        options,
        users,
        routes,
        faults,
        unserved=unserved,
        load_s=load_s,
        after_faults_s=after_faults_s,
        judged_by=judged_by,
        pairs_by_links=count_by_links(chain(*pairs)),
    )
    require_labels((*judged_by.checks, *judged_by.premises), info.users)
    return Plan(
        options=options,
        users=users.every,
        exchanges=exchanges,
        load_s=load_s,
        faults=faults,
        info=info,
        after_faults_s=after_faults_s,
        abort_on=abort_conditions_of(options, users, (*judged_by.checks, *judged_by.premises)),
    )
