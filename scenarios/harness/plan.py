"""What exactly will be run? Scenario, options and topology, put together and checked before anything starts."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from drivers.broker_user import BrokerUser
from drivers.contract import Destination
from drivers.failover import BadFailoverUriError, FailoverUri
from drivers.honoured import unsupported
from drivers.protocols import PROTOCOLS, Spoken
from drivers.users import ConsumerUser, ProducerUser
from records.run import RunInfo
from scenarios.harness.description import describe
from scenarios.harness.faults.contract import Fault
from scenarios.harness.options import OptionError, Options
from scenarios.harness.scenario import Scenario
from scenarios.harness.user_settings import configure_users
from topologies import catalogue
from topologies.artemis.brokers import ArtemisBroker
from topologies.impaired import as_they_come, impaired
from topologies.model import Broker, ClientGroup, Topology, TopologyInvalid
from topologies.own_topology import is_file, place_of
from topologies.proxied import proxied
from topologies.runtimes.external.runtime import UNTOUCHABLE
from topologies.runtimes.links.proxies import no_proxies
from topologies.runtimes.making import external_of

log = logging.getLogger("brokerbench")

LISTENERS: Mapping[type, str] = {Broker: "a transport connector", ArtemisBroker: "an acceptor"}
"""By kinds of brokers what can be added to them, so that they speak one protocol more."""


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
        info=describe(scenario, options, topology, groups),
    )


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
