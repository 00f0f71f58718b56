"""Puts scenario, options and topology together into the plan of one run, checked before anything starts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from drivers.client.connection_modes import ONE_URI
from drivers.contract import Destination
from drivers.failover.uri import BadFailoverUriError, FailoverUri
from drivers.protocols import PROTOCOLS, Spoken, unsupported
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.checks import Check
from records.errors import UserError, about
from records.figures import FAULTS, MORE_CLIENTS, REPLIES, STEPS, Need
from records.rate_search import AFTER_A_STEP_S, SearchSettings
from records.rate_steps import text_of
from records.run import CONSUMER, PRODUCER, RunInfo
from scenarios.harness.checks import parse_checks, read_checks
from scenarios.harness.faults import Fault
from scenarios.harness.faults.away import absences
from scenarios.harness.faults.rolling_restart import earliest_s, expected_s, too_long
from scenarios.harness.options.description import describe
from scenarios.harness.options.fault_options import planned_faults
from scenarios.harness.options.reachability_check import common_destinations, require_carried
from scenarios.harness.options.user_rules import (
    require_all_wanted,
    require_messages_fit,
    require_ways_back,
    require_work_done,
)
from scenarios.harness.options.user_settings import configure_users
from scenarios.harness.run.warm_up import AT_MOST_S
from scenarios.harness.scenario import Hold, Scenario
from scenarios.options import Options
from topologies.catalogue.lookup import build, entries
from topologies.catalogue.yaml_topology import place_of
from topologies.model.client_groups import ClientGroup
from topologies.model.impaired_links import through_proxies
from topologies.model.paths import count_by_links
from topologies.model.topology import Topology
from topologies.runtimes.choice import external_of
from topologies.runtimes.external.credentials import CredentialsUnusable
from topologies.runtimes.proxies.link_proxies import no_proxies

TOPIC = "topic://"
HELD = "throughput.held_per_s"  # of a load whose rate changes only


@dataclass(frozen=True)
class Plan:
    """``counts``: users by class name; ``producers``: the producing ones of them; ``load_s``: None when by count alone.

    ``roles``: the (producers', consumers') client groups between which messages must be able to pass.
    """

    options: Options
    counts: Mapping[str, int]
    producers: Mapping[str, int]
    roles: tuple[tuple[str, str], ...]
    load_s: float | None
    faults: tuple[Fault, ...]
    info: RunInfo
    after_faults_s: float | None = None  # the load ends once all faults have been over for so long

    @property
    def expected_load_s(self) -> float | None:
        """How long the load will last, as far as that can be told; None when by count alone."""
        if self.options.search and self.load_s is not None:
            return min(self.load_s, self.options.search.expected_s)
        if self.after_faults_s is None or self.load_s is None:
            return self.load_s
        return min(self.load_s, expected_s(self.faults) + self.after_faults_s)

    @property
    def clients_before_load(self) -> int:
        """How many users have to be connected before the load begins."""
        clients = self.options.clients
        return clients.steps[0].clients if clients else sum(self.counts.values())

    @property
    def load_bound(self) -> str:
        """What goes before `expected_load_s` where the end depends on what happens."""
        if self.options.clients:
            return "at most "
        return "" if self.after_faults_s is None and self.options.search is None else "about "

    @property
    def topology(self) -> Topology:
        return self.options.built_topology

    @property
    def copies(self) -> float:
        """How many deliveries a message should have: one from a queue, one for each subscriber of a topic."""
        subscribers = dict.fromkeys((user.destination for user in self.info.users), 0.0)
        for user in self.info.users:
            if user.role == "consumer":  # each subscribes to its share: on average so many to each destination
                subscribers[user.destination] += max(1, user.count / len(user.destinations))
        of_topics = [user for user in self.info.users if user.role == "producer" and user.destination.startswith(TOPIC)]
        further = sum(user.count * (subscribers[user.destination] - 1) for user in of_topics)
        return 1 + further / sum(self.producers.values())


def would_run(plan: Plan) -> dict[str, object]:
    """What ``--dry-run`` prints."""
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
        "rate_steps": text_of(plan.options.steps) if plan.options.search is None else str(plan.options.search),
        "clients": str(plan.options.clients) if plan.options.clients else None,
        "faults": list(map(_in_words, plan.faults, earliest_s(plan.faults))),
        "checks": _demands(plan.info.checks),
        "premises": _demands(plan.info.premises),
        "warnings": list(plan.info.warnings),
    }


def _in_words(fault: Fault, begins_s: float) -> str:
    """``kill broker-2 at 5 s for 8 s``, of the load. One that waits for the fault before it may come later."""
    begins = f"at {begins_s:g} s" + ("" if fault.turn_pause_s is None else " or later")
    return f"{fault.kind} {fault.target} {begins}" + (f" for {fault.for_s:g} s" if fault.for_s else "")


def _demands(checks: Iterable[Check]) -> dict[str, str]:
    """By name: what must hold, such as ``messages.lost <= 0``."""
    return {check.name: f"{check.metric} {check.rule}" for check in checks}


def make(scenario: Scenario, options: Options) -> Plan:
    """Put a run together; changes the scenario's user classes to what the options ask for. Raises UserError."""
    topology = options.built_topology
    _check_failover(options)
    configure_users(scenario, options)
    groups = tuple(_group(topology, options, user) for user in scenario.users)
    _require_entries(scenario, options, groups)
    _require_uris(scenario, options, topology)
    producing = [user for user in scenario.users if issubclass(user, ProducerUser)]
    consuming = [user for user in scenario.users if issubclass(user, ConsumerUser)]
    require_messages_fit(producing, consuming, options)
    require_ways_back(producing, consuming, options)
    require_carried(topology, scenario.users, options)
    by_count_alone = options.messages is not None and options.load_s is None
    load_s = None if by_count_alone else options.load_s or scenario.load.for_s
    _require_brokers(options, topology)
    _require_proxies(options, topology)
    faults, topology = planned_faults(scenario.faults, options, topology, load_s)
    if broken := [fault for fault in faults if fault.through_proxy]:
        topology = _through_proxies(topology, broken[0], options)
    faults += absences(consuming, load_s)
    options = replace(options, built_topology=topology)
    if options.search:
        options = _searching(options.search, options, producing)
    premises = () if options.fault else read_checks(scenario.premises)  # they are about the scenario's own faults
    checks = read_checks(scenario.checks)
    if not (options.search or options.steps):
        checks = tuple(check for check in checks if check.metric != HELD)
    with about("--check "):
        checks += parse_checks(options.check or "", present=_what_it_has(faults, options, producing))
    _require_stays(consuming, load_s)
    require_work_done(consuming, producing, options)
    if options.steps or options.search:
        require_all_wanted(producing, consuming)
    _require_places(scenario, consuming, options)
    roles = tuple(sorted({(p.group, c.group) for p in producing for c in consuming if common_destinations(p, c)}))
    info = replace(
        describe(scenario, options, topology, groups),
        checks=checks,
        premises=premises,
        pairs_by_links=count_by_links(chain(*(topology.paths_between(*pair) for pair in roles))),
    )
    if warning := too_long(faults, load_s):
        info = replace(info, warnings=(*info.warnings, warning))
    after_faults_s = _after_faults_s(scenario, options) if faults else None
    if after_faults_s is not None:
        info = replace(info, options={**info.options, "load_ends_after_faults_s": after_faults_s})
    return Plan(
        options=options,
        counts={user.__name__: user.fixed_count for user in scenario.users},
        producers={user.__name__: user.fixed_count for user in producing},
        roles=roles,
        load_s=load_s,
        faults=faults,
        info=info,
        after_faults_s=after_faults_s,
    )


def _after_faults_s(scenario: Scenario, options: Options) -> float | None:
    """Whoever gives the load's length, its messages or its rates has said when it ends."""
    end_is_chosen = options.load_s is not None or options.messages is not None or options.steps or options.search
    return None if end_is_chosen or not isinstance(scenario.load, Hold) else scenario.load.after_faults_s


def _searching(search: SearchSettings, options: Options, producing: Sequence[type[ProducerUser]]) -> Options:
    """With the first steps of the search. Raises UserError where none can be made."""
    producers = sum(user.fixed_count for user in producing)
    if transacted := [user.__name__ for user in producing if user.transaction_size]:
        raise UserError(
            f"--rate {search}: messages of {', '.join(transacted)} wait for their transaction between two rates; leave "
            "transactions out"
        )
    if search.begin_per_s < producers:
        raise UserError(
            f"--rate {search}: between two rates each of {producers} producers sends a message in two seconds, so "
            f"begin at {producers} messages a second or more"
        )
    if options.load_s is not None and options.load_s < search.step_s + AFTER_A_STEP_S:
        raise UserError(
            f"--run-time {options.load_s:g}: a step of {search} alone takes {search.step_s + AFTER_A_STEP_S} s; make "
            "it longer, or leave it out"
        )
    return replace(options, steps=search.first_steps(producers))


def _what_it_has(faults: Sequence[Fault], options: Options, producing: Iterable[type[ProducerUser]]) -> set[Need]:
    """What there has to be for some figures, as `parse_checks` names it."""
    there = {
        FAULTS: faults,
        MORE_CLIENTS: options.clients,
        STEPS: options.steps or options.search,
        REPLIES: any(user.awaits_replies for user in producing),
    }
    return {need for need, is_there in there.items() if is_there}


def _require_entries(scenario: Scenario, options: Options, groups: Iterable[ClientGroup]) -> None:
    """The topology has as many brokers, and where clients enter, as the scenario's question needs."""
    there = len(options.built_topology.brokers)
    if there < scenario.brokers:
        raise UserError(
            f"--topology {options.topology}: it has {_brokers(there)}, and scenario {scenario.name} asks about "
            f"{scenario.brokers} or more; {scenario.another_topology('that has them')}"
        )
    for group in groups:
        least, brokers = scenario.entries.get(group.name, 1), len(group.enter_at)
        if brokers < least:
            raise UserError(
                f"--topology {options.topology}: group {group.name!r} enters at {_brokers(brokers)}, and scenario "
                f"{scenario.name} asks about {least}; {_where_more_enter(scenario, group.name, least)}"
            )
    if scenario.pair and not _enters_at_a_pair(options.built_topology, scenario.pair):
        names = (entry.name for entry in entries() if entry.name != scenario.default_topology)
        fitting = " or ".join(name for name in names if _enters_at_a_pair(build(name), scenario.pair))
        raise UserError(
            f"--topology {options.topology}: group {scenario.pair!r} enters at no broker that has a standby, and "
            f"scenario {scenario.name} asks about one; "
            f"{scenario.another_topology(f'where it does, such as {fitting}')}"
        )


def _enters_at_a_pair(topology: Topology, group: str) -> bool:
    actives = {broker.standby_of for broker in topology.brokers}
    return any(broker.name in actives for g in topology.groups if g.name == group for broker in g.enter_at)


def _where_more_enter(scenario: Scenario, group: str, least: int) -> str:
    return scenario.another_topology(f"where {group} enter at {least} brokers or more")


def _brokers(count: int) -> str:
    return f"{count} broker{'' if count == 1 else 's'}"


def _require_uris(scenario: Scenario, options: Options, topology: Topology) -> None:
    """Who is told of one broker has others that it is not told of."""
    for user in scenario.users:
        brokers = topology.group(user.group).enter_at
        if user.uris == ONE_URI and len(brokers) == 1:
            raise UserError(
                f"{user.__name__}: uris = {ONE_URI!r}, and its group {user.group!r} enters {options.topology} at "
                f"{brokers[0].name} alone, so its clients know no other broker anyway; leave --uris out, or choose a "
                f"--topology where {user.group} enter at several brokers"
            )


def _require_stays(consuming: Iterable[type[ConsumerUser]], load_s: float | None) -> None:
    """Consumers that come back do so within the load: what they left would else be taken for left behind."""
    for user in consuming:
        last = user.stays[-1]
        if load_s is not None and last.from_s >= load_s:
            raise UserError(
                f"{user.__name__}: its last stay begins {last.from_s:g} s into the load, which is over after "
                f"{load_s:g} s; make the load longer (-t)"
            )


def _require_places(scenario: Scenario, consuming: Sequence[type[ConsumerUser]], options: Options) -> None:
    """Classes of consumers that are to be at different brokers are, on this topology."""
    at: dict[tuple[str, int], tuple[type[ConsumerUser], int]] = {}
    for user in consuming:
        brokers = options.built_topology.group(user.group).enter_at
        for place in _places(user):
            earlier, earlier_place = at.setdefault((user.group, place % len(brokers)), (user, place))
            if earlier is not user and earlier_place != place:
                wanted = (
                    max(max(_places(consumer), default=0) for consumer in consuming if consumer.group == user.group) + 1
                )
                raise UserError(
                    f"--topology {options.topology}: {earlier.__name__} and {user.__name__} of scenario "
                    f"{scenario.name} are to be at different brokers, and group {user.group!r} enters at "
                    f"{_brokers(len(brokers))}; "
                    f"{_where_more_enter(scenario, user.group, wanted)}"
                )


def _places(user: type[ConsumerUser]) -> set[int]:
    """Where it is to be, by the places of its group's failover URI."""
    return {stay.place for stay in user.stays if stay.place is not None}


def _require_proxies(options: Options, topology: Topology) -> None:
    """Links can be delayed where Toxiproxy can get between brokers, and is to be had."""
    if why := no_proxies(topology, options.runtime):
        raise UserError(f"{f'--link {options.link!r}' if options.link else f'--topology {options.topology}'}: {why}")


def _through_proxies(topology: Topology, fault: Fault, options: Options) -> Topology:
    """Every link through a proxy, so that those of the fault differ from the others by nothing else."""
    subject = f"{f'--fault {options.fault!r}: ' if options.fault else ''}fault {fault.kind} of {fault.target}"
    with about(f"{subject}: "):
        proxied = through_proxies(topology)
    if why := no_proxies(proxied, options.runtime):
        raise UserError(f"{subject}: {why}")
    return proxied


def _require_brokers(options: Options, topology: Topology) -> None:
    """Brokers that run already have to be told of, each with its URIs."""
    if options.runtime == "external":
        try:
            external_of(options.wanted, topology, Spoken.parse(options.protocol).distinct)
        except CredentialsUnusable as error:
            raise UserError(f"--brokers-file {options.brokers_file}: {error}") from error
        except UserError as error:
            raise UserError(f"--brokers-file {error}") from error


def _check_failover(options: Options) -> None:
    """Errors name the option and the user's own text, not the whole URI."""
    if options.failover is None:
        return
    for protocol in Spoken.parse(options.protocol).distinct:
        try:
            uri = FailoverUri.compose([f"{protocol}://broker:61616"], options.failover)
        except BadFailoverUriError as error:
            raise UserError(f"--failover {options.failover}: {error.advice}") from error
        if refused := unsupported(uri, protocol):
            raise UserError(f"--failover {options.failover}: {'; '.join(refused)}")


def _group(topology: Topology, options: Options, user: type[BrokerUser]) -> ClientGroup:
    """The client group of a user class, with a failover URI that the protocol can follow."""
    try:
        for name in user.destination_names():
            destination = Destination.parse(name)
            if issubclass(user, ProducerUser):
                _require_one(destination)
        group = topology.group(user.group)
        if options.failover is not None:
            group = ClientGroup(group.name, group.enter_at, options.failover)
        protocol = Spoken.parse(options.protocol).of(user.role)
        refused = (
            *_cannot_follow(group, protocol, options),
            *_cannot_speak(group, protocol, options),
            *(_too_large(group, protocol, user.body_bytes, options) if issubclass(user, ProducerUser) else ()),
        )
    except KeyError as error:
        raise UserError(f"{user.__name__}: {error.args[0]}") from error
    except ValueError as error:
        raise UserError(f"{user.__name__}: {error}") from error
    if refused:
        raise UserError(f"{user.__name__}: {'; '.join(refused)}")
    return group


def _require_one(destination: Destination) -> None:
    """A message goes to one destination. ValueError for wildcards, and for spaces, which brokers strip or refuse."""
    if wildcard := next((letter for letter in destination.name if letter in "*>"), ""):
        rule = f"{wildcard} is a wildcard for several destinations, and a message is sent to one; write its whole name"
        raise ValueError(f"destination {str(destination)!r}: {rule}")
    if any(letter.isspace() for letter in destination.name):
        rule = "no space may be in it, as brokers strip or refuse it; write - or . instead"
        raise ValueError(f"destination {str(destination)!r}: {rule}")


def _cannot_follow(group: ClientGroup, protocol: str, options: Options) -> Iterator[str]:
    """Failover options that no client takes, or no client of this protocol, with their places in a file."""
    place = place_of(options.topology, group.name, "failover") if options.failover is None else ""
    try:
        uri = FailoverUri.parse(_with_ports(group, protocol))
    except BadFailoverUriError as error:
        if not place:
            raise
        yield f"{place}{error.advice}"
    else:
        yield from (f"{place}{refusal}" for refusal in unsupported(uri, protocol))


def _cannot_speak(group: ClientGroup, protocol: str, options: Options) -> Iterator[str]:
    """Brokers where the group enters that do not listen for its protocol, as one sentence."""
    if options.runtime not in ("memory", "external"):  # there the brokers' file tells, not the topology
        silent = [broker for broker in group.enter_at if protocol not in broker.spoken]
        if silent:
            common = [name for name in PROTOCOLS if all(name in broker.spoken for broker in group.enter_at)]
            added = silent[0].listener_called
            ways = [f"give each {added} for it"] if added else []
            ways += [f"choose a --protocol of {', '.join(common)}"] if common else []
            yield f"{protocol} is not spoken by {', '.join(broker.name for broker in silent)}; {', or '.join(ways)}"


def _too_large(group: ClientGroup, protocol: str, body_bytes: int, options: Options) -> Iterator[str]:
    """Brokers that would end the connection over such a body, as sentences."""
    for broker in group.enter_at if options.runtime not in ("memory", "external") else ():
        most = broker.largest_frame_bytes(protocol)
        if most is not None and body_bytes >= most:
            yield (
                f"a body of {body_bytes:,} bytes is more than broker {broker.name} takes in a frame of {protocol} "
                f"({most:,}); write less for --body-bytes, or raise max_frame_size_bytes of its transport connector"
            )


def _with_ports(group: ClientGroup, protocol: str) -> str:
    """The group's failover URI before the ports are known: to check its options before any broker starts."""
    return group.failover_uri({broker.name: f"{protocol}://{broker.name}:1" for broker in group.enter_at})
