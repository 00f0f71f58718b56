"""Checks whether a scenario can run on a topology: client entry points and protocols.

Each rule yields a `Refusal` per violation, and `harness.options.plan.make` rejects the run with the first. The rules
about the paths of messages are in `harness.routing`.
"""

import difflib
import re
from collections.abc import Iterator, Sequence

from drivers.client.connection_modes import ONE_URI
from drivers.contract import Destination
from drivers.failover.uri import BadFailoverUriError, FailoverUri
from drivers.protocols import PROTOCOLS, Spoken, unsupported
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.declarations import Options
from harness.routing import require_understood
from harness.scenario import Scenario
from records.errors import Refusal, UserError
from topologies.catalogue.lookup import build, entries
from topologies.catalogue.yaml_topology import place_of
from topologies.model.client_groups import ClientGroup
from topologies.model.spelling import nearest
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability, can
from topologies.runtimes.choice import external_of
from topologies.runtimes.external.credentials import CredentialsUnusable
from topologies.runtimes.proxies.link_proxies import why_no_proxies

Users = Sequence[type[BrokerUser]]
LIKE_ANOTHER = 0.85
"""Least similarity, by `difflib`, for a client group's name to count as a misspelling of another."""

# -- what the scenario's question needs --------------------------------------------------------------------------------


def entry_refusals(scenario: Scenario, options: Options) -> Iterator[Refusal]:
    """Yield a problem if the topology has fewer brokers, or fewer entry brokers, than the scenario needs."""
    topology = options.built_topology
    if len(topology.brokers) < scenario.brokers:
        yield Refusal(
            f"--topology {options.topology}",
            f"it has {_brokers(len(topology.brokers))}, but scenario {scenario.name} needs {scenario.brokers} or more",
            scenario.another_topology("that has enough"),
        )
    for group in (topology.group(user.group) for user in scenario.users):
        least, brokers = scenario.entries.get(group.name, 1), len(group.enter_at)
        if brokers < least:
            yield Refusal(
                f"--topology {options.topology}",
                f"group {group.name!r} enters at {_brokers(brokers)}, but scenario {scenario.name} needs {least}",
                _where_more_enter(scenario, group.name, least),
            )
    if scenario.pair and not _enters_at_a_pair(topology, scenario.pair):
        names = (entry.name for entry in entries() if entry.name != scenario.default_topology)
        fitting = " or ".join(name for name in names if _enters_at_a_pair(build(name), scenario.pair))
        yield Refusal(
            f"--topology {options.topology}",
            f"group {scenario.pair!r} enters at no broker that has a standby, but scenario {scenario.name} needs one",
            scenario.another_topology(f"where it does, such as {fitting}"),
        )


def place_refusals(scenario: Scenario, consuming: Sequence[type[ConsumerUser]], options: Options) -> Iterator[Refusal]:
    """Yield consumer classes that must be at different brokers but share one broker on this topology."""
    at: dict[tuple[str, int], tuple[type[ConsumerUser], int]] = {}
    for user in consuming:
        brokers = options.built_topology.group(user.group).enter_at
        for place in _places(user):
            earlier, earlier_place = at.setdefault((user.group, place % len(brokers)), (user, place))
            if earlier is not user and earlier_place != place:
                furthest = max(
                    max(_places(consumer), default=0) for consumer in consuming if consumer.group == user.group
                )
                yield Refusal(
                    f"--topology {options.topology}",
                    f"{earlier.__name__} and {user.__name__} of scenario {scenario.name} must be at different "
                    f"brokers, but group {user.group!r} enters at {_brokers(len(brokers))}",
                    _where_more_enter(scenario, user.group, furthest + 1),
                )


def _places(user: type[ConsumerUser]) -> set[int]:
    """Return the positions in the group's failover URI at which the class stays."""
    return {stay.place for stay in user.stays if stay.place is not None}


def _enters_at_a_pair(topology: Topology, group: str) -> bool:
    actives = {broker.standby_of for broker in topology.brokers}
    return any(broker.name in actives for g in topology.groups if g.name == group for broker in g.enter_at)


def _where_more_enter(scenario: Scenario, group: str, least: int) -> str:
    return scenario.another_topology(f"where {group} enter at {least} brokers or more")


def _brokers(count: int) -> str:
    return f"{count} broker{'' if count == 1 else 's'}"


def group_refusals(scenario: Scenario, options: Options) -> Iterator[Refusal]:
    """Yield misspelled client groups in the topology, in user classes, and in the scenario's fields.

    A topology can have groups of other scenarios. A group that no user class names counts as misspelled if its name
    resembles the group of a user class. Its brokers would have no clients.
    """
    names = [group.name for group in options.built_topology.groups]
    used = list(dict.fromkeys(user.group for user in scenario.users))
    for user in scenario.users:
        if user.group not in names:
            near = nearest(user.group, [name for name in names if name not in used])
            yield Refusal(
                f"{user.__name__}: group = {user.group!r}",
                f"topology {options.built_topology.name!r} has no such client group",
                f"{near.removeprefix('; ')}{' It' if near else 'it'} has {', '.join(names) or 'none'}. Add the group "
                "to the topology, or write another group in the user class",
            )
    for name in names:
        if name not in used and (near := _misspelt(name, used)):
            yield Refusal(
                f"--topology {options.topology}",
                f"no user class of scenario {scenario.name} is in its client group {name!r}",
                f"did you mean {near!r}? Correct the name, or remove the group",
            )
    for field, group in [*(("entries", name) for name in scenario.entries), ("pair", scenario.pair)]:
        if group and group not in used:
            near = nearest(group, used)
            yield Refusal(
                f"scenario {scenario.name}",
                f"{field} names the client group {group!r}, but no user class is in it",
                f"{f'{near} Write'.removeprefix('; ') if near else 'write'} one of {', '.join(used)}",
            )


def _misspelt(name: str, known: Sequence[str]) -> str:
    """Return the known name that ``name`` misspells, or '' for a name that adds a part or a number to a known one."""
    parts, letters = {*re.split(r"[-_.]", name)}, re.sub(r"[^a-z]", "", name.lower())
    if any(character.isdigit() for character in name) or any(other in parts for other in known):
        return ""
    return next(iter(difflib.get_close_matches(letters, known, n=1, cutoff=LIKE_ANOTHER)), "")


# -- how clients enter -------------------------------------------------------------------------------------------------


def failover_refusals(options: Options) -> Iterator[Refusal]:
    """Yield options in ``--failover`` that clients do not support. The text is quoted, not the whole URI."""
    if options.failover is None:
        return
    for protocol in Spoken.parse(options.protocol).distinct:
        try:
            uri = FailoverUri.compose([f"{protocol}://broker:61616"], options.failover)
        except BadFailoverUriError as error:
            yield Refusal(f"--failover {options.failover}", error.advice)
        else:
            if refused := unsupported(uri, protocol):
                yield Refusal(f"--failover {options.failover}", "; ".join(refused))


def client_refusals(users: Users, options: Options) -> Iterator[Refusal]:
    """Yield user classes with an unknown group, an invalid destination, or brokers that cannot serve them."""
    for user in users:
        try:
            for name in user.destination_names():
                Destination.parse(name)
            require_understood(user, options)
            group = options.client_group(user.group)
            protocol = Spoken.parse(options.protocol).of(user.role, user.__name__)
            refusals = [*_cannot_follow(group, protocol, options)]
        except KeyError as error:
            yield Refusal(user.__name__, error.args[0])
        except ValueError as error:
            yield Refusal(user.__name__, str(error))
        else:
            if can(options.runtime, Capability.CONFIGURES_BROKERS):  # otherwise the topology may not match the brokers
                refusals += _cannot_speak(group, protocol, "protocol" if user.protocol else "--protocol")
                refusals += _too_large(group, protocol, user.body_bytes) if issubclass(user, ProducerUser) else ()
            if refusals:
                yield Refusal(user.__name__, "; ".join(refusals))


def _cannot_follow(group: ClientGroup, protocol: str, options: Options) -> Iterator[str]:
    """Yield failover options that clients of this protocol do not support, with their positions in a file."""
    place = place_of(options.topology, group.name, "failover") if options.failover is None else ""
    unknown_ports = {broker.name: f"{protocol}://{broker.name}:1" for broker in group.enter_at}
    try:
        uri = FailoverUri.parse(group.failover_uri(unknown_ports))
    except BadFailoverUriError as error:
        if not place:
            raise
        yield f"{place}{error.advice}"
    else:
        yield from (f"{place}{refusal}" for refusal in unsupported(uri, protocol))


def _cannot_speak(group: ClientGroup, protocol: str, chosen_by: str) -> Iterator[str]:
    """Yield one sentence about the group's entry brokers that do not listen for its protocol.

    ``chosen_by``: the class attribute or option that sets the protocol.
    """
    silent = [broker for broker in group.enter_at if protocol not in broker.spoken]
    if silent:
        common = [name for name in PROTOCOLS if all(name in broker.spoken for broker in group.enter_at)]
        added = silent[0].listener_called
        ways = [f"give each {added} for it"] if added else []
        ways += [f"choose a {chosen_by} of {', '.join(common)}"] if common else []
        names = ", ".join(broker.name for broker in silent)
        yield f"{protocol} has no listener on {names}; {', or '.join(ways)}"


def _too_large(group: ClientGroup, protocol: str, body_bytes: int) -> Iterator[str]:
    """Yield brokers that would close the connection because of a body of this size."""
    for broker in group.enter_at:
        most = broker.largest_frame_bytes(protocol)
        if most is not None and body_bytes >= most:
            yield (
                f"a body of {body_bytes:,} bytes exceeds the {protocol} frame limit of broker {broker.name} "
                f"({most:,}); reduce --body-bytes, or raise max_frame_size_bytes of the transport connector"
            )


def uri_refusals(users: Users, options: Options) -> Iterator[Refusal]:
    """Yield user classes with one broker per failover URI whose group has only one broker."""
    for user in users:
        brokers = options.built_topology.group(user.group).enter_at
        if user.uris == ONE_URI and len(brokers) == 1:
            yield Refusal(
                user.__name__,
                f"uris = {ONE_URI!r}, but its group {user.group!r} enters {options.topology} only at "
                f"{brokers[0].name}, so its clients have no other broker anyway",
                f"leave --uris out, or choose a --topology where {user.group} enter at several brokers",
            )


# -- the brokers themselves --------------------------------------------------------------------------------------------


def brokers_file_refusals(options: Options) -> Iterator[Refusal]:
    """Yield a problem if ``--brokers-file`` does not have every broker with its URIs."""
    if can(options.runtime, Capability.REACHES_RUNNING_BROKERS):
        try:
            external_of(options.wanted, options.built_topology, Spoken.parse(options.protocol).distinct)
        except CredentialsUnusable as error:
            yield Refusal(f"--brokers-file {options.brokers_file}", str(error))
        except UserError as error:  # it names the file
            raise UserError(f"--brokers-file {error}") from error


def proxy_refusals(options: Options) -> Iterator[Refusal]:
    """Yield a problem if links need Toxiproxy, and it is not available or cannot be put between the brokers."""
    if why := why_no_proxies(options.built_topology, options.runtime):
        yield Refusal(f"--link {options.link!r}" if options.link else f"--topology {options.topology}", why)
