"""Checks user classes against the run's options: sending, selectors, work and replies.

Each rule yields a `Refusal` per violation. `harness.options.plan.make` rejects a run with the first violation, so a
rule can rely on the rules before it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from drivers.client.connection_modes import ONE
from drivers.client.work import Work
from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.declarations import Options
from harness.routing import producer_consumer_pairs
from records.errors import Refusal, about
from records.figures.percentiles import values_needed
from records.figures.step_judgement import P99
from records.loads.arrivals import CLOSED
from records.loads.message_properties import MessageProperties
from records.loads.rate_search import AFTER_A_STEP_S
from records.loads.rate_steps import parse_steps
from records.loads.routes import Route
from records.loads.selectors import parse
from records.units import MS_PER_S
from topologies.model.topology import Topology

NOTHING = "FALSE"  # a selector without properties is assumed to be intended
MOST_VALUES = 8  # values of a property that an error lists
Producers = Sequence[type[ProducerUser]]
Consumers = Sequence[type[ConsumerUser]]
CORE = "core"
QUEUE = "queue://"
NO_WORK = "their library shares a few threads among the listeners of all consumers, so they would wait for each other"


# -- message settings and selectors ------------------------------------------------------------------------------------


def message_refusals(
    producing: Producers, consuming: Consumers, options: Options, routes: Sequence[Route]
) -> Iterator[Refusal]:
    """Yield message settings that cannot be sent, and selectors that cannot work."""
    yield from _unsendable(producing, options)
    yield from _unlike(producing)
    pairs = [*producer_consumer_pairs((*producing, *consuming), routes)]
    for consumer in consuming:
        senders = [pair.producer for pair in pairs if pair.consumer is consumer]
        yield from _unselectable(consumer, senders, options)


def unwanted_refusals(producing: Producers, consuming: Consumers, options: Options) -> Iterator[Refusal]:
    """Yield settings that keep messages from arriving.

    If the rate changes, a rate counts as held if all messages that are due arrive.
    """
    if not (options.steps or options.search):
        return
    for user in producing:
        if user.time_to_live_s is not None:
            yield Refusal(
                user.__name__,
                f"time_to_live_s = {user.time_to_live_s:g} (--ttl): if messages expire, the run cannot show "
                "whether a rate is held",
                "leave it out, or choose one --rate",
            )
    for consumer in consuming:
        if any(consumer.selectors()):
            yield Refusal(
                consumer.__name__,
                f"selector = {consumer.selector!r} (--selector): if consumers skip messages, the run cannot show "
                "whether a rate is held",
                "leave it out, or choose one --rate",
            )


def _unsendable(producing: Producers, options: Options) -> Iterator[Refusal]:
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
            yield Refusal(user.__name__, f"{error}{option and f' ({option})'}")
            return
        for name, values in properties.cycles if spoken.of(user.role, user.__name__) == "stomp" else ():
            if wrong := [value for value in values if not isinstance(value, str)]:
                yield Refusal(
                    user.__name__,
                    f"property {name} = {wrong[0]!r}: STOMP carries text only",
                    f"write {str(wrong[0])!r}, or choose another --protocol for the producers",
                )


def _unlike(producing: Producers) -> Iterator[Refusal]:
    """Yield classes that send different messages to one destination.

    The analysis identifies the class of a message only by its destination.
    """
    first_by_destination: dict[str, type[ProducerUser]] = {}
    for user in producing:
        for name in user.destination_names():
            earlier = first_by_destination.setdefault(name, user)
            ours, theirs = user.message_settings(), earlier.message_settings()
            if (ours.properties, ours.time_to_live_s) != (theirs.properties, theirs.time_to_live_s):
                yield Refusal(
                    f"{earlier.__name__} and {user.__name__}",
                    f"they send to {name} with different properties or times to live, so the run could not show which "
                    "messages should have arrived",
                    "give both classes the same values, or different destinations",
                )


def _unselectable(consumer: type[ConsumerUser], producing: Producers, options: Options) -> Iterator[Refusal]:
    """Yield selectors that cannot be parsed, compare unlike values, or match no message of the destination."""
    sent = {producer.message_settings().properties: None for producer in producing}
    if not consumer.selectors():
        yield Refusal(consumer.__name__, "selector is an empty list", "write '' for every message")
    subject = "--" if options.selector else f"{consumer.__name__}: "
    for text in filter(None, consumer.selectors()):
        with about(subject):
            selector = parse(text)
            matched = [any(selector.match_period(properties)) for properties in (*sent, MessageProperties())]
        if sent and selector.properties and not any(matched[:-1]):
            yield Refusal(
                f"{subject}selector {selector.text!r}",
                f"it matches no message of the run: {_sent_properties(sent)}",
                f"correct it, or give messages other properties (--properties); write {NOTHING} to select nothing on "
                "purpose",
            )


def _sent_properties(sent: Iterable[MessageProperties]) -> str:
    values: dict[str, dict[str, None]] = {}
    for name, cycle in (property_cycle for properties in sent for property_cycle in properties.cycles):
        values.setdefault(name, {}).update({repr(value): None for value in cycle})
    return "; ".join(f"{name} is {_few([*cycle])}" for name, cycle in values.items()) or "they have no properties"


def _few(values: Sequence[str]) -> str:
    ending = f" or {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
    return ", ".join(values[:MOST_VALUES]) + ending


# -- work --------------------------------------------------------------------------------------------------------------


FASTER = "lower --rate or --work-ms, or use more --consumers"


def work_refusals(producing: Producers, consuming: Consumers, options: Options) -> Iterator[Refusal]:
    """Yield consumers that cannot work as configured.

    If the rate changes, the consumers must keep up at least with the lowest rate. Otherwise no rate can be held.
    """
    yield from _impossible_work(consuming, options)
    if options.steps or options.search:
        yield from (Refusal(*overload, FASTER) for overload in _unserved_destinations(producing, consuming))


def unserved_warnings(producing: Producers, consuming: Consumers, options: Options) -> Iterator[str]:
    """Yield warnings about consumers that cannot keep up. Messages pile up then, which may be intended."""
    if not (options.steps or options.search):
        for destination, overload in _unserved_destinations(producing, consuming):
            yield f"{destination}: {overload}, so messages pile up from the start; if this is not intended, {FASTER}"


def _unserved_destinations(producing: Producers, consuming: Consumers) -> Iterator[tuple[str, str]]:
    """Yield (destination, problem) for destinations that get more messages than their consumers can process.

    Destinations with selectors or expiring messages are skipped, because their consumers do not process all messages.
    """
    for destination in dict.fromkeys(user.destination for user in consuming):
        works = {user: Work.parse(str(user.work_ms)) for user in consuming if user.destination == destination}
        senders = [user for user in producing if user.destination == destination]
        with_work = {user: work for user, work in works.items() if work}
        if any(any(user.selectors()) for user in works) or any(user.time_to_live_s for user in senders):
            continue
        if with_work and (len(with_work) == len(works) or not destination.startswith(QUEUE)):
            yield from _unserved(destination, sum(map(_least_per_s, senders)), with_work)


def _impossible_work(consuming: Consumers, options: Options) -> Iterator[Refusal]:
    works: dict[type[ConsumerUser], Work | None] = {}
    for user in consuming:
        try:
            works[user] = Work.parse(str(user.work_ms))
        except ValueError as error:
            yield Refusal(user.__name__, f"work_ms = {error} (--work-ms)")
    spoken = Spoken.parse(options.protocol)
    by_core = [user for user in consuming if spoken.of(user.role, user.__name__) == CORE]
    if by_core:
        if options.prefetch is not None:
            yield Refusal(
                f"--prefetch {options.prefetch}",
                f"{CORE} clients do not support it: their library counts bytes, not messages",
                "set consumerWindowSize of the broker's URI instead",
            )
        for user in (user for user in by_core if works[user]):
            yield Refusal(
                user.__name__,
                f"work_ms = {user.work_ms!r} (--work-ms): {CORE} clients do not support it: {NO_WORK}",
                "choose another --protocol",
            )
    for user in (user for user in consuming if works[user] and user.takes_turns()):
        yield Refusal(
            user.__name__,
            f"work_ms = {user.work_ms} (--work-ms): its {user.fixed_count} users share {user.destinations} "
            "destinations (--destinations), and a user would work for several of them at the same time",
            f"use --consumers {user.destinations} or more, or leave the work time out",
        )


def _least_per_s(user: type[ProducerUser]) -> float:
    """Return the messages per second of all users of the class at the lowest rate of the load; 0 if it has no rate."""
    if user.arrivals == CLOSED:
        return 0.0
    steps = parse_steps(user.rate_steps) if user.rate_steps else ()
    rates = [rate for step in steps for rate in (step.from_per_s, step.to_per_s)]
    return user.fixed_count * (min(rates) if rates else user.sends_per_second)


def _unserved(destination: str, rate_per_s: float, works: dict[type[ConsumerUser], Work]) -> Iterator[tuple[str, str]]:
    """Yield (destination, problem) if its consumers cannot keep up.

    Consumers of a queue share its messages; each subscriber of a topic gets all messages.
    """
    most = {user: MS_PER_S / work.mean_ms for user, work in works.items()}
    if destination.startswith(QUEUE):
        can_per_s = sum(user.fixed_count * per_s for user, per_s in most.items())
    else:
        can_per_s = min(most.values())
    if rate_per_s >= can_per_s:
        consumers = " and ".join(f"{user.fixed_count} {user.__name__} of {user.work_ms} ms" for user in works)
        share = "in total" if destination.startswith(QUEUE) else "each, and each subscriber gets all messages"
        yield (
            destination,
            f"{rate_per_s:,g} messages per second are sent to it, but its consumers ({consumers}) can process at most "
            f"{can_per_s:,.6g} per second {share}",
        )


# -- the load ----------------------------------------------------------------------------------------------------------


def closed_refusals(producing: Producers, options: Options) -> Iterator[Refusal]:
    """Yield settings that a closed load cannot have: each producer sends as soon as its last send is answered."""
    if not any(user.arrivals == CLOSED for user in producing):
        return
    yield from _other_loads(producing, options)
    for user in producing:
        subject = _closed_by(user, options)
        if user.arrivals != CLOSED:
            closed = next(other.__name__ for other in producing if other.arrivals == CLOSED)
            yield Refusal(
                user.__name__,
                f"arrivals = {user.arrivals!r}, but {closed} has {CLOSED!r}: either all producer classes are "
                "closed or none",
                "give all of them the same kind, or use --closed",
            )
        if user.transaction_size:
            yield Refusal(
                subject,
                f"{user.__name__} sends {user.transaction_size} messages per transaction, and none of them is answered "
                "before the commit",
                "leave transactions out",
            )
        elif not user.durable:
            yield Refusal(
                subject,
                f"{user.__name__} sends non-durable messages, which no broker answers, so it would not know when to "
                "send the next one",
                "write durable = True",
            )
        if user.awaits_replies:
            yield Refusal(
                subject,
                f"{user.__name__} sends requests, and the round trip of a request counts from its due time, which a "
                "closed load does not have",
                "choose fixed or poisson arrivals",
            )


def _other_loads(producing: Producers, options: Options) -> Iterator[Refusal]:
    subject = _closed_by(producing[0], options)
    if options.clients:
        yield Refusal(
            subject,
            f"the steps of --clients {options.clients} are judged by latencies from due times, which a closed "
            "load does not have",
            "choose fixed or poisson arrivals",
        )
    elif options.search or options.steps:
        what = "search for the highest rate" if options.search else f"load in {len(options.steps)} steps"
        yield Refusal(
            subject,
            f"a {what} sets the rate, and a closed load has none: it sends as fast as it is answered",
            "leave --closed out, or choose a scenario and options without steps",
        )
    elif options.rate is not None or options.class_rates:
        yield Refusal(
            subject,
            "a closed load has no rate: it sends as fast as it is answered",
            "leave --rate out, and set the number of --producers instead",
        )
    if options.in_flight is not None:
        yield Refusal(
            subject,
            "each producer of a closed load has one send in flight",
            f"leave --in-flight {options.in_flight} out, and set the number of --producers instead",
        )


def _closed_by(user: type[ProducerUser], options: Options) -> str:
    """Name the place where the closed load was chosen."""
    if options.arrivals == CLOSED:
        return "--closed" if options.closed else f"--arrivals {CLOSED}"
    return f"{user.__name__}: arrivals = {CLOSED!r}"


def search_refusals(producing: Producers, options: Options) -> Iterator[Refusal]:
    """Yield problems of the first steps of the search for the highest rate."""
    search, producers = options.search, sum(user.fixed_count for user in producing)
    if search is None:
        return
    if transacted := [user.__name__ for user in producing if user.transaction_size]:
        yield Refusal(
            f"--rate {search}",
            f"messages of {', '.join(transacted)} would wait for the end of the transaction between two rates",
            "leave transactions out",
        )
    if search.begin_per_s < producers:
        yield Refusal(
            f"--rate {search}",
            f"between two rates, each of {producers} producers sends one message per two seconds",
            f"begin at {producers} messages per second or more",
        )
    step_s = search.step_for(search.begin_per_s, producers)
    if options.load_s is not None and options.load_s < step_s + AFTER_A_STEP_S:
        why = "" if step_s == search.step_s else f", as its p99 needs {values_needed(P99):,} messages"
        yield Refusal(
            f"--run-time {options.load_s:g}",
            f"the first step of {search} alone takes {step_s + AFTER_A_STEP_S} s{why}",
            "make it longer, or leave it out",
        )


def stay_refusals(consuming: Consumers, load_s: float | None) -> Iterator[Refusal]:
    """Yield consumers that come back only after the load. Their messages would count as stranded."""
    for user in consuming:
        last = user.stays[-1]
        if load_s is not None and last.from_s >= load_s:
            yield Refusal(
                user.__name__,
                f"its last stay begins {last.from_s:g} s into the load, which ends after {load_s:g} s",
                "make the load longer (-t)",
            )


# -- replies -----------------------------------------------------------------------------------------------------------


def reply_refusals(producing: Producers, consuming: Consumers, options: Options) -> Iterator[Refusal]:
    """Yield requesters that cannot get replies because of the protocol, the connection, or the topology's links."""
    requesting = [user for user in producing if user.awaits_replies]
    replying = [user for user in consuming if user.replies]
    if not requesting and not replying:
        return
    yield from _no_temporary_queues([*requesting, *replying], options)
    for user in requesting:
        yield from _unfit_for_requests(user)
        repliers = [user_class for user_class in replying if user_class.destination == user.destination]
        if not repliers:
            yield Refusal(
                user.__name__,
                f"awaits_replies = True, but no consumer replies to {user.destination}",
                "write replies = True in a ConsumerUser of that destination",
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


def _no_temporary_queues(users: Sequence[type[BrokerUser]], options: Options) -> Iterator[Refusal]:
    topology = options.built_topology
    able = topology.product.temporary_queues_by
    for user in users:
        chosen, protocol = _chosen(user, options)
        if protocol not in ("memory", *able):
            yield Refusal(
                chosen,
                f"{protocol} has no temporary queues for replies on {topology.flavour} brokers, which "
                f"{topology.name} uses",
                f"choose --protocol {' or '.join(able)}",
            )


def _unanswered(requester: type[BrokerUser], replier: type[BrokerUser], options: Options) -> Iterator[Refusal]:
    topology = options.built_topology
    _, asking = _chosen(requester, options)
    chosen, answering = _chosen(replier, options)
    if (asking, answering) in topology.product.unanswered:
        yield Refusal(
            chosen,
            f"on {topology.flavour} brokers, {answering} clients cannot reply to temporary queues of {asking} clients",
            "choose one protocol for both",
        )


def _unfit_for_requests(user: type[ProducerUser]) -> Iterator[Refusal]:
    if user.destinations > 1:
        yield Refusal(
            user.__name__,
            f"destinations = {user.destinations}: requests must go to one destination, so that their replies have "
            "one name",
            "leave --destinations out",
        )
    if user.transaction_size:
        yield Refusal(
            user.__name__,
            f"transaction_size = {user.transaction_size}: requests would wait for the end of the transaction",
            "leave transactions out",
        )
    if user.connections != ONE:
        yield Refusal(
            user.__name__,
            f"connections = {user.connections!r}: a temporary queue belongs to one connection",
            f"write {ONE!r}",
        )


def _no_way_back(topology: Topology, requesters: str, repliers: str) -> Iterator[Refusal]:
    """Yield pairs of brokers between which replies find no path."""
    paths = topology.paths()
    for begin, end in product(topology.group(repliers).enter_at, topology.group(requesters).enter_at):
        if (begin.name, end.name) not in paths:
            yield Refusal(
                f"--topology {topology.name}",
                f"no path leads from {begin.name!r}, where {repliers} reply, back to {end.name!r}",
                "make its links duplex, or choose chain",
            )
