"""Says why a scenario cannot run on a topology: where its clients enter, what they speak, and which way messages go.

Each rule yields a sentence a breach. `harness.options.plan.make` refuses a run with the first one. Where
links carry only a part of what the scenario sends, the run is warned.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product

from drivers.client.connection_modes import ONE_URI
from drivers.contract import Destination
from drivers.failover.uri import BadFailoverUriError, FailoverUri
from drivers.protocols import PROTOCOLS, Spoken, unsupported
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.declarations import Options
from harness.options.routing import meetings, require_understood
from harness.scenario import Scenario
from records.errors import UserError
from records.routes import Copy, Route
from records.run import OUT_OF_REACH
from topologies.catalogue.lookup import build, entries
from topologies.catalogue.yaml_topology import place_of
from topologies.model.client_groups import CONSUMERS, PRODUCERS, ClientGroup
from topologies.model.paths import Path
from topologies.model.spelling import nearest
from topologies.model.topology import Topology
from topologies.model.validation import active, out_of_reach
from topologies.runtimes.capabilities import Capability, can
from topologies.runtimes.choice import external_of
from topologies.runtimes.external.credentials import CredentialsUnusable
from topologies.runtimes.proxies.link_proxies import no_proxies

Users = Sequence[type[BrokerUser]]
LIKE_ANOTHER = 0.85
"""How like two names of client groups are, as `difflib` has it, of which one is a slip."""

# -- what the scenario's question needs --------------------------------------------------------------------------------


def link_refusals(scenario: Scenario, topology: Topology, text: str) -> Iterator[str]:
    """The topology has no link of the kind that the scenario asks about. ``text`` names it."""
    needed = scenario.link
    if needed and not any(needed.is_one(topology, link) for link in topology.links):
        yield (
            f"--topology {text}: it has no {needed.what}, and scenario {scenario.name} asks about one; "
            f"{scenario.another_topology('that has it')}"
        )


def entry_refusals(scenario: Scenario, options: Options) -> Iterator[str]:
    """The topology has fewer brokers, or fewer where clients enter, than the scenario's question needs."""
    topology = options.built_topology
    if len(topology.brokers) < scenario.brokers:
        yield (
            f"--topology {options.topology}: it has {_brokers(len(topology.brokers))}, and scenario {scenario.name} "
            f"asks about {scenario.brokers} or more; {scenario.another_topology('that has them')}"
        )
    for group in (topology.group(user.group) for user in scenario.users):
        least, brokers = scenario.entries.get(group.name, 1), len(group.enter_at)
        if brokers < least:
            yield (
                f"--topology {options.topology}: group {group.name!r} enters at {_brokers(brokers)}, and scenario "
                f"{scenario.name} asks about {least}; {_where_more_enter(scenario, group.name, least)}"
            )
    if scenario.pair and not _enters_at_a_pair(topology, scenario.pair):
        names = (entry.name for entry in entries() if entry.name != scenario.default_topology)
        fitting = " or ".join(name for name in names if _enters_at_a_pair(build(name), scenario.pair))
        yield (
            f"--topology {options.topology}: group {scenario.pair!r} enters at no broker that has a standby, and "
            f"scenario {scenario.name} asks about one; "
            f"{scenario.another_topology(f'where it does, such as {fitting}')}"
        )


def place_refusals(scenario: Scenario, consuming: Sequence[type[ConsumerUser]], options: Options) -> Iterator[str]:
    """Classes of consumers that are to be at different brokers are at the same one on this topology."""
    at: dict[tuple[str, int], tuple[type[ConsumerUser], int]] = {}
    for user in consuming:
        brokers = options.built_topology.group(user.group).enter_at
        for place in _places(user):
            earlier, earlier_place = at.setdefault((user.group, place % len(brokers)), (user, place))
            if earlier is not user and earlier_place != place:
                furthest = max(
                    max(_places(consumer), default=0) for consumer in consuming if consumer.group == user.group
                )
                yield (
                    f"--topology {options.topology}: {earlier.__name__} and {user.__name__} of scenario "
                    f"{scenario.name} are to be at different brokers, and group {user.group!r} enters at "
                    f"{_brokers(len(brokers))}; {_where_more_enter(scenario, user.group, furthest + 1)}"
                )


def _places(user: type[ConsumerUser]) -> set[int]:
    """Where it is to be, by the places of its group's failover URI."""
    return {stay.place for stay in user.stays if stay.place is not None}


def _enters_at_a_pair(topology: Topology, group: str) -> bool:
    actives = {broker.standby_of for broker in topology.brokers}
    return any(broker.name in actives for g in topology.groups if g.name == group for broker in g.enter_at)


def _where_more_enter(scenario: Scenario, group: str, least: int) -> str:
    return scenario.another_topology(f"where {group} enter at {least} brokers or more")


def _brokers(count: int) -> str:
    return f"{count} broker{'' if count == 1 else 's'}"


def group_refusals(scenario: Scenario, options: Options) -> Iterator[str]:
    """A client group is misspelt: in the topology, in a user class, or in the scenario's fields.

    A topology may have groups of other scenarios. One that no user class names, and that is nearly one that a class
    names, is a slip: its brokers would have no clients.
    """
    names = [group.name for group in options.built_topology.groups]
    used = list(dict.fromkeys(user.group for user in scenario.users))
    for user in scenario.users:
        if user.group not in names:
            near = nearest(user.group, [name for name in names if name not in used])
            yield (
                f"{user.__name__}: group = {user.group!r}: topology {options.built_topology.name!r} has no such client "
                f"group{near}{' It' if near else '; it'} has {', '.join(names) or 'none'}. Name a group so in the "
                "topology, or another group in the user class"
            )
    for name in names:
        if name not in used and (near := _misspelt(name, used)):
            yield (
                f"--topology {options.topology}: no user class of scenario {scenario.name} is in its client group "
                f"{name!r}; did you mean {near!r}? Correct the name, or remove the group"
            )
    for field, group in [*(("entries", name) for name in scenario.entries), ("pair", scenario.pair)]:
        if group and group not in used:
            near = nearest(group, used)
            yield (
                f"scenario {scenario.name}: {field} names the client group {group!r}, and no user class is in it"
                f"{near or ';'} Write one of {', '.join(used)}"
            )


def _misspelt(name: str, known: Sequence[str]) -> str:
    """Return the known name that ``name`` is a slip of; '' for a name that adds a part or a number to one."""
    parts, letters = {*re.split(r"[-_.]", name)}, re.sub(r"[^a-z]", "", name.lower())
    if any(character.isdigit() for character in name) or any(other in parts for other in known):
        return ""
    return next(iter(difflib.get_close_matches(letters, known, n=1, cutoff=LIKE_ANOTHER)), "")


# -- how clients enter -------------------------------------------------------------------------------------------------


def failover_refusals(options: Options) -> Iterator[str]:
    """``--failover`` has what no client takes. Names the option and the user's own text, not the whole URI."""
    if options.failover is None:
        return
    for protocol in Spoken.parse(options.protocol).distinct:
        try:
            uri = FailoverUri.compose([f"{protocol}://broker:61616"], options.failover)
        except BadFailoverUriError as error:
            yield f"--failover {options.failover}: {error.advice}"
        else:
            if refused := unsupported(uri, protocol):
                yield f"--failover {options.failover}: {'; '.join(refused)}"


def group_of(user: type[BrokerUser], options: Options) -> ClientGroup:
    """Where users of the class enter, by the failover options that were chosen. KeyError for a group that is not there.

    ValueError for failover options that no group can have.
    """
    group = options.built_topology.group(user.group)
    return group if options.failover is None else replace(group, failover=options.failover)


def client_refusals(users: Users, options: Options) -> Iterator[str]:
    """Users have no client group, no possible destination, or brokers that do not take what they speak."""
    for user in users:
        try:
            for name in user.destination_names():
                Destination.parse(name)
            require_understood(user, options)
            group = group_of(user, options)
            protocol = Spoken.parse(options.protocol).of(user.role, user.__name__)
            refusals = [*_cannot_follow(group, protocol, options)]
        except KeyError as error:
            yield f"{user.__name__}: {error.args[0]}"
        except ValueError as error:
            yield f"{user.__name__}: {error}"
        else:
            if can(options.runtime, Capability.CONFIGURES_BROKERS):  # else its brokers are not as the topology says
                refusals += _cannot_speak(group, protocol, "protocol" if user.protocol else "--protocol")
                refusals += _too_large(group, protocol, user.body_bytes) if issubclass(user, ProducerUser) else ()
            if refusals:
                yield f"{user.__name__}: {'; '.join(refusals)}"


def _cannot_follow(group: ClientGroup, protocol: str, options: Options) -> Iterator[str]:
    """Failover options that no client takes, or no client of this protocol, with their places in a file."""
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
    """Brokers where the group enters that do not listen for its protocol, as one sentence.

    ``chosen_by``: what to change, the class attribute or the option.
    """
    silent = [broker for broker in group.enter_at if protocol not in broker.spoken]
    if silent:
        common = [name for name in PROTOCOLS if all(name in broker.spoken for broker in group.enter_at)]
        added = silent[0].listener_called
        ways = [f"give each {added} for it"] if added else []
        ways += [f"choose a {chosen_by} of {', '.join(common)}"] if common else []
        yield f"{protocol} is not spoken by {', '.join(broker.name for broker in silent)}; {', or '.join(ways)}"


def _too_large(group: ClientGroup, protocol: str, body_bytes: int) -> Iterator[str]:
    """Brokers that would end the connection over such a body, as sentences."""
    for broker in group.enter_at:
        most = broker.largest_frame_bytes(protocol)
        if most is not None and body_bytes >= most:
            yield (
                f"a body of {body_bytes:,} bytes is more than broker {broker.name} takes in a frame of {protocol} "
                f"({most:,}); write less for --body-bytes, or raise max_frame_size_bytes of its transport connector"
            )


def uri_refusals(users: Users, options: Options) -> Iterator[str]:
    """Clients are told of one broker of their group, and the group has no other one."""
    for user in users:
        brokers = options.built_topology.group(user.group).enter_at
        if user.uris == ONE_URI and len(brokers) == 1:
            yield (
                f"{user.__name__}: uris = {ONE_URI!r}, and its group {user.group!r} enters {options.topology} at "
                f"{brokers[0].name} alone, so its clients know no other broker anyway; leave --uris out, or choose a "
                f"--topology where {user.group} enter at several brokers"
            )


# -- the brokers themselves --------------------------------------------------------------------------------------------


def brokers_file_refusals(options: Options) -> Iterator[str]:
    """Brokers that run already are not all told of, each with its URIs."""
    if can(options.runtime, Capability.REACHES_RUNNING_BROKERS):
        try:
            external_of(options.wanted, options.built_topology, Spoken.parse(options.protocol).distinct)
        except CredentialsUnusable as error:
            yield f"--brokers-file {options.brokers_file}: {error}"
        except UserError as error:
            yield f"--brokers-file {error}"


def proxy_refusals(options: Options) -> Iterator[str]:
    """Links are to be delayed where Toxiproxy cannot get between brokers, or is not to be had."""
    if why := no_proxies(options.built_topology, options.runtime):
        yield f"{f'--link {options.link!r}' if options.link else f'--topology {options.topology}'}: {why}"


# -- which way messages have to go -------------------------------------------------------------------------------------
# A topology warns about its producers and consumers. It cannot know the other clients of a scenario. Paths and TTLs
# also ignore destinations, but links may include, exclude or match only some destinations.


def reachability_warnings(topology: Topology, users: Users, routes: Sequence[Route] = ()) -> tuple[str, ...]:
    """Sentences: who of a scenario's own groups are out of each other's reach, and which destinations stay behind."""
    routed = _routed(users, routes)
    far = (
        sentence
        for groups in dict.fromkeys(groups for _, groups in routed)
        for sentence in _out_of_reach(topology, *groups)
    )
    return (*far, *(sentence for copies, groups in routed for sentence in _left_behind(topology, copies, groups)))


def carriage_refusals(users: Users, options: Options, routes: Sequence[Route]) -> Iterator[str]:
    """A destination cannot get from a broker of its producers to any broker of its consumers.

    It is not known of brokers that run already. Brokers in memory have no links.
    """
    if not can(options.runtime, Capability.CONFIGURES_BROKERS):
        return
    topology = options.built_topology
    by_place: dict[tuple[str, ...], set[Path]] = {}
    for ways, groups in _routed(users, routes):
        for way in ways:
            by_place.setdefault(way, set()).update(topology.paths_between(*groups))
    for way, paths in by_place.items():
        stopped = _stopped(topology, sorted(paths, key=lambda path: path.route), way)
        carried = {path.begin for path in paths.difference(stopped)}
        if stuck := [path for path in stopped if path.begin not in carried]:
            yield f"--topology {options.topology}: {_sentence(topology, way[0], stuck, '')}"


Way = tuple[str, ...]
"""The destinations under which a copy can cross links: any of them is enough."""


def _routed(users: Users, routes: Sequence[Route]) -> Sequence[tuple[tuple[Way, ...], tuple[str, str]]]:
    """Each pair of groups whose clients send to each other, with the ways of the copies.

    What a virtual topic copies to a queue crosses links as a message of the queue, or of the topic.
    """
    topics = {copy: route.destination for route in routes for copy in route.copies if copy.once_subscribed}

    def way(copy: Copy) -> Way:
        return (copy.place, topics[copy]) if copy in topics else (copy.place,)

    return tuple(
        dict.fromkeys(
            (tuple(map(way, meeting.copies)), (meeting.producer.group, meeting.consumer.group))
            for meeting in meetings(users, routes)
        )
    )


def _stopped(topology: Topology, paths: Sequence[Path], way: Way) -> tuple[Path, ...]:
    """Those of ``paths`` that no destination of the way can take."""
    left = tuple(paths)
    for destination in way:
        left = topology.stopped(left, destination)
    return left


def _left_behind(topology: Topology, ways: Sequence[Way], groups: tuple[str, str]) -> Iterator[str]:
    """One sentence for all of these destinations that do not get everywhere."""
    paths = topology.paths_between(*groups)
    behind = {way[0]: stopped for way in ways if (stopped := _stopped(topology, paths, way))}
    if behind:
        destination, *further = behind
        yield _sentence(
            topology, destination, behind[destination], f" and {len(further)} more destinations" if further else ""
        )


def _out_of_reach(topology: Topology, producers: str, consumers: str) -> Iterator[str]:
    """The topology has already reported on the groups that every topology has."""
    if (producers, consumers) != (PRODUCERS, CONSUMERS):
        begins, ends = (active(topology.group(name).enter_at) for name in (producers, consumers))
        pairs = ((begin.name, end.name) for begin, end in product(begins, ends))
        yield from out_of_reach(pairs, topology.brokers, topology.links)


def _sentence(topology: Topology, destination: str, stopped: Sequence[Path], and_more: str) -> str:
    path = stopped[0]
    more_pairs = f" (nor between {len(stopped) - 1} more pairs of brokers)" if stopped[1:] else ""
    links = ", ".join(  # of those hops that the destination cannot take even alone
        f"link {link.name!r}"
        for hop in pairwise(path.route)
        if not topology.reaches(*hop, destination)
        for link in topology.links
        if hop in link.directions
    )
    return (
        f"{destination}{and_more} cannot get from {path.begin!r} to {OUT_OF_REACH} {path.end!r}{more_pairs}: "
        f"not carried by {links or 'the links between them'}; change the topology so that its links carry "
        f"{destination}, or send to a destination that they carry"
    )
