"""Checks users that share connections or make one for each message: every send has its outcome recorded."""

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.client.client import Client
from drivers.client.connection_modes import ClientPool, PooledClient, SharedClient
from drivers.client.contract import NoSenderError, NoStatistics, ProducerSettings, ScheduledSend
from drivers.client.per_message import Numbers, PerMessageProducer
from drivers.contract import Destination, DriverError, Refused, Subscription
from drivers.failover.uri import FailoverUri
from drivers.memory.connector import MemoryConnector
from drivers.memory.network import MemoryNetwork
from records.loads.send_schedule import ClosedSchedule
from records.store.writer import Recorder
from tests.drivers.doubles import BENCH, RUN, Control, KeepingRecorder, Settled, client_of, eventually, memory_uri

ORDERS = Destination.parse("queue://orders")


class PooledConnections:
    """Where connections for single messages come from: a session's part of it, in memory."""

    def __init__(self, network: MemoryNetwork, recorder: KeepingRecorder, uri: str) -> None:
        self.recorder = cast(Recorder, recorder)
        self.run_number, self.clock = RUN, network.clock
        self.made: list[int] = []
        self.connected: set[Client] = set()
        self._network, self._uri, self._numbers = network, uri, 0
        self.statistics = NoStatistics()

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers - 1

    def client(self, role: str, group: str, *, user_class: str = "", number: int | None = None) -> Client:
        assert number is not None
        assert number not in {client.number for client in self.connected}, "a number that is in use"
        self.made.append(number)
        client = Client(
            number=number, group=group, uri=FailoverUri.parse(self._uri), brokers={name: name for name in "abc"},
            connector=MemoryConnector(self._network), credentials=BENCH, recorder=self.recorder, rng=Random(1),
        )  # fmt: skip
        self.connected.add(client)
        return client

    def forget(self, client: Any) -> None:
        self.connected.remove(client)


class ModesBench:
    """A producer that connects for each message, on brokers in memory."""

    def __init__(self, options: str = "randomize=false&initialReconnectDelay=1", durable: bool = True) -> None:
        self.network = MemoryNetwork(["a", "b"], credentials=BENCH)
        self.recorder = KeepingRecorder()
        self.source = PooledConnections(self.network, self.recorder, memory_uri("ab", options))
        self.settled: list[Settled] = []
        self.source.statistics.settled = lambda row, reason, final: self.settled.append(  # type: ignore[method-assign]
            Settled(row, reason, final)
        )
        self.producer = PerMessageProducer(self.source, "producers", ORDERS, ProducerSettings(64, durable=durable))

    def done(self) -> None:
        eventually(lambda: self.producer.outstanding == 0)


@pytest.fixture
def bench() -> Iterator[ModesBench]:
    new_bench = ModesBench()
    yield new_bench
    new_bench.producer.close()
    new_bench.network.close()


def test_each_message_connects_is_answered_and_leaves(bench: ModesBench) -> None:
    for seq in range(3):
        bench.producer.send_batch((ScheduledSend(seq, seq),))
        bench.done()
    assert bench.recorder.events() == [("attempt", "a"), ("connected", "a"), ("closed", "a")] * 3
    assert [(row.producer, row.seq, row.attempt, row.outcome) for row in bench.recorder.sends] == [
        (bench.producer.number, seq, 1, "acked") for seq in range(3)
    ]
    assert bench.network.depths() == {"orders": 3}
    assert bench.network.connections("a") == 0
    assert bench.source.connected == set()


@pytest.mark.parametrize("durable", [True, False], ids=["durable", "one-way"])
def test_a_message_counts_as_sent_when_its_connecting_began(durable: bool) -> None:
    bench = ModesBench(durable=durable)
    bench.producer.send_batch((ScheduledSend(0, 5),))
    bench.done()
    attempt, connected, closed = bench.recorder.connections
    (send,) = bench.recorder.sends
    assert send.due_ns == 5
    assert send.sent_ns <= attempt.at_ns <= connected.at_ns <= closed.at_ns
    bench.network.close()


def test_messages_do_not_wait_for_each_other(bench: ModesBench) -> None:
    bench.network.freeze("a")
    bench.producer.send_batch(tuple(ScheduledSend(seq, seq) for seq in range(5)))
    assert bench.producer.outstanding == 5
    bench.network.thaw("a")
    bench.done()
    assert bench.producer.outstanding == 0
    assert Counter(row.seq for row in bench.recorder.sends) == Counter(range(5))
    numbers = {row.client for row in bench.recorder.connections}
    assert len(numbers) == 5
    assert bench.producer.number not in numbers


def test_a_number_is_that_of_one_connection_at_a_time_and_used_again(bench: ModesBench) -> None:
    for seq in range(4):
        bench.producer.send_batch((ScheduledSend(seq, seq),))
        bench.done()
    assert bench.source.made == [1, 1, 1, 1]


def test_a_closed_producer_connects_for_one_message_at_a_time(bench: ModesBench) -> None:
    """The next connection begins when the last one is closed."""
    schedule = ClosedSchedule(bench.network.clock(), 10.0, count=20)
    assert bench.producer.run(schedule, Control()) == 20
    bench.done()
    assert [(row.seq, row.outcome) for row in bench.recorder.sends] == [(seq, "acked") for seq in range(20)]
    assert bench.recorder.events() == [("attempt", "a"), ("connected", "a"), ("closed", "a")] * 20
    ended_ns = [row.at_ns for row in bench.recorder.connections if row.event == "closed"]
    assert all(ended <= row.sent_ns for ended, row in zip(ended_ns, bench.recorder.sends[1:], strict=False))


def test_a_message_without_a_broker_fails_and_the_next_one_goes_on() -> None:
    bench = ModesBench("randomize=false&initialReconnectDelay=1&maxReconnectAttempts=2")
    bench.network.kill("a")
    bench.network.kill("b")
    bench.producer.send_batch((ScheduledSend(0, 7),))
    bench.done()
    bench.network.restore("b")
    bench.producer.send_batch((ScheduledSend(1, 8),))
    bench.done()
    assert [(row.seq, row.due_ns, row.broker, row.outcome) for row in bench.recorder.sends] == [
        (0, 7, "", "failed"),
        (1, 8, "b", "acked"),
    ]
    assert "no broker of a, b could be connected to in 2 passes" in bench.settled[0].reason
    assert bench.settled[0].final
    bench.network.close()


def test_a_refused_login_fails_each_message_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    bench = ModesBench()
    bench.network.refuse_logins("a")
    bench.producer.send_batch(tuple(ScheduledSend(seq, seq) for seq in range(3)))
    bench.done()
    assert [row.outcome for row in bench.recorder.sends] == ["failed"] * 3
    warnings = [record.getMessage() for record in caplog.records if "could not be sent" in record.getMessage()]
    assert len(warnings) == 1
    assert "refused user 'bench'" in warnings[0]
    bench.network.close()


class OwnKind:
    """Replaces clients and producers of a library: sends fail as the test says."""

    number, group, broker = 7, "producers", None

    def __init__(self, error: DriverError) -> None:
        self._error = error

    def open(self) -> None: ...
    def close(self) -> None: ...

    def producer(self, *_to: object, **_options: object) -> "OwnKind":
        return self

    def send_one(self, slot: ScheduledSend) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "recorded"),
    [
        (NoSenderError("broker a refused to send to queue://orders"), [(0, 7, "failed")]),
        (DriverError("there will be no connection again"), []),  # its own client has recorded it
    ],
    ids=["never-begun", "begun"],
)
def test_a_message_that_its_own_client_could_not_begin_is_recorded_as_failed(
    bench: ModesBench,
    monkeypatch: pytest.MonkeyPatch,
    error: DriverError,
    recorded: list[tuple[int, int, str]],
) -> None:
    monkeypatch.setattr(bench.source, "client", lambda *_who, **_number: OwnKind(error))
    monkeypatch.setattr(bench.source, "forget", lambda _client: None)
    bench.producer.send_batch((ScheduledSend(0, 7),))
    bench.done()
    assert [(row.seq, row.due_ns, row.outcome) for row in bench.recorder.sends] == recorded
    assert [settled_send.reason for settled_send in bench.settled] == [str(error)] * len(recorded)


def test_a_loss_before_the_answer_sends_the_message_again_on_the_next_broker(bench: ModesBench) -> None:
    bench.network.hold_answers("a")
    bench.producer.send_batch((ScheduledSend(0, 0),))
    eventually(lambda: bench.network.depths() == {"orders": 1})
    bench.network.kill("a")
    bench.done()
    assert bench.recorder.attempts(0) == [(1, "in_doubt"), (2, "acked")]
    earlier, later = bench.recorder.sends
    assert earlier.sent_ns < later.sent_ns, "a later attempt is sent when it is written"


def test_what_is_under_way_at_the_end_is_recorded_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.client.per_message.CLOSE_TIMEOUT_S", 0.1)
    bench = ModesBench()
    bench.network.hold_answers("a")
    bench.producer.send_batch((ScheduledSend(0, 0), ScheduledSend(1, 1)))
    eventually(lambda: bench.network.depths() == {"orders": 2})
    bench.producer.close()
    assert sorted((row.seq, row.outcome) for row in bench.recorder.sends) == [(0, "in_doubt"), (1, "in_doubt")]
    bench.producer.send_batch((ScheduledSend(2, 2),))
    assert bench.producer.outstanding == 0, "nothing begins after the end"
    bench.network.close()


@given(st.lists(st.booleans(), max_size=60))
def test_no_two_that_are_out_have_the_same_number_and_none_is_made_while_one_is_free(steps: list[bool]) -> None:
    new_numbers = iter(range(100))
    numbers = Numbers(lambda: next(new_numbers))
    out: list[int] = []
    most = 0
    for takes in steps:
        if takes or not out:
            out.append(numbers.take())
        else:
            numbers.give_back(out.pop(0))
        most = max(most, len(out))
        assert len(set(out)) == len(out)
    assert next(new_numbers) == most


# -- several users, one connection


class Pooled:
    """Users that share connections to brokers in memory."""

    def __init__(self, size: int = 1, options: str = "randomize=false&initialReconnectDelay=1") -> None:
        self.network = MemoryNetwork(["a", "b"], credentials=BENCH)
        self.recorder = KeepingRecorder()
        self.clients: list[Client] = []
        self.pool = ClientPool(size, lambda: self._make(options))

    def _make(self, options: str) -> Client:
        connector, number = MemoryConnector(self.network), 100 + len(self.clients)
        self.clients.append(client_of(connector, self.recorder, memory_uri("ab", options), number=number))
        return self.clients[-1]

    def users(self, count: int) -> list[PooledClient]:
        return [self.pool.take(number) for number in range(count)]


def client(user: PooledClient) -> Client:
    assert isinstance(user.client, Client)
    return user.client


@given(users=st.integers(1, 40), size=st.integers(1, 9))
def test_users_spread_evenly_over_a_pool_that_is_no_larger_than_asked_for(users: int, size: int) -> None:
    clients: list[Any] = []

    def make() -> Any:
        clients.append(object())
        return clients[-1]

    pool = ClientPool(size, make)
    shares = Counter(id(pool.take(number).client) for number in range(users))
    assert len(clients) == len(shares) == min(users, size)
    assert max(shares.values()) - min(shares.values()) <= 1


def test_users_of_a_shared_connection_have_different_numbers() -> None:
    pooled, settled, receipts = Pooled(), [], []
    users = pooled.users(4)
    for user in users:
        user.open()
    for user in users[:2]:
        client(user).consumer(
            Subscription(ORDERS), number=user.number, run=RUN, on_receipt=lambda *receipt: receipts.append(receipt)
        )
    producers = [
        client(user).producer(
            ORDERS,
            ProducerSettings(),
            number=user.number,
            run=RUN,
            on_settled=lambda *outcome: settled.append(Settled(*outcome)),
        )
        for user in users[2:]
    ]
    for producer in producers:
        producer.send(0, 64, due_ns=0)
    eventually(lambda: len(settled) == len(receipts) == 2)
    assert pooled.recorder.events() == [("attempt", "a"), ("connected", "a")]
    assert {row.client for row in pooled.recorder.connections} == {100}
    assert {row.producer for row in pooled.recorder.sends} == {2, 3}
    assert sorted(row.producer for row in pooled.recorder.receipts) == [2, 3]
    assert {row.consumer for row in pooled.recorder.receipts} <= {0, 1}
    for user in users:
        user.close()
    pooled.network.close()


def test_the_connection_stays_until_the_last_user_has_left() -> None:
    pooled = Pooled()
    earlier, later = pooled.users(2)
    earlier.open()
    later.open()
    earlier.close()
    earlier.close()
    assert pooled.network.connections("a") == 1
    later.usable()
    later.close()
    assert pooled.network.connections("a") == 0
    assert pooled.recorder.events() == [("attempt", "a"), ("connected", "a"), ("closed", "a")]
    pooled.network.close()


def test_a_lost_shared_connection_resends_all_users_doubtful_messages() -> None:
    pooled, settled = Pooled(), []
    users = pooled.users(3)
    producers = []
    for user in users:
        user.open()
        producers.append(
            client(user).producer(
                ORDERS,
                ProducerSettings(),
                number=user.number,
                run=RUN,
                on_settled=lambda *outcome: settled.append(Settled(*outcome)),
            )
        )
    pooled.network.hold_answers("a")
    for producer in producers:
        producer.send(0, 64, due_ns=0)
    pooled.network.kill("a")
    eventually(lambda: sum(settled_send.final for settled_send in settled) == 3)
    outcomes = Counter((row.producer, row.attempt, row.outcome) for row in pooled.recorder.sends)
    assert outcomes == Counter(
        {(n, attempt, out): 1 for n in range(3) for attempt, out in ((1, "in_doubt"), (2, "acked"))}
    )
    for user in users:
        user.close()
    pooled.network.close()


def test_users_of_a_rejected_connection_share_one_attempt() -> None:
    """Each user gets the error, but the broker gets one request."""
    pooled = Pooled()
    pooled.network.refuse_logins("a")
    for user in pooled.users(3):
        with pytest.raises(DriverError, match="broker a refused user 'bench'"):
            user.open()
        user.close()
    assert pooled.recorder.events() == [("attempt", "a")]
    pooled.network.close()


def test_a_destination_refused_to_one_user_leaves_the_others_theirs() -> None:
    pooled, settled = Pooled(), []
    pooled.network.refuse("queue://forbidden")
    user, neighbor = pooled.users(2)
    user.open()
    with pytest.raises(Refused, match="queue://forbidden"):
        client(user).consumer(
            Subscription(Destination.parse("queue://forbidden")), number=user.number, run=RUN, on_receipt=print
        )
    user.close()
    neighbor.open()
    producer = client(neighbor).producer(
        ORDERS,
        ProducerSettings(),
        number=neighbor.number,
        run=RUN,
        on_settled=lambda *outcome: settled.append(Settled(*outcome)),
    )
    producer.send(0, 64, due_ns=0)
    eventually(lambda: bool(settled))
    assert settled[0].row.outcome == "acked"
    neighbor.close()
    pooled.network.close()


def test_a_user_with_a_connection_of_its_own_closes_it_as_it_leaves() -> None:
    network, recorder = MemoryNetwork(["a"], credentials=BENCH), KeepingRecorder()
    user = SharedClient(client_of(MemoryConnector(network), recorder, memory_uri("a"), number=5)).join(5)
    user.open()
    assert (user.number, client(user).broker) == (5, "a")
    user.close()
    assert network.connections("a") == 0
    network.close()
