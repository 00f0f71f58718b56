"""Refuses a run whose users cannot send, select, work or reply as asked, before anything starts."""

from collections.abc import Iterable, Sequence

from drivers.client.connection_modes import ONE
from drivers.client.work import Work
from drivers.protocols import Spoken
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.errors import UserError, about
from records.message_properties import MessageProperties
from records.rate_steps import parse_steps
from records.selectors import parse
from records.units import MS_PER_S
from scenarios.harness.options.reachability_check import common_destinations
from scenarios.options import Options
from topologies.model.topology import Topology

NOTHING = "FALSE"  # a selector that asks for no property is meant as it is
MOST_VALUES = 8  # of a property in one sentence
Producers = Sequence[type[ProducerUser]]
CORE = "core"
QUEUE = "queue://"
NO_PREFETCH = "its library counts bytes, not messages; set consumerWindowSize of the broker's URI instead"
NO_WORK = "its library shares a few threads among the listeners of all consumers, so they would wait for each other"


# -- what messages carry and consumers select --------------------------------------------------------------------------


def require_messages_fit(producing: Producers, consuming: Sequence[type[ConsumerUser]], options: Options) -> None:
    """Raises UserError for what no message can carry, or no consumer can select."""
    _require_sendable(producing, options)
    _require_alike(producing)
    for consumer in consuming:
        _require_selectable(
            consumer, [producer for producer in producing if common_destinations(producer, consumer)], options
        )


def require_all_wanted(producing: Producers, consuming: Sequence[type[ConsumerUser]]) -> None:
    """A rate is held if all that is due arrives. Raises UserError where that is not to be expected."""
    for user in producing:
        if user.time_to_live_s is not None:
            raise UserError(
                f"{user.__name__}: time_to_live_s = {user.time_to_live_s:g} (--ttl): of messages that expire nobody "
                "can tell whether a rate is held; leave it out, or choose one --rate"
            )
    for taker in consuming:
        if any(taker.selectors()):
            raise UserError(
                f"{taker.__name__}: selector = {taker.selector!r} (--selector): of messages that consumers leave out "
                "nobody can tell whether a rate is held; leave it out, or choose one --rate"
            )


def _require_sendable(producing: Producers, options: Options) -> None:
    protocol = Spoken.parse(options.protocol).of("producer")
    choices = (
        ("time_to_live_s", "--ttl", options.time_to_live_s),
        ("priority", "--message-priority", options.message_priority),
    )
    options_by_attribute = {name: option for name, option, value in choices if value is not None}
    for user in producing:
        try:
            properties = user.message_settings().properties
        except ValueError as error:
            option = next((option for name, option in options_by_attribute.items() if str(error).startswith(name)), "")
            raise UserError(f"{user.__name__}: {error}{option and f' ({option})'}") from error
        for name, values in properties.cycles if protocol == "stomp" else ():
            if wrong := [value for value in values if not isinstance(value, str)]:
                raise UserError(
                    f"{user.__name__}: property {name} = {wrong[0]!r}: STOMP carries text only; write "
                    f"{str(wrong[0])!r}, or choose another --protocol for the producers"
                )


def _require_alike(producing: Producers) -> None:
    """The analysis knows a message's class only by its destination."""
    first_by_destination: dict[str, type[ProducerUser]] = {}
    for user in producing:
        for name in user.destination_names():
            earlier = first_by_destination.setdefault(name, user)
            ours, theirs = user.message_settings(), earlier.message_settings()
            if (ours.properties, ours.time_to_live_s) != (theirs.properties, theirs.time_to_live_s):
                raise UserError(
                    f"{earlier.__name__} and {user.__name__} send to {name} with different properties or times to "
                    "live, so nobody could tell which message should have come; give them the same, or two destinations"
                )


def _require_selectable(
    consumer: type[ConsumerUser], producing: Iterable[type[ProducerUser]], options: Options
) -> None:
    """Each selector parses, compares like with like, and matches a message that is sent to its destination."""
    sent = {producer.message_settings().properties: None for producer in producing}
    if not consumer.selectors():
        raise UserError(f"{consumer.__name__}: selector is an empty list; write '' for every message")
    with about("--" if options.selector else f"{consumer.__name__}: "):
        for selector in map(parse, filter(None, consumer.selectors())):
            matched = [any(selector.matched(properties)) for properties in (*sent, MessageProperties())]
            if sent and selector.properties and not any(matched[:-1]):
                raise UserError(f"selector {selector.text!r}: {_matches_none(sent)}")


def _matches_none(sent: Iterable[MessageProperties]) -> str:
    """What the messages have instead, and what to do."""
    values: dict[str, dict[str, None]] = {}
    for name, cycle in (property_cycle for properties in sent for property_cycle in properties.cycles):
        values.setdefault(name, {}).update({repr(value): None for value in cycle})
    values_by_property = "; ".join(f"{name} is {_few([*cycle])}" for name, cycle in values.items())
    return (
        f"it matches no message of the run: {values_by_property or 'they have no properties'}; correct it, or give "
        f"messages other properties (--properties); write {NOTHING} to select nothing on purpose"
    )


def _few(values: Sequence[str]) -> str:
    ending = f" or {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
    return ", ".join(values[:MOST_VALUES]) + ending


# -- work --------------------------------------------------------------------------------------------------------------


def require_work_done(
    consuming: Sequence[type[ConsumerUser]], producing: Sequence[type[ProducerUser]], options: Options
) -> None:
    """Raises UserError. A rate that changes has to be served where it is lowest, to ask its question at all.

    It is not judged where consumers select, or messages expire: not all that is sent has to be worked on there.
    """
    works = {user: _work(user) for user in consuming}
    if Spoken.parse(options.protocol).of("consumer") == CORE:
        _require_possible(consuming, works, options)
    for user in consuming:
        if works[user] and user.takes_turns():
            raise UserError(
                f"{user.__name__}: work_ms = {user.work_ms} (--work-ms): its {user.fixed_count} users share "
                f"{user.destinations} destinations (--destinations), and would work for each of theirs at the same "
                f"time; use --consumers {user.destinations} or more, or leave the time out"
            )
    for destination in dict.fromkeys(user.destination for user in consuming):
        its = {user: works[user] for user in consuming if user.destination == destination}
        senders = [user for user in producing if user.destination == destination]
        with_work = {user: work for user, work in its.items() if work}
        if not with_work or any(any(user.selectors()) for user in its) or any(user.time_to_live_s for user in senders):
            continue
        if len(with_work) == len(its) or not destination.startswith(QUEUE):
            _require_served(destination, sum(map(_least_per_s, senders)), with_work)


def _work(user: type[ConsumerUser]) -> Work | None:
    try:
        return Work.parse(str(user.work_ms))
    except ValueError as error:
        raise UserError(f"{user.__name__}: work_ms = {error} (--work-ms)") from error


def _require_possible(
    consuming: Iterable[type[ConsumerUser]], works: dict[type[ConsumerUser], Work | None], options: Options
) -> None:
    if options.prefetch is not None:
        raise UserError(f"--prefetch {options.prefetch}: {CORE} clients take none: {NO_PREFETCH}")
    for user in consuming:
        if works[user]:
            raise UserError(
                f"{user.__name__}: work_ms = {user.work_ms!r} (--work-ms): {CORE} clients cannot do this: {NO_WORK}; "
                "choose another --protocol"
            )


def _least_per_s(user: type[ProducerUser]) -> float:
    """Messages a second of all users of the class, at the lowest rate of the load."""
    steps = parse_steps(user.rate_steps) if user.rate_steps else ()
    rates = [rate for step in steps for rate in (step.from_per_s, step.to_per_s)]
    return user.fixed_count * (min(rates) if rates else user.sends_per_second)


def _require_served(destination: str, rate_per_s: float, works: dict[type[ConsumerUser], Work]) -> None:
    """Consumers of a queue share its messages; each subscriber of a topic gets all of them."""
    most = {user: MS_PER_S / work.mean_ms for user, work in works.items()}
    if destination.startswith(QUEUE):
        can_per_s = sum(user.fixed_count * per_s for user, per_s in most.items())
    else:
        can_per_s = min(most.values())
    if rate_per_s >= can_per_s:
        consumers = " and ".join(f"{user.fixed_count} {user.__name__} of {user.work_ms} ms" for user in works)
        share = "together" if destination.startswith(QUEUE) else "each, and each subscriber gets all messages"
        raise UserError(
            f"{destination}: {rate_per_s:,g} messages a second are sent to it, and its consumers ({consumers}) can "
            f"take at most {can_per_s:,.6g} a second {share}; lower --rate or --work-ms, or use more --consumers"
        )


# -- replies -----------------------------------------------------------------------------------------------------------


def require_ways_back(
    producing: Iterable[type[ProducerUser]], consuming: Sequence[type[ConsumerUser]], options: Options
) -> None:
    """Whoever awaits replies can get them: by protocol, connection, and the topology's links. Raises UserError."""
    topology = options.built_topology
    asking = [user for user in producing if user.awaits_replies]
    answering = [user for user in consuming if user.replies]
    if not asking and not answering:
        return
    _require_protocol(options, topology)
    for user in asking:
        _require_connection(user)
        repliers = [user_class for user_class in answering if user_class.destination == user.destination]
        if not repliers:
            raise UserError(
                f"{user.__name__}: awaits_replies = True, and nobody replies to {user.destination}; write replies = "
                "True in a ConsumerUser of that destination"
            )
        for replier in repliers:
            _require_paths(topology, user.group, replier.group)


def _require_protocol(options: Options, topology: Topology) -> None:
    able = topology.product.temporary_queues_by
    for protocol in Spoken.parse(options.protocol).distinct:
        if protocol not in ("memory", *able):
            raise UserError(
                f"--protocol {options.protocol}: {protocol} has no temporary queues for replies on brokers of "
                f"{topology.flavour}, and {topology.name} has such; choose --protocol {' or '.join(able)}"
            )
    spoken = Spoken.parse(options.protocol)
    if (spoken.producers, spoken.consumers) in topology.product.unanswered:
        raise UserError(
            f"--protocol {options.protocol}: on brokers of {topology.flavour} {spoken.consumers} clients cannot reply "
            f"to temporary queues of {spoken.producers} clients; choose one protocol for both"
        )


def _require_connection(user: type[ProducerUser]) -> None:
    if user.destinations > 1:
        raise UserError(
            f"{user.__name__}: destinations = {user.destinations}: requests go to one destination here, so that its "
            "replies have one name; leave --destinations out"
        )
    if user.transaction_size:
        raise UserError(
            f"{user.__name__}: transaction_size = {user.transaction_size}: requests of a transaction would wait "
            "for its end; leave transactions out"
        )
    if user.connections != ONE:
        raise UserError(
            f"{user.__name__}: connections = {user.connections!r}: a temporary queue belongs to one connection; write "
            f"{ONE!r}"
        )


def _require_paths(topology: Topology, requesters: str, repliers: str) -> None:
    """Each replier's broker reaches each requester's."""
    paths = topology.paths()
    for begin in topology.group(repliers).enter_at:
        for end in topology.group(requesters).enter_at:
            if (begin.name, end.name) not in paths:
                raise UserError(
                    f"--topology {topology.name}: no path leads from {begin.name!r}, where {repliers} reply, back to "
                    f"{end.name!r}; make its links duplex, or choose chain"
                )
