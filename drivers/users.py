"""What does a Locust user do? Producers keep a fixed schedule; consumers take what comes.

A scenario subclasses `ProducerUser` and `ConsumerUser`, names a client *group* (the topology says where that group
enters the network, and by which failover URI) and a destination. Locust starts, counts and stops the users; its own
statistics get one request an outcome, but the event tables are what is analysed.
"""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import gevent
from gevent.event import Event
from locust import task

from drivers.broker_user import LOOK_EVERY_S, BrokerUser
from drivers.client import Client
from drivers.consumer import Received
from drivers.contract import Destination, DriverError, Outcome, Subscription
from drivers.habits import PER_MESSAGE, Seat
from drivers.own_clients import OwnProducer, SendOptions
from drivers.pacing import NS_PER_S, Course, Schedule, random_phase_ns, share
from drivers.per_message import PerMessage
from drivers.producer import Producer
from drivers.sends import Settled, Slot
from drivers.session import Go, Session
from drivers.transacted import TransactedProducer
from records.buckets import bucket_of

# Of late messages in one write: so few that they are as good as sent one by one.
MOST_AT_ONCE, BYTES_AT_ONCE = 32, 65_536


class ProducerUser(BrokerUser):
    """Sends on a fixed schedule until the load ends, then waits for what is still unanswered.

    ``in_flight``: how many sends may await their confirmation; a slot that finds the cap reached waits, is sent late
    with its own due time, and is counted as blocked. ``transaction_size``: how many messages arrive together or not at
    all; 0: each by itself.
    """

    abstract = True
    role = "producer"
    body_bytes: ClassVar[int] = 1_024
    durable: ClassVar[bool] = True
    sends_per_second: ClassVar[float] = 10.0
    in_flight: ClassVar[int] = 1_000
    resend_in_doubt: ClassVar[bool] = True
    transaction_size: ClassVar[int] = 0
    _course: Course | None = None

    @task
    def produce(self) -> None:
        self.guard(self._produce)

    def _produce(self, session: Session) -> None:
        if self.connections == PER_MESSAGE:
            self._produce_per_message(session)
            return
        seat = session.seat(self.role, self.group, self.connections, self.pool_size)
        try:
            seat.open()
            self._load(session, seat.number, self._keeper(session, seat))
            self.stay(seat)
        finally:
            seat.close()  # its client too, if it is the last: once that heard the answers that were still under way

    def _produce_per_message(self, session: Session) -> None:
        room = Event()
        producer = PerMessage(
            session,
            self.group,
            Destination.parse(self.destination),
            durable=self.durable,
            resend_in_doubt=self.resend_in_doubt,
            on_settled=lambda settled: self._settled(session, settled, room),
            on_free=room.set,
        )
        session.clerk.show(self.environment.stats, self.destination)
        try:
            keep = partial(self._keep, session=session, number=producer.number, producer=producer, room=room)
            self._load(session, producer.number, keep)
            self.stay(None)
        finally:
            producer.close()

    def _load(self, session: Session, number: int, keep: Callable[[Course], None]) -> None:
        """Be ready, wait for the start, and keep the schedule to its end."""
        course, failed = self._begin(session, number), False
        try:
            keep(course)
        except DriverError:
            failed = True  # what is left of its schedule is no fault of the generator: `leave` counts it
            raise
        finally:  # also of a user that is stopped while its last message waits for a broker that is gone
            session.tally.missed += 0 if failed else course.unsent(session.clock())
            session.tally.finished_producers += 1

    def _begin(self, session: Session, number: int) -> Course:
        """Be ready, and wait for the start: that gives this user its schedule."""
        index = session.next_index(type(self).__name__)
        self.be_ready(session)
        self._course = Course(self._schedule(session, session.wait_go(), index, number))
        return self._course

    def leave(self, session: Session) -> None:
        course = self._course
        if course is None:  # it failed before its schedule began, of which it now keeps nothing
            course = self._begin(session, session.next_number())
            session.tally.finished_producers += 1
        stopped_ns = session.wait_stopped()
        session.tally.unsent[type(self).__name__] += course.abandoned(stopped_ns)

    def _keeper(self, session: Session, seat: Seat) -> Callable[[Course], None]:
        """What keeps a schedule: a producer that does it by itself, or this user, message by message."""
        to, room, number, client = Destination.parse(self.destination), Event(), seat.number, seat.client
        options = self._options(number, session.run_number)
        if not isinstance(client, Client):
            own = client.producer(to, **options)
            own.prepare(self.body_bytes, self.in_flight)  # now: with many users that takes seconds
            session.clerk.show(self.environment.stats, self.destination)
            return partial(self._let_keep, session, number, own)
        producer = client.producer(to, **options, on_settled=lambda settled: self._settled(session, settled, room))
        return partial(self._keep, session=session, number=number, producer=producer, room=room)

    def _options(self, number: int, run: int) -> SendOptions:
        return {
            "number": number,
            "durable": self.durable,
            "run": run,
            "resend_in_doubt": self.resend_in_doubt,
            "transaction_size": self.transaction_size,
        }

    def _let_keep(self, session: Session, number: int, producer: OwnProducer, course: Course) -> None:
        session.note_schedule(number, course.schedule)
        try:
            producer.keep(course.schedule, self.body_bytes, self.in_flight, session)
        finally:
            course.begun = producer.begun

    def _schedule(self, session: Session, go: Go, index: int, client: int) -> Schedule:
        name = type(self).__name__
        count = None
        if go.messages is not None:
            classes = list(go.producers)
            before = sum(go.producers[each] for each in classes[: classes.index(name)])
            count = share(go.messages, sum(go.producers.values()), before + go.first_index[name] + index)
        return Schedule(
            start_ns=go.window.warm_up_began_ns,
            rate_per_s=self.sends_per_second,
            phase_ns=random_phase_ns(self.sends_per_second, session.seed, client),
            count=count,
            ends_ns=go.window.load_ends_ns,
        )

    def _keep(
        self, course: Course, session: Session, number: int, producer: Producer | PerMessage, room: Event
    ) -> None:
        schedule = course.schedule
        try:
            while session.producing and (due_ns := schedule.due_ns(course.begun)) is not None:
                blocked = self._wait_for(due_ns, session, producer, room)
                if not session.producing:
                    return
                first = Slot(course.begun, due_ns, blocked)
                batch = [first, *self._late_too(schedule, first, session.clock(), producer)]
                for each in batch:
                    session.note_due(number, each.seq, each.due_ns)
                session.tally.sent += len(batch)
                course.begun += len(batch)
                producer.send_batch(batch, self.body_bytes)
        finally:
            if isinstance(producer, TransactedProducer):
                producer.commit()  # what there is of the last transaction

    def _late_too(self, schedule: Schedule, first: Slot, now_ns: int, producer: Producer | PerMessage) -> list[Slot]:
        """The slots behind ``first`` that are late already and may go with it."""
        room = min(MOST_AT_ONCE, BYTES_AT_ONCE // self.body_bytes, self.in_flight - producer.outstanding)
        return [Slot(*each) for each in schedule.due_by(now_ns, first.seq + 1, room - 1)]

    def _wait_for(self, due_ns: int, session: Session, producer: Producer | PerMessage, room: Event) -> bool:
        """Until the slot is due and may be sent, or producing stops; True when the in-flight cap made it wait."""
        early_ns = due_ns - session.clock()
        if early_ns > 0:
            session.wait_unless_stopped(early_ns / NS_PER_S)
        blocked = self._wait_for_room(producer, room)
        if early_ns <= 0 and not blocked:
            gevent.sleep(0)  # behind schedule: let answers and deliveries in between two sends
        return blocked

    def _wait_for_room(self, producer: Producer | PerMessage, room: Event) -> bool:
        blocked = False
        while producer.outstanding >= self.in_flight:
            blocked = True
            room.clear()
            if producer.outstanding >= self.in_flight:
                room.wait(LOOK_EVERY_S)  # a client that gives up settles nothing: the next send says so
        return blocked

    def _settled(self, session: Session, settled: Settled, room: Event) -> None:
        session.tally.settled += settled.final
        if settled.attempt == 1:
            session.tally.lag[bucket_of(settled.sent_ns - settled.due_ns)] += 1
        room.set()
        if settled.outcome is Outcome.FAILED and settled.broker:  # else nobody was asked, and its producer says why
            session.refusals.heard(self.destination, settled.broker, settled.reason)
        error = None if settled.outcome in (Outcome.ACKED, Outcome.UNCONFIRMED) else DriverError(settled.outcome)
        ended_ns = settled.sent_ns if settled.settled_ns is None else settled.settled_ns
        self.fire("SEND", ended_ns - settled.sent_ns, settled.body_bytes, error)


class ConsumerUser(BrokerUser):
    """Subscribes and acknowledges each message by itself until Locust stops the users.

    Where producers connect for each message, a consumer keeps a connection of its own, as what calls functions does.
    """

    abstract = True
    role = "consumer"
    prefetch: ClassVar[int] = 100
    selector: ClassVar[str] = ""
    durable_subscription: ClassVar[bool] = False

    @task
    def consume(self) -> None:
        self.guard(self._consume)

    def _consume(self, session: Session) -> None:
        seat = session.seat(self.role, self.group, self.connections, self.pool_size, keeps_id=self.durable_subscription)
        try:
            seat.open()
            self._subscribe(session, seat)
            self.be_ready(session)
            self.stay(seat)  # deliveries come by callback
        finally:
            seat.close()

    def is_owed(self) -> bool:
        """Each subscriber of a topic is owed every message from when it subscribed on, whoever fails."""
        return self._ready and self.destination.startswith("topic://")

    def _subscribe(self, session: Session, seat: Seat) -> None:
        client, wanted = seat.client, self._subscription(seat.number)
        if isinstance(client, Client):
            client.consumer(
                wanted,
                number=seat.number,
                run=session.run_number,
                on_receipt=lambda received: self._received(session, received),
            )
        else:
            session.clerk.show(self.environment.stats, self.destination)
            client.consumer(wanted, number=seat.number, run=session.run_number)

    def _subscription(self, number: int) -> Subscription:
        return Subscription(
            Destination.parse(self.destination),
            prefetch=self.prefetch,
            selector=self.selector,
            durable_name=f"{type(self).__name__}-{number}" if self.durable_subscription else "",
        )

    def _received(self, session: Session, received: Received) -> None:
        session.tally.received += 1
        latency_ns = session.latency_ns(received.producer, received.seq, received.received_ns)
        self.fire("RECEIVE", latency_ns, received.body_bytes, None)
