"""What exactly will be run? Scenario, options and topology, put together and checked before anything starts."""

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from drivers.broker_user import BrokerUser
from drivers.contract import Destination
from drivers.failover import BadFailoverUriError, FailoverUri
from drivers.habits import HABITS, ONE, PER_MESSAGE, POOLED
from drivers.honoured import unsupported
from drivers.protocols import PROTOCOLS, Spoken
from drivers.users import ConsumerUser, ProducerUser
from records.run import RECEIVERS, BrokerInfo, GroupInfo, LinkInfo, RunInfo, UserInfo
from scenarios.harness import machine
from scenarios.harness.carried import not_carried
from scenarios.harness.faults.contract import Fault
from scenarios.harness.options import OptionError, Options
from scenarios.harness.scenario import Scenario
from scenarios.harness.transactions import require_transactions
from topologies import catalogue
from topologies.artemis.brokers import ArtemisBroker
from topologies.impaired import as_they_come, impaired
from topologies.impairment import Impairment
from topologies.links import Link
from topologies.model import Broker, ClientGroup, Topology, TopologyInvalid
from topologies.own_topology import is_file, place_of
from topologies.proxied import proxied
from topologies.runtimes.external.runtime import UNTOUCHABLE
from topologies.runtimes.links.proxies import no_proxies
from topologies.runtimes.making import external_of

log = logging.getLogger("brokerbench")

LISTENERS: Mapping[type, str] = {Broker: "a transport connector", ArtemisBroker: "an acceptor"}
"""By kinds of brokers what can be added to them, so that they speak one protocol more."""

Setting = int | float | str
Own = tuple[tuple[type[BrokerUser], str, Setting], ...]
"""(user class, attribute, value)"""


@dataclass(frozen=True)
class Plan:
    """``counts``: users by class name; ``producers``: the producing ones of them; ``load_s``: None when by count alone.

    ``roles``: the (producers', consumers') client groups between which messages must be able to pass.
    """

    topology: Topology
    counts: Mapping[str, int]
    producers: Mapping[str, int]
    roles: tuple[tuple[str, str], ...]
    load_s: float | None
    faults: tuple[Fault, ...]
    info: RunInfo


def make(scenario: Scenario, options: Options) -> Plan:
    """Put a run together; changes the scenario's user classes to what the options ask for. Raises OptionError."""
    topology = _topology(options)
    _check_failover(options)
    configure_users(scenario, options)
    groups = tuple(_group(topology, options, user) for user in scenario.users)
    producing = [user for user in scenario.users if issubclass(user, ProducerUser)]
    consuming = [user for user in scenario.users if issubclass(user, ConsumerUser)]
    by_count_alone = options.messages is not None and options.load_s is None
    load_s = None if by_count_alone else options.load_s or scenario.load.for_s
    _require_brokers(options, topology)
    _require_proxies(options, topology)
    return Plan(
        topology=topology,
        counts={user.__name__: user.fixed_count for user in scenario.users},
        producers={user.__name__: user.fixed_count for user in producing},
        roles=tuple(
            sorted({(p.group, c.group) for p in producing for c in consuming if p.destination == c.destination})
        ),
        load_s=load_s,
        faults=_faults(scenario, options, topology, load_s),
        info=_info(scenario, options, topology, groups),
    )


CONFIGURED = (
    "fixed_count",
    "body_bytes",
    "in_flight",
    "sends_per_second",
    "connections",
    "pool_size",
    "transaction_size",
)


def settings(users: Iterable[type]) -> dict[str, dict[str, Setting]]:
    """What a run's options can change of user classes, by class: a worker's own classes know nothing of the options."""
    return {user.__name__: {name: getattr(user, name) for name in CONFIGURED if hasattr(user, name)} for user in users}


def remember(scenario: Scenario) -> Own:
    """What the user classes say themselves, before any run's options change them; `restore` brings it back."""
    return tuple(
        (user, name, getattr(user, name)) for user in scenario.users for name in CONFIGURED if hasattr(user, name)
    )


def restore(own: Own) -> None:
    """One process makes many runs in the web UI: what one run chose is not the next one's default."""
    for user, name, value in own:
        setattr(user, name, value)


def configure_users(scenario: Scenario, options: Options) -> None:
    """Give the scenario's user classes the counts, sizes and rates that were asked for."""
    producing = [user for user in scenario.users if issubclass(user, ProducerUser)]
    consuming = [user for user in scenario.users if issubclass(user, ConsumerUser)]
    _count(producing, options.producers)
    _count(consuming, options.consumers)
    producers = sum(user.fixed_count for user in producing)
    for user in producing:
        if options.body_bytes is not None:
            user.body_bytes = options.body_bytes
        if options.in_flight is not None:
            user.in_flight = options.in_flight
        if options.transaction_size is not None:
            user.transaction_size = options.transaction_size
        if options.rate is not None:
            user.sends_per_second = options.rate / producers
    for each in scenario.users:
        _connect(each, options)
    require_transactions(producing)
    if options.pool_size is not None and not any(user.connections == POOLED for user in scenario.users):
        raise OptionError(
            f"--pool-size {options.pool_size}: nobody shares connections; add --connections {POOLED}, or leave it out"
        )


def _connect(user: type[BrokerUser], options: Options) -> None:
    """The habit by which a class holds its connections: what is called for each message sends, and never listens."""
    user.connections = options.connections or user.connections
    user.pool_size = user.pool_size if options.pool_size is None else options.pool_size
    if user.connections not in HABITS:
        known = ", ".join(HABITS)
        raise OptionError(f"{user.__name__}: connections = {user.connections!r} is no habit; write one of {known}")
    if user.pool_size < 1:
        raise OptionError(f"{user.__name__}: pool_size = {user.pool_size}: must be at least 1")
    if user.connections == PER_MESSAGE and issubclass(user, ConsumerUser):
        user.connections = ONE


def _count(users: Sequence[type[BrokerUser]], count: int | None) -> None:
    """Spread a count over several classes, the first ones getting what does not divide."""
    if count is None:
        return
    if count < len(users):
        names = ", ".join(user.__name__ for user in users)
        raise OptionError(f"{count} users for {len(users)} classes ({names}): each needs at least one")
    for index, user in enumerate(users):
        user.fixed_count = count // len(users) + (1 if index < count % len(users) else 0)


def _topology(options: Options) -> Topology:
    try:
        topology = catalogue.build(options.topology)
    except TopologyInvalid as error:
        of_what = "" if is_file(options.topology) else f"{options.topology}: "  # a file is named in each problem
        raise OptionError(f"--topology {of_what}{error}") from error
    if options.runtime == "external" and not options.link and proxied(topology.links):
        log.warning("the brokers run already, so their links are left as they are, whatever %s says", options.topology)
        return as_they_come(topology)
    try:
        return impaired(topology, options.link)
    except TopologyInvalid as error:
        raise OptionError(f"--link {error}") from error


def _require_proxies(options: Options, topology: Topology) -> None:
    """Links can be delayed where Toxiproxy can get between brokers, and is to be had."""
    if why := no_proxies(topology, options.runtime):
        raise OptionError(f"{f'--link {options.link!r}' if options.link else f'--topology {options.topology}'}: {why}")


def _require_brokers(options: Options, topology: Topology) -> None:
    """Brokers that run already have to be told of, each with its URIs."""
    if options.runtime == "external":
        try:
            external_of(options.wanted, topology, Spoken.parse(options.protocol).distinct)
        except ValueError as error:
            raise OptionError(f"--brokers-file {error}") from error


def _faults(scenario: Scenario, options: Options, topology: Topology, load_s: float | None) -> tuple[Fault, ...]:
    """The scenario's faults, each aimed at a broker that is there and ours to break, at a time that comes."""
    for fault in scenario.faults:
        if options.runtime == "external":
            raise OptionError(f"fault {fault.kind} of {fault.target}: {UNTOUCHABLE}")
        try:
            topology.broker(fault.target)
        except KeyError as error:
            raise OptionError(f"fault {fault.kind} at {fault.at_s:g} s: {error.args[0]}") from error
        if load_s is not None and fault.at_s + fault.for_s > load_s:
            ends_s = fault.at_s + fault.for_s
            raise OptionError(
                f"fault {fault.kind} of {fault.target}: it lasts from {fault.at_s:g} s to {ends_s:g} s of the load, "
                f"which is over after {load_s:g} s; make the load longer (-t)"
            )
    return scenario.faults


def _check_failover(options: Options) -> None:
    """What the user wrote himself is told by the option's name, without the URI that it becomes a part of."""
    if options.failover is None:
        return
    for protocol in Spoken.parse(options.protocol).distinct:
        try:
            uri = FailoverUri.compose([f"{protocol}://broker:61616"], options.failover)
        except BadFailoverUriError as error:
            raise OptionError(f"--failover {options.failover}: {error.advice}") from error
        if refused := unsupported(uri, protocol):
            raise OptionError(f"--failover {options.failover}: {'; '.join(refused)}")


def _group(topology: Topology, options: Options, user: type[BrokerUser]) -> ClientGroup:
    """The client group of a user class, with a failover URI that the protocol can follow."""
    try:
        Destination.parse(user.destination)
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
        raise OptionError(f"{user.__name__}: {error.args[0]}") from error
    except ValueError as error:
        raise OptionError(f"{user.__name__}: {error}") from error
    if refused:
        raise OptionError(f"{user.__name__}: {'; '.join(refused)}")
    return group


def _cannot_follow(group: ClientGroup, protocol: str, options: Options) -> Iterator[str]:
    """Failover options that no client takes, or those of this protocol do not, with where a file has them."""
    place = place_of(options.topology, group.name, "failover") if options.failover is None else ""
    try:
        uri = FailoverUri.parse(_with_ports(group, protocol))
    except BadFailoverUriError as error:
        if not place:
            raise
        yield f"{place}{error.advice}"
    else:
        yield from (f"{place}{each}" for each in unsupported(uri, protocol))


def _cannot_speak(group: ClientGroup, protocol: str, options: Options) -> Iterator[str]:
    """Brokers where the group enters that do not listen for its protocol, as one sentence."""
    if options.runtime not in ("memory", "external"):  # there the brokers' file tells, not the topology
        silent = [broker for broker in group.enter_at if protocol not in broker.spoken]
        if silent:
            common = [each for each in PROTOCOLS if all(each in broker.spoken for broker in group.enter_at)]
            ways = [f"give each {LISTENERS[type(silent[0])]} for it"] if type(silent[0]) in LISTENERS else []
            ways += [f"choose a --protocol of {', '.join(common)}"] if common else []
            yield f"{protocol} is not spoken by {', '.join(broker.name for broker in silent)}; {', or '.join(ways)}"


def _too_large(group: ClientGroup, protocol: str, body_bytes: int, options: Options) -> Iterator[str]:
    """Brokers that would end the connection over such a body, as sentences."""
    for broker in group.enter_at if options.runtime not in ("memory", "external") else ():
        for connector in broker.connectors if isinstance(broker, Broker) else ():
            if connector.protocol == protocol and body_bytes >= connector.max_frame_size_bytes:
                yield (
                    f"a body of {body_bytes:,} bytes is more than broker {broker.name} takes in a frame of {protocol} "
                    f"({connector.max_frame_size_bytes:,}); write less for --body-bytes, or raise "
                    f"max_frame_size_bytes of its transport connector"
                )


def _with_ports(group: ClientGroup, protocol: str) -> str:
    """The group's failover URI before the ports are known: to check its options before any broker starts."""
    return group.failover_uri({broker.name: f"{protocol}://{broker.name}:1" for broker in group.enter_at})


def _info(scenario: Scenario, options: Options, topology: Topology, groups: tuple[ClientGroup, ...]) -> RunInfo:
    named = {group.name: group for group in groups}
    return RunInfo(
        run_id="",
        scenario=scenario.name,
        topology=options.topology,
        runtime=options.runtime,
        protocol=options.protocol,
        question=(scenario.question or "").strip(),
        command=command_line(options),
        seed=options.seed,
        runtime_reason=options.runtime_reason,
        brokers=tuple(BrokerInfo(b.name, b.region, b.standby_of) for b in topology.brokers),
        links=_links(topology),
        groups=tuple(
            GroupInfo(g.name, tuple(b.name for b in g.enter_at), _told(g, scenario, options)) for g in named.values()
        ),
        users=tuple(_user_info(user) for user in scenario.users),
        checks=scenario.checks,
        lag_limit_ms=options.lag_limit_ms,
        warnings=(*topology.warnings, *not_carried(topology, scenario.users)),
        options=options.as_record(),
        versions=machine.versions(),
        machine=machine.describe(),
    )


def _links(topology: Topology) -> tuple[LinkInfo, ...]:
    through = proxied(topology.links)
    return tuple(
        LinkInfo(
            link.name,
            link.opened_by.name,
            link.to.name,
            link.duplex,
            _kind(link),
            proxied=link in through,
            **asdict(link.impairment or Impairment()),
        )
        for link in topology.links
    )


def _told(group: ClientGroup, scenario: Scenario, options: Options) -> str:
    """The group's failover URI for people, once a protocol that its users speak."""
    spoken = Spoken.parse(options.protocol)
    protocols = dict.fromkeys(spoken.of(user.role) for user in scenario.users if user.group == group.name)
    return " and ".join(group.failover_uri_by_name(protocol) for protocol in protocols)


def _user_info(user: type[BrokerUser]) -> UserInfo:
    settings: dict[str, str | int | float | bool] = {}
    if issubclass(user, ProducerUser):
        settings = {
            "body_bytes": user.body_bytes,
            "durable": user.durable,
            "sends_per_second": user.sends_per_second,
            "in_flight": user.in_flight,
        }
        if user.transaction_size:
            settings["transaction_size"] = user.transaction_size
    if issubclass(user, ConsumerUser):
        settings = {"prefetch": user.prefetch, "selector": user.selector, "durable": user.durable_subscription}
    if user.may_fail:
        settings["may_fail"] = True
    settings["connections"] = user.connections
    if user.connections == POOLED:
        settings["pool_size"] = user.pool_size
    return UserInfo(user.__name__, user.role, user.group, user.destination, user.fixed_count, settings)


def command_line(options: Options) -> tuple[str, ...]:
    """The command that makes this run again, with what was chosen for it: the runtime and the seed."""
    arguments = [*sys.argv[1:]]
    for option, value in (("--runtime", options.runtime), ("--seed", str(options.seed))):
        if not any(argument.partition("=")[0] == option for argument in arguments):
            arguments += [option, value]
    return ("locust", *arguments)


def _kind(link: Link) -> str:
    """Its own, or RECEIVERS where messages go only to the broker that opened it."""
    return RECEIVERS if link.directions == ((link.to.name, link.opened_by.name),) else link.kind
