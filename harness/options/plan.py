"""Combines the scenario, the options and the topology into the plan of a run, checked before anything starts.

The rules are in `harness.options.topology_rules` and `harness.options.user_rules`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from drivers.protocols import Spoken
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.checks import parse_checks, read_checks, require_labels
from harness.faults import Fault
from harness.faults.away import absences
from harness.faults.changed_configuration import changes_of, with_changed_topologies
from harness.faults.rolling_restart import RestartInTurn, earliest_s, expected_s, why_too_long
from harness.options.abort_conditions import parse_abort_conditions
from harness.options.closed_loads import closed_refusals, is_closed, refuse_due_figures
from harness.options.declarations import Options
from harness.options.description import describe
from harness.options.fault_options import planned_faults
from harness.options.routing import producer_consumer_pairs, routes_of, routing_refusals, undelivered_class_warnings
from harness.options.topology_rules import (
    brokers_file_refusals,
    carriage_refusals,
    client_refusals,
    entry_refusals,
    failover_refusals,
    group_of,
    group_refusals,
    place_refusals,
    proxy_refusals,
    reachability_warnings,
    uri_refusals,
)
from harness.options.user_attributes import attribute_refusals
from harness.options.user_protocols import Exchange, exchanges_of
from harness.options.user_rules import (
    message_refusals,
    reply_refusals,
    search_refusals,
    stay_refusals,
    unserved_warnings,
    unwanted_refusals,
    work_refusals,
)
from harness.options.user_settings import configure_users
from harness.run.warm_up import AT_MOST_S
from harness.scenario import Hold, Scenario
from records.errors import UserError, about, refuse_first
from records.figures.abort import AbortCondition
from records.figures.checks import Check
from records.figures.declaration import FAULTS, MIRROR, MORE_CLIENTS, REGIONS, REPLIES, SCHEDULE, STEPS, Need
from records.loads.rate_steps import format_steps
from records.loads.routes import TOPIC, Copy, Route, copies_of
from records.run import CONSUMER, PRODUCER, RunInfo
from topologies.model.impaired_links import with_all_proxied
from topologies.model.paths import count_by_links
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability
from topologies.runtimes.processes.disks import DEFAULT_MB, why_no_disks
from topologies.runtimes.proxies.link_proxies import why_no_proxies

HELD = "throughput.held_per_s"  # exists only if the rate of the load changes
WITHHELD = "messages.withheld"  # exists only if messages have due times


@dataclass(frozen=True)
class Plan:
    """The checked plan of a run.

    ``counts``: users by class name; ``producers``: the same for producer classes only; ``load_s``: None if the load
    ends only by message count. ``roles``: the (producers', consumers') client groups between which messages must be
    able to pass; ``exchanges``: the same with the protocols in use.
    """

    options: Options
    counts: Mapping[str, int]
    producers: Mapping[str, int]
    roles: tuple[tuple[str, str], ...]
    exchanges: tuple[Exchange, ...]
    load_s: float | None
    faults: tuple[Fault, ...]
    info: RunInfo
    after_faults_s: float | None = None  # the load ends this many seconds after the last fault
    abort_on: tuple[AbortCondition, ...] = ()  # each ends the load early

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
        "warm_up_at_most_s": AT_MOST_S if warm_up_s is None else warm_up_s,
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
    """Plan a run, and apply the options to the scenario's user classes. Raises UserError."""
    refuse_first(
        chain(failover_refusals(options), attribute_refusals(scenario.users), group_refusals(scenario, options))
    )
    configure_users(scenario, options)
    producing = [user for user in scenario.users if issubclass(user, ProducerUser)]
    consuming = [user for user in scenario.users if issubclass(user, ConsumerUser)]
    refuse_first(chain(client_refusals(scenario.users, options), routing_refusals(scenario.users, options)))
    routes = routes_of(scenario.users, options)
    refuse_first(
        chain(
            closed_refusals(producing, options),
            entry_refusals(scenario, options),
            uri_refusals(scenario.users, options),
            message_refusals(producing, consuming, options, routes),
            reply_refusals(producing, consuming, options),
            carriage_refusals(scenario.users, options, routes),
            brokers_file_refusals(options),
            proxy_refusals(options),
        )
    )
    groups = tuple(group_of(user, options) for user in scenario.users)
    by_count_alone = options.messages is not None and options.load_s is None
    load_s = None if by_count_alone else options.load_s or scenario.load.for_s
    faults, topology = _faults(scenario, options, load_s)
    options = _with_disks(faults, options)
    faults += absences(consuming, load_s)
    refuse_first(search_refusals(producing, options))
    options = replace(options, built_topology=topology)
    if options.search:
        options = replace(options, steps=options.search.first_steps(sum(user.fixed_count for user in producing)))
    premises = () if options.fault else read_checks(scenario.premises)  # they concern the scenario's faults
    checks = _checks(scenario, options, _needs_met(faults, options, producing))
    refuse_first(
        chain(
            stay_refusals(consuming, load_s),
            work_refusals(producing, consuming, options),
            unwanted_refusals(producing, consuming) if options.steps or options.search else (),
            place_refusals(scenario, consuming, options),
        )
    )
    exchanges = exchanges_of(producer_consumer_pairs(scenario.users, routes), Spoken.parse(options.protocol))
    roles = tuple(dict.fromkeys((exchange.producers, exchange.consumers) for exchange in exchanges))
    info = replace(
        describe(scenario, options, topology, groups, routes),
        unknowns=tuple(undelivered_class_warnings(scenario.users, routes)),
        checks=checks,
        premises=premises,
        pairs_by_links=count_by_links(chain(*(topology.paths_between(*pair) for pair in roles))),
    )
    require_labels((*checks, *premises), info.users)
    info = _with_warnings(info, tuple(unserved_warnings(producing, consuming, options)), why_too_long(faults, load_s))
    info = _with_changes(info, faults, topology, scenario, routes)
    after_faults_s = _after_faults_s(scenario, options) if faults else None
    if after_faults_s is not None:
        info = replace(info, options={**info.options, "load_ends_after_faults_s": after_faults_s})
    return Plan(
        options=options,
        counts={user.__name__: user.fixed_count for user in scenario.users},
        producers={user.__name__: user.fixed_count for user in producing},
        roles=roles,
        exchanges=exchanges,
        load_s=load_s,
        faults=faults,
        info=info,
        after_faults_s=after_faults_s,
        abort_on=_abort_on(options, producing, (*checks, *premises)),
    )


def _faults(scenario: Scenario, options: Options, load_s: float | None) -> tuple[tuple[Fault, ...], Topology]:
    """Return the faults of the run, and the topology that they need. Raises UserError."""
    faults, topology = planned_faults(scenario.faults, options, options.built_topology, load_s)
    if broken := [fault for fault in faults if fault.through_proxy]:
        topology = _through_proxies(topology, broken[0], options)
    with about(f"--fault {options.fault!r}: " if options.fault else ""):
        return with_changed_topologies(faults, topology), topology


def _with_warnings(info: RunInfo, unserved: tuple[str, ...], too_long_faults: str) -> RunInfo:
    """Add warnings. ``unserved``: warnings about overloaded consumers, after which the offered rate is not judged."""
    if unserved and not info.limited_on_purpose:
        info = replace(info, limited_on_purpose="the consumers cannot process all messages that are sent to them")
    return replace(info, warnings=(*info.warnings, *unserved, *filter(None, [too_long_faults])))


def _with_changes(
    info: RunInfo, faults: Sequence[Fault], topology: Topology, scenario: Scenario, routes: tuple[Route, ...]
) -> RunInfo:
    """Add the settings that restarts change, the overlays' text, and warnings about the topology after them."""
    changes = changes_of(faults, topology)
    if not changes:
        return info
    changing = [fault for fault in faults if isinstance(fault, RestartInTurn) and fault.overlay and fault.changed]
    texts = {f"overlay/{f.overlay.path.name} (restart)": f.overlay.text for f in changing if f.overlay}
    last = changing[-1].changed
    assert last is not None, "selected above"
    known = {*reachability_warnings(topology, scenario.users, routes), *topology.warnings}
    later = (*last.warnings, *reachability_warnings(last, scenario.users, routes))
    return replace(
        info,
        options={**info.options, "changed_by_restarts": "; ".join(changes)},
        rendered={**info.rendered, **texts},
        warnings=(*info.warnings, *(f"after the restarts: {text}" for text in later if text not in known)),
    )


def _through_proxies(topology: Topology, fault: Fault, options: Options) -> Topology:
    """Route every link through a proxy, so that the links of the fault differ from the others only by the fault."""
    subject = f"{f'--fault {options.fault!r}: ' if options.fault else ''}fault {fault.kind} of {fault.target}"
    with about(f"{subject}: "):
        proxied = with_all_proxied(topology)
    if why := why_no_proxies(proxied, options.runtime):
        raise UserError(f"{subject}: {why}")
    return proxied


def _with_disks(faults: Iterable[Fault], options: Options) -> Options:
    """Give every broker a disk if any broker loses power, so that the brokers are alike. Raises UserError."""
    losing = next((fault for fault in faults if Capability.OWNS_DISKS in fault.needs), None)
    if losing is None or options.disk_mb:
        return options
    if why := why_no_disks(options.runtime):
        subject = f"--fault {options.fault!r}: " if options.fault else ""
        raise UserError(f"{subject}fault {losing.kind} of {losing.target}: {why}")
    return replace(options, disk_mb=DEFAULT_MB)


def _checks(scenario: Scenario, options: Options, met: set[Need]) -> tuple[Check, ...]:
    """Return the checks of the scenario and of ``--check``. ``met``: the needs of figures that this run meets."""
    checks = read_checks(scenario.checks)
    if not (options.search or options.steps):
        checks = tuple(check for check in checks if check.metric != HELD)
    if SCHEDULE not in met:
        checks = tuple(check for check in checks if check.metric != WITHHELD)
    with about("--check "):
        return checks + parse_checks(options.check or "", present=met)


def _abort_on(
    options: Options, producing: Sequence[type[ProducerUser]], checks: Iterable[Check]
) -> tuple[AbortCondition, ...]:
    """Return the conditions of ``--abort-on``. A closed load has no due times, which they and ``checks`` may use."""
    if options.abort_in_warm_up and not options.abort_on:
        raise UserError("--abort-in-warm-up: has no effect without --abort-on; add --abort-on, or leave it out")
    with about("--abort-on "):
        conditions = parse_abort_conditions(options.abort_on or "")
    if is_closed(producing):
        refuse_due_figures(checks, conditions)
    return conditions


def _needs_met(faults: Sequence[Fault], options: Options, producing: Sequence[type[ProducerUser]]) -> set[Need]:
    """Return the needs that the run meets. Some figures need faults, steps, due times, replies, a mirror or regions."""
    there = {
        FAULTS: faults,
        MORE_CLIENTS: options.clients,
        STEPS: options.steps or options.search,
        SCHEDULE: not is_closed(producing),
        REPLIES: any(user.awaits_replies for user in producing),
        MIRROR: any(link.is_mirror for link in options.built_topology.links),
        REGIONS: len({broker.region for broker in options.built_topology.brokers}) > 1,
    }
    return {need for need, is_there in there.items() if is_there}


def _after_faults_s(scenario: Scenario, options: Options) -> float | None:
    """Return how long the load goes on after its faults; None if an option sets its length, messages or rates."""
    end_is_chosen = options.load_s is not None or options.messages is not None or options.steps or options.search
    return None if end_is_chosen or not isinstance(scenario.load, Hold) else scenario.load.after_faults_s
