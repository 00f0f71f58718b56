"""Says why a run's users cannot send, select, work or reply as asked.

Each rule yields a sentence a breach. `harness.options.plan.make` refuses a run with the first one, so a rule
may rely on those before it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from drivers.client.connection_modes import ONE
from drivers.client.work import Work
from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.declarations import Options
from harness.options.routing import meetings
from records.errors import about
from records.message_properties import MessageProperties
from records.percentiles import takes
from records.rate_search import AFTER_A_STEP_S
from records.rate_steps import parse_steps
from records.routes import Route
from records.selectors import parse
from records.step_judgement import P99
from records.units import MS_PER_S
from topologies.model.topology import Topology

NOTHING = "FALSE"  # a selector that asks for no property is meant as it is
MOST_VALUES = 8  # of a property in one sentence
Producers = Sequence[type[ProducerUser]]
Consumers = Sequence[type[ConsumerUser]]
CORE = "core"
QUEUE = "queue://"
NO_PREFETCH = "its library counts bytes, not messages; set consumerWindowSize of the broker's URI instead"
NO_WORK = "its library shares a few threads among the listeners of all consumers, so they would wait for each other"


# -- what messages carry and consumers select --------------------------------------------------------------------------


def message_refusals(
    producing: Producers, consuming: Consumers, options: Options, routes: Sequence[Route]
) -> Iterator[str]:
    """No message can carry what is asked for, or no consumer can select it."""
    yield from _unsendable(producing, options)
    yield from _unlike(producing)
    met_by = [*meetings((*producing, *consuming), routes)]
    for consumer in consuming:
        senders = [meeting.producer for meeting in met_by if meeting.consumer is consumer]
        yield from _unselectable(consumer, senders, options)


def unwanted_refusals(producing: Producers, consuming: Consumers) -> Iterator[str]:
    """A rate that changes is held if all that is due arrives, and that is not to be expected."""
    for user in producing:
        if user.time_to_live_s is not None:
            yield (
                f"{user.__name__}: time_to_live_s = {user.time_to_live_s:g} (--ttl): of messages that expire nobody "
                "can tell whether a rate is held; leave it out, or choose one --rate"
            )
    for consumer in consuming:
        if any(consumer.selectors()):
            yield (
                f"{consumer.__name__}: selector = {consumer.selector!r} (--selector): of messages that consumers leave "
                "out nobody can tell whether a rate is held; leave it out, or choose one --rate"
            )


def _unsendable(producing: Producers, options: Options) -> Iterator[str]:
    spoken = Spoken.parse(options.protocol)
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
            yield f"{user.__name__}: {error}{option and f' ({option})'}"
            return
        for name, values in properties.cycles if spoken.of(user.role, user.__name__) == "stomp" else ():
            if wrong := [value for value in values if not isinstance(value, str)]:
                yield (
                    f"{user.__name__}: property {name} = {wrong[0]!r}: STOMP carries text only; write "
                    f"{str(wrong[0])!r}, or choose another --protocol for the producers"
                )


def _unlike(producing: Producers) -> Iterator[str]:
    """The analysis knows a message's class only by its destination."""
    first_by_destination: dict[str, type[ProducerUser]] = {}
    for user in producing:
        for name in user.destination_names():
            earlier = first_by_destination.setdefault(name, user)
            ours, theirs = user.message_settings(), earlier.message_settings()
            if (ours.properties, ours.time_to_live_s) != (theirs.properties, theirs.time_to_live_s):
                yield (
                    f"{earlier.__name__} and {user.__name__} send to {name} with different properties or times to "
                    "live, so nobody could tell which message should have come; give them the same, or two destinations"
                )


def _unselectable(consumer: type[ConsumerUser], producing: Producers, options: Options) -> Iterator[str]:
    """A selector does not parse, compares unlike values, or matches no message that is sent to its destination."""
    sent = {producer.message_settings().properties: None for producer in producing}
    if not consumer.selectors():
        yield f"{consumer.__name__}: selector is an empty list; write '' for every message"
    subject = "--" if options.selector else f"{consumer.__name__}: "
    for text in filter(None, consumer.selectors()):
        with about(subject):
            selector = parse(text)
            matched = [any(selector.matched(properties)) for properties in (*sent, MessageProperties())]
        if sent and selector.properties and not any(matched[:-1]):
            yield f"{subject}selector {selector.text!r}: {_matches_none(sent)}"


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


FASTER = "lower --rate or --work-ms, or use more --consumers"


def work_refusals(producing: Producers, consuming: Consumers, options: Options) -> Iterator[str]:
    """Consumers cannot work as asked. A rate that changes has to be served where it is lowest, to ask its question."""
    yield from _impossible_work(consuming, options)
    if options.steps or options.search:
        yield from (f"{overload}; {FASTER}" for overload in _unserved_destinations(producing, consuming))


def unserved_warnings(producing: Producers, consuming: Consumers, options: Options) -> Iterator[str]:
    """Consumers that cannot take all that is sent: messages pile up, which may be wanted."""
    if not (options.steps or options.search):
        for overload in _unserved_destinations(producing, consuming):
            yield f"{overload}, so messages pile up from the start; if that is not meant, {FASTER}"


def _unserved_destinations(producing: Producers, consuming: Consumers) -> Iterator[str]:
    """Not judged where consumers select, or messages expire: not all that is sent has to be worked on there."""
    for destination in dict.fromkeys(user.destination for user in consuming):
        works = {user: Work.parse(str(user.work_ms)) for user in consuming if user.destination == destination}
        senders = [user for user in producing if user.destination == destination]
        with_work = {user: work for user, work in works.items() if work}
        if any(any(user.selectors()) for user in works) or any(user.time_to_live_s for user in senders):
            continue
        if with_work and (len(with_work) == len(works) or not destination.startswith(QUEUE)):
            yield from _unserved(destination, sum(map(_least_per_s, senders)), with_work)


def _impossible_work(consuming: Consumers, options: Options) -> Iterator[str]:
    works: dict[type[ConsumerUser], Work | None] = {}
    for user in consuming:
        try:
            works[user] = Work.parse(str(user.work_ms))
        except ValueError as error:
            yield f"{user.__name__}: work_ms = {error} (--work-ms)"
    spoken = Spoken.parse(options.protocol)
    by_core = [user for user in consuming if spoken.of(user.role, user.__name__) == CORE]
    if by_core:
        if options.prefetch is not None:
            yield f"--prefetch {options.prefetch}: {CORE} clients take none: {NO_PREFETCH}"
        for user in (user for user in by_core if works[user]):
            yield (
                f"{user.__name__}: work_ms = {user.work_ms!r} (--work-ms): {CORE} clients cannot do this: {NO_WORK}; "
                "choose another --protocol"
            )
    for user in (user for user in consuming if works[user] and user.takes_turns()):
        yield (
            f"{user.__name__}: work_ms = {user.work_ms} (--work-ms): its {user.fixed_count} users share "
            f"{user.destinations} destinations (--destinations), and would work for each of theirs at the same "
            f"time; use --consumers {user.destinations} or more, or leave the time out"
        )


def _least_per_s(user: type[ProducerUser]) -> float:
    """Messages a second of all users of the class, at the lowest rate of the load."""
    steps = parse_steps(user.rate_steps) if user.rate_steps else ()
    rates = [rate for step in steps for rate in (step.from_per_s, step.to_per_s)]
    return user.fixed_count * (min(rates) if rates else user.sends_per_second)


def _unserved(destination: str, rate_per_s: float, works: dict[type[ConsumerUser], Work]) -> Iterator[str]:
    """Consumers of a queue share its messages; each subscriber of a topic gets all of them."""
    most = {user: MS_PER_S / work.mean_ms for user, work in works.items()}
    if destination.startswith(QUEUE):
        can_per_s = sum(user.fixed_count * per_s for user, per_s in most.items())
    else:
        can_per_s = min(most.values())
    if rate_per_s >= can_per_s:
        consumers = " and ".join(f"{user.fixed_count} {user.__name__} of {user.work_ms} ms" for user in works)
        share = "together" if destination.startswith(QUEUE) else "each, and each subscriber gets all messages"
        yield (
            f"{destination}: {rate_per_s:,g} messages a second are sent to it, and its consumers ({consumers}) can "
            f"take at most {can_per_s:,.6g} a second {share}"
        )


# -- the load ----------------------------------------------------------------------------------------------------------


def search_refusals(producing: Producers, options: Options) -> Iterator[str]:
    """No first steps can be made of the search for the highest rate."""
    search, producers = options.search, sum(user.fixed_count for user in producing)
    if search is None:
        return
    if transacted := [user.__name__ for user in producing if user.transaction_size]:
        yield (
            f"--rate {search}: messages of {', '.join(transacted)} wait for their transaction between two rates; leave "
            "transactions out"
        )
    if search.begin_per_s < producers:
        yield (
            f"--rate {search}: between two rates each of {producers} producers sends a message in two seconds, so "
            f"begin at {producers} messages a second or more"
        )
    step_s = search.step_for(search.begin_per_s, producers)
    if options.load_s is not None and options.load_s < step_s + AFTER_A_STEP_S:
        why = "" if step_s == search.step_s else f", as its p99 needs {takes(P99):,} messages"
        yield (
            f"--run-time {options.load_s:g}: the first step of {search} alone takes {step_s + AFTER_A_STEP_S} s{why}; "
            "make it longer, or leave it out"
        )


def stay_refusals(consuming: Consumers, load_s: float | None) -> Iterator[str]:
    """Consumers come back after the load: what they left would be taken for left behind."""
    for user in consuming:
        last = user.stays[-1]
        if load_s is not None and last.from_s >= load_s:
            yield (
                f"{user.__name__}: its last stay begins {last.from_s:g} s into the load, which is over after "
                f"{load_s:g} s; make the load longer (-t)"
            )


# -- replies -----------------------------------------------------------------------------------------------------------


def reply_refusals(producing: Producers, consuming: Consumers, options: Options) -> Iterator[str]:
    """Whoever awaits replies cannot get them: by protocol, connection, or the topology's links."""
    requesting = [user for user in producing if user.awaits_replies]
    replying = [user for user in consuming if user.replies]
    if not requesting and not replying:
        return
    yield from _no_temporary_queues([*requesting, *replying], options)
    for user in requesting:
        yield from _unfit_for_requests(user)
        repliers = [user_class for user_class in replying if user_class.destination == user.destination]
        if not repliers:
            yield (
                f"{user.__name__}: awaits_replies = True, and nobody replies to {user.destination}; write replies = "
                "True in a ConsumerUser of that destination"
            )
        for replier in repliers:
            yield from _unanswered(user, replier, options)
            yield from _no_way_back(options.built_topology, user.group, replier.group)


def _chosen(user: type[BrokerUser], options: Options) -> tuple[str, str]:
    """Return (how the class's protocol was chosen, the protocol)."""
    protocol = Spoken.parse(options.protocol).of(user.role, user.__name__)
    if user.protocol:
        return f"{user.__name__}: protocol = {protocol!r}", protocol
    return f"--protocol {options.protocol}", protocol


def _no_temporary_queues(users: Sequence[type[BrokerUser]], options: Options) -> Iterator[str]:
    topology = options.built_topology
    able = topology.product.temporary_queues_by
    for user in users:
        chosen, protocol = _chosen(user, options)
        if protocol not in ("memory", *able):
            yield (
                f"{chosen}: {protocol} has no temporary queues for replies on brokers of "
                f"{topology.flavour}, and {topology.name} has such; choose --protocol {' or '.join(able)}"
            )


def _unanswered(requester: type[BrokerUser], replier: type[BrokerUser], options: Options) -> Iterator[str]:
    topology = options.built_topology
    _, asking = _chosen(requester, options)
    chosen, answering = _chosen(replier, options)
    if (asking, answering) in topology.product.unanswered:
        yield (
            f"{chosen}: on brokers of {topology.flavour} {answering} clients cannot reply "
            f"to temporary queues of {asking} clients; choose one protocol for both"
        )


def _unfit_for_requests(user: type[ProducerUser]) -> Iterator[str]:
    if user.destinations > 1:
        yield (
            f"{user.__name__}: destinations = {user.destinations}: requests go to one destination here, so that its "
            "replies have one name; leave --destinations out"
        )
    if user.transaction_size:
        yield (
            f"{user.__name__}: transaction_size = {user.transaction_size}: requests of a transaction would wait "
            "for its end; leave transactions out"
        )
    if user.connections != ONE:
        yield (
            f"{user.__name__}: connections = {user.connections!r}: a temporary queue belongs to one connection; write "
            f"{ONE!r}"
        )


def _no_way_back(topology: Topology, requesters: str, repliers: str) -> Iterator[str]:
    """A replier's broker does not reach each requester's."""
    paths = topology.paths()
    for begin, end in product(topology.group(repliers).enter_at, topology.group(requesters).enter_at):
        if (begin.name, end.name) not in paths:
            yield (
                f"--topology {topology.name}: no path leads from {begin.name!r}, where {repliers} reply, back to "
                f"{end.name!r}; make its links duplex, or choose chain"
            )
