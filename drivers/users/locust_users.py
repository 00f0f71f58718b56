"""Locust users: producers send on a schedule, or in a closed load after each answer; consumers receive messages.

A scenario subclasses `ProducerUser` and `ConsumerUser`, names a client *group* (the topology defines where that group
enters the network, and with which failover URI) and a destination. Locust starts, counts and stops the users; its own
statistics get one request for each outcome. The analysis uses the event tables instead.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import gevent
from locust import task

from drivers.client.connection_modes import PER_MESSAGE, PooledClient
from drivers.client.contract import LoadProducer, ProducerSettings, ScheduledProducer
from drivers.client.message_settings import MessageSettings
from drivers.client.pacing import ScheduleProgress
from drivers.client.per_message import PerMessageProducer
from drivers.client.request_reply import replies_of
from drivers.client.work import Work
from drivers.contract import DEFAULT_PRIORITY, Destination, DriverError, Subscription
from drivers.users.broker_user import LOOK_EVERY_S, BrokerUser
from drivers.users.session import Go, Session
from records.declared_types import fits, misfit, misfits
from records.loads.arrivals import CLOSED, FIXED
from records.loads.message_properties import MessageProperties, Values
from records.loads.rate_steps import parse_steps
from records.loads.send_schedule import ClosedSchedule, Schedule, producer_schedule, share


class ProducerUser(BrokerUser):
    """Sends on a schedule until the load ends, then waits for outstanding answers.

    ``in_flight``: the maximum number of unconfirmed sends. At this limit, the next message waits: it is sent late
    with its own due time, and counts as blocked. ``transaction_size``: the number of messages per transaction; 0: no
    transactions. ``rate_steps``: how the rate of one producer changes during the load, in the syntax of
    `records.loads.rate_steps`; empty: it does not change. ``awaits_replies``: the user's connection has a temporary
    queue, from which it receives the replies.

    The docstring below an attribute is its row in docs/scenarios.md. An attribute without one is set by the run.
    """

    abstract = True
    role = "producer"
    body_bytes: ClassVar[int] = 1_024
    """size of a message body in bytes, at least 32"""
    durable: ClassVar[bool] = True
    """whether messages are durable: they survive a restart of their broker, and sends are confirmed"""
    sends_per_second: ClassVar[float] = 10.0
    """rate of each producer"""
    in_flight: ClassVar[int] = 1_000
    """maximum number of unconfirmed sends"""
    rate_steps: ClassVar[str] = ""
    arrivals: ClassVar[str] = FIXED
    """`"fixed"`: sends at equal intervals; `"poisson"`: at random intervals, as many independent clients send;
    `"closed"`: sends as soon as its last send is answered, without `sends_per_second` and `in_flight`; see
    [running.md](running.md#closed-loads)"""
    resend_in_doubt: ClassVar[bool] = True
    """whether a message in doubt is sent again"""
    transaction_size: ClassVar[int] = 0
    """messages per transaction; 0: no transactions"""
    awaits_replies: ClassVar[bool] = False
    """whether each message is a request: see [drivers.md](drivers.md#requests-and-replies)"""
    properties: ClassVar[Mapping[str, Values]] = {}
    """message properties by name: one value, or several values that messages cycle through, as in
    `{"color": ["red", "blue"]}`. Message n (`seq`) has value n modulo the number of values. Values are text, integers,
    decimal numbers or booleans; STOMP only carries text"""
    time_to_live_s: ClassVar[float | None] = None
    """time to live of the messages in seconds; `None`: messages do not expire"""
    priority: ClassVar[int] = DEFAULT_PRIORITY
    """priority of the messages, 0 to 9. Classic respects it only with the policy `prioritized_messages`"""
    _progress: ScheduleProgress | None = None

    @classmethod
    def message_settings(cls) -> MessageSettings:
        """Return the content settings of its messages. ValueError for values that no message can have."""
        return MessageSettings(MessageProperties.of(cls.properties), cls.time_to_live_s, cls.priority)

    @classmethod
    def producer_settings(cls) -> ProducerSettings:
        """Return how each of its producers sends. ValueError for values that no message can have."""
        return ProducerSettings(
            body_bytes=cls.body_bytes,
            in_flight=1 if cls.arrivals == CLOSED else cls.in_flight,
            durable=cls.durable,
            resend_in_doubt=cls.resend_in_doubt,
            transaction_size=cls.transaction_size,
            requests=cls.awaits_replies,
            messages=cls.message_settings(),
        )

    @task
    def produce(self) -> None:
        self.guard(self._produce)

    def _produce(self, session: Session) -> None:
        session.statistics.show(self.environment, self.destination, self.destination_names())
        if self.connections == PER_MESSAGE:
            self._produce_per_message(session)
            return
        only = self.only_broker(session)
        name = type(self).__name__
        client = session.pooled_client(
            self.role, self.group, self.connections, self.pool_size, user_class=name, only=only
        )
        try:
            self.join(session, client)
            self._load(session, client.number, self._producer(session, client))
            self.stay(client)
        finally:
            client.close()  # also closes the connection if this is its last user, after outstanding answers

    def _produce_per_message(self, session: Session) -> None:
        destination, *more_destinations = self.own_destinations(self.index(session))
        settings = self.producer_settings()
        producer = PerMessageProducer(
            session,
            self.group,
            destination,
            settings,
            more_destinations=more_destinations,
            user_class=type(self).__name__,
        )
        self.record_member(session, producer.number, None)
        try:
            self._load(session, producer.number, producer)
            self.stay(None)
        finally:
            producer.close()

    def _producer(self, session: Session, client: PooledClient) -> LoadProducer:
        """Create the producer before the start signal: with many users that takes seconds."""
        destination, *more_destinations = self.own_destinations(self.index(session))
        if self.awaits_replies:
            replies = replies_of(destination)
            session.statistics.show(self.environment, str(replies))
            client.client.consumer(Subscription(replies, temporary=True), number=client.number, run=session.run_number)
        producer = client.client.producer(
            destination,
            self.producer_settings(),
            more_destinations=more_destinations,
            number=client.number,
            run=session.run_number,
        )
        producer.prepare()
        return producer

    def _load(self, session: Session, number: int, producer: ScheduledProducer) -> None:
        """Report that the user is ready, wait for the start, and keep the schedule to its end."""
        progress, failed = self._begin(session, number), False
        if not isinstance(progress.schedule, ClosedSchedule):
            session.record_schedule(number, progress.schedule)
        try:
            producer.run(progress.schedule, session)
            if session.producing and progress.schedule.due_ns(producer.begun) is not None:
                session.report(self.ended_early(session, "ended its schedule"))
        except DriverError:
            failed = True  # the generator did not cause the loss of the rest: `leave` counts it
            raise
        finally:  # also for a user that is stopped while its last message waits for a broker that is gone
            progress.begun = producer.begun
            if not failed:
                self._count_unsent(session, progress.unsent(session.due_until_ns()), held_back=producer.held_back)
                progress.counted = True
            session.tally.finished_producers += 1

    def _count_unsent(self, session: Session, unsent: int, *, held_back: bool) -> None:
        """Count messages that were due and never sent: the brokers held the producer back, or it was too slow
        itself."""
        if held_back:
            session.tally.withheld += unsent
        else:
            session.tally.missed += unsent

    def _begin(self, session: Session, number: int) -> ScheduleProgress:
        """Report that the user is ready, and wait for the start signal, which determines this user's schedule."""
        self.report_ready(session)
        progress = ScheduleProgress(self._schedule(session, session.wait_go(), self.index(session), number))
        self._keep(_progress=progress)
        return progress

    def leave(self, session: Session) -> None:
        progress = self._progress
        if progress is None and self._joins_later:  # its schedule would have begun when it connected
            return
        if progress is None:  # it failed before its schedule began, and now keeps none of it
            progress = self._begin(session, session.next_number())
            session.tally.finished_producers += 1
        stopped_ns = session.wait_stopped()
        if not progress.counted:  # otherwise it failed after its schedule was over
            session.tally.unsent[type(self).__name__] += progress.abandoned(stopped_ns)

    def _schedule(self, session: Session, go: Go, index: int, client: int) -> Schedule:
        name = type(self).__name__
        count = None
        if go.messages is not None:
            classes = list(go.producers)
            before = sum(go.producers[user_class] for user_class in classes[: classes.index(name)])
            count = share(go.messages, sum(go.producers.values()), before + go.first_index[name] + index)
        start_ns = session.clock() if self._joins_later else go.window.warm_up_began_ns
        schedule = producer_schedule(
            self.arrivals,
            self.sends_per_second,
            session.seed,
            client,
            start_ns=start_ns,
            steps=parse_steps(self.rate_steps) if self.rate_steps else (),
            count=count,
            ends_ns=go.window.load_ends_ns,
        )
        session.announce_load_times(schedule, go.window)
        return schedule


@dataclass(frozen=True)
class Stay:
    """A period in which a consumer is connected, in seconds of the load. The first stay begins before the load.

    ``until_s``: None for as long as the run needs it. ``place``: the broker that it tries first, as an index into the
    group's failover URI, from 0 and wrapping around; None: the order of the URI.
    """

    until_s: float | None = None
    from_s: float = 0.0
    place: int | None = None

    def __str__(self) -> str:
        """Return ``25 … end s at 0``."""
        until = "end" if self.until_s is None else f"{self.until_s:g}"
        return f"{self.from_s:g} … {until} s{'' if self.place is None else f' at {self.place}'}"


def _problem_of(stays: Sequence[Stay]) -> str:
    """Return why a consumer cannot have these stays; empty if it can."""
    if not fits(stays, tuple[Stay, ...]):
        return misfit("stays", stays, tuple[Stay, ...])
    if problem := next(filter(None, map(misfits, stays)), ""):
        return f"a stay has {problem}"
    if not stays or stays[0].from_s:
        return "the first stay must begin before the load: write one without from_s"
    for stay, later in pairwise((*stays, None)):
        ends_s = math.inf if stay is None or stay.until_s is None else stay.until_s
        if stay is not None and ends_s <= stay.from_s:
            return f"a stay ends at {ends_s:g} s, and begins at {stay.from_s:g} s"
        if later is not None and later.from_s < ends_s:
            return f"a stay begins at {later.from_s:g} s, before the previous one is over"
    return ""


class ConsumerUser(BrokerUser):
    """Subscribes and acknowledges each message individually until Locust stops the users.

    If producers connect for each message, a consumer still keeps its own connection, like a service that calls
    functions. ``stays``: when and where it is connected; it closes its connection at the end of each stay. A later stay
    is another client of the run. A durable subscriber comes back with the client id and the subscription's name of its
    first stay, and the results count it as one client. ``work_ms``: the time that it works on each message before
    acknowledging it, in the syntax of `drivers.client.work`. ``selector``: empty for every message. ``replies``: it
    answers each request before acknowledging it.
    """

    abstract = True
    role = "consumer"
    prefetch: ClassVar[int] = 100
    """maximum number of messages that a broker sends ahead of their acknowledgment"""
    selector: ClassVar[str | Sequence[str]] = ""
    """message selector: `"color = 'red' AND weight > 3"`. With a list of selectors, the consumers of the class take
    them in rotation"""
    _own_selector: str | None = None
    durable_subscription: ClassVar[bool] = False
    """whether it has a durable subscription to its topic"""
    stays: ClassVar[tuple[Stay, ...]] = (Stay(),)
    """when and where it is connected: see [backlog](scenarios/backlog.md) and
    [durable_subscribers](scenarios/durable_subscribers.md)"""
    work_ms: ClassVar[float | str] = 0
    """milliseconds that it works on each message before acknowledging it: `5`, `"2..8"` or `"exponential(5)"`; see
    [drivers.md](drivers.md#consumers-that-take-time)"""
    replies: ClassVar[bool] = False
    """whether it answers requests: see [drivers.md](drivers.md#requests-and-replies)"""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if problem := _problem_of(cls.stays):
            raise ValueError(f"{cls.__name__}: {problem}")

    @classmethod
    def selectors(cls) -> tuple[str, ...]:
        """Return the selectors that its consumers take in rotation."""
        return (cls.selector,) if isinstance(cls.selector, str) else tuple(cls.selector)

    @task
    def consume(self) -> None:
        self.guard(self._consume)

    def _consume(self, session: Session) -> None:
        session.statistics.show(self.environment, self.destination, self.destination_names())
        self._keep(_own_selector=self.selectors()[self.rotation_index(session) % len(self.selectors())])
        first = None
        for number, stay in enumerate(self.stays):
            while number and session.load_s() < stay.from_s:
                gevent.sleep(LOOK_EVERY_S / 10)
            client = self._stay_connected(session, stay, number, first if self.durable_subscription else None)
            first = first or client
        self.stay(None)

    def _stay_connected(self, session: Session, stay: Stay, number: int, returns: PooledClient | None) -> PooledClient:
        """Be connected for one stay, and return its client. ``returns``: the first stay's, if its client id is kept."""
        client = session.pooled_client(
            self.role,
            self.group,
            self.connections,
            self.pool_size,
            user_class=type(self).__name__,
            keeps_id=self.durable_subscription,
            place=stay.place,
            stay=number,
            only=self.only_broker(session, stay.place),
            returns=returns,
        )
        named_for = (returns or client).number
        try:
            self.join(session, client)
            for destination in self.own_destinations(self.index(session)):
                client.client.consumer(
                    self._subscription(named_for, destination),
                    number=client.number,
                    run=session.run_number,
                    work=Work.parse(str(self.work_ms)),
                    work_rng=random.Random(f"{session.seed}:work:{client.number}"),
                )
            self.report_ready(session)
            if stay.until_s is None:
                self.stay(client)  # deliveries are recorded and acknowledged by the client
            while stay.until_s is not None and session.load_s() < stay.until_s:
                gevent.sleep(LOOK_EVERY_S / 10)
                client.usable()
        finally:
            client.close()
        return client

    def expects_messages(self) -> bool:
        """Whether it subscribes to a topic: each subscriber must get every message, even if other users fail."""
        return self._ready and self.destination.startswith("topic://")

    def _subscription(self, number: int, destination: Destination) -> Subscription:
        one_of_several = f"-{destination.name}" if self.destinations > 1 else ""
        durable_name = f"{type(self).__name__}-{number}{one_of_several}"
        return Subscription(
            destination,
            prefetch=self.prefetch,
            selector=self._own_selector or "",
            durable_name=durable_name if self.durable_subscription else "",
            replies=self.replies,
        )
