"""Checks that Locust's users send and receive each message once, in every connection mode."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, cast

import gevent
import pytest
from locust.env import Environment

from drivers.client.contract import LoadProducer, ProducerSettings
from drivers.contract import DriverError
from drivers.memory.connector import MemoryConnector
from drivers.memory.network import MemoryNetwork
from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser, Stay
from drivers.users.session import Go, Network, Session, Window, attach, detach
from records.store.writer import Recorder
from tests.drivers.doubles import BENCH, RUN, KeepingRecorder, eventually, memory_uri

PRODUCERS, CONSUMERS, MESSAGES = 3, 2, 60


class Recording(KeepingRecorder):
    """With the numbers of texts, which a session's statistics asks for."""

    def number(self, text: str) -> int:
        return sum(map(ord, text))


class UsersBench:
    """Users on brokers in memory, as Locust would run them."""

    def __init__(
        self,
        connections: str,
        pool_size: int = 1,
        stays: tuple[Stay, ...] = (Stay(),),
        *,
        uris: str = "all",
        not_alone: frozenset[str] = frozenset(),
        destination: str = "queue://orders",
        durable: bool = False,
    ) -> None:
        settings = {"connections": connections, "pool_size": pool_size, "destination": destination, "uris": uris}
        self.network, self.recorder = MemoryNetwork(["a", "b"], credentials=BENCH), Recording()
        self.producer = type(
            "Orders", (ProducerUser,), {**settings, "group": "producers", "body_bytes": 64, "sends_per_second": 500.0}
        )
        of_consumers = {"group": "consumers", "stays": stays, "durable_subscription": durable}
        self.consumer = type("Takers", (ConsumerUser,), {**settings, **of_consumers})
        uris_by_protocol = {"memory": {"producers": memory_uri("a"), "consumers": memory_uri("ba")}}
        self.session = Session(
            network=Network(
                Spoken.parse("memory"), BENCH, uris_by_protocol, {name: name for name in "ab"}, not_alone=not_alone
            ),
            connectors={"memory": MemoryConnector(self.network)}, recorder=cast(Recorder, self.recorder),
            run_number=RUN, seed=1, process_index=0, clock=time.perf_counter_ns,
        )  # fmt: skip
        self.environment = Environment(user_classes=[self.producer, self.consumer])
        attach(self.environment, self.session)
        self._running: list[Any] = []

    def start(self) -> None:
        self.spawn()
        eventually(lambda: self.session.tally.ready.total() == PRODUCERS + CONSUMERS)

    def spawn(self) -> None:
        for user in [self.consumer] * CONSUMERS + [self.producer] * PRODUCERS:
            new_user: BrokerUser = user(self.environment)
            work = new_user.consume if isinstance(new_user, ConsumerUser) else cast(ProducerUser, new_user).produce
            self._running.append(gevent.spawn(work))

    def send_all(self) -> None:
        now_ns = time.perf_counter_ns()
        self.session.go(Go(Window(now_ns, now_ns, None), MESSAGES, {"Orders": PRODUCERS}, Counter()))
        tally = self.session.tally
        eventually(lambda: tally.finished_producers == PRODUCERS and tally.received == tally.settled == MESSAGES, 20)

    def stop(self) -> None:
        gevent.killall(self._running)
        detach(self.environment)
        self.network.close()


@pytest.fixture(params=[("one", 1), ("pooled", 1), ("pooled", 2), ("per-message", 1)], ids=str)
def bench(request: pytest.FixtureRequest) -> Iterator[UsersBench]:
    new_bench = UsersBench(*request.param)
    yield new_bench
    new_bench.stop()


def test_every_message_is_sent_and_received_once_whatever_the_mode(bench: UsersBench) -> None:
    bench.start()
    bench.send_all()
    sends, receipts = bench.recorder.sends, bench.recorder.receipts
    messages = {(row.producer, row.seq) for row in sends}
    assert len(sends) == len(receipts) == len(messages) == MESSAGES
    assert {(row.producer, row.seq) for row in receipts} == messages
    assert len({row.producer for row in sends}) == PRODUCERS
    assert {row.outcome for row in sends} == {"acked"}
    assert bench.session.tally.sent == MESSAGES
    assert bench.session.problems == []


def test_there_are_as_many_connections_as_the_mode_says(bench: UsersBench) -> None:
    bench.start()
    before = len(bench.recorder.events())
    bench.send_all()
    mode, size = bench.producer.connections, bench.producer.pool_size
    per_message = mode == "per-message"
    producers = {"one": PRODUCERS, "pooled": size, "per-message": 0}[mode]
    consumers = {"one": CONSUMERS, "pooled": min(size, CONSUMERS), "per-message": CONSUMERS}[mode]
    assert bench.network.connections("b") == consumers
    eventually(lambda: bench.network.connections("a") == producers)
    expected = Counter(dict.fromkeys(("attempt", "connected", "closed"), MESSAGES) if per_message else {})
    eventually(lambda: Counter(event for event, _ in bench.recorder.events()[before:]) == expected)
    assert bench.session.connected() == Counter(  # users, however they share connections
        {("consumers", "b"): CONSUMERS} | ({} if per_message else {("producers", "a"): PRODUCERS})
    )
    bench.stop()
    assert (bench.network.connections("a"), bench.network.connections("b")) == (0, 0)
    ended = Counter(row.event for row in bench.recorder.connections)
    assert ended["connected"] == ended["closed"] == producers + consumers + MESSAGES * per_message


def test_it_is_on_record_by_which_connection_each_user_sends_and_receives(bench: UsersBench) -> None:
    bench.start()
    bench.send_all()
    recorder, mode = bench.recorder, bench.producer.connections
    of_role = {role: [row for row in recorder.members if row.role == role] for role in ("producer", "consumer")}
    assert {row.user for row in of_role["producer"]} == {row.producer for row in recorder.sends}
    assert len({row.user for row in of_role["consumer"]}) == len(of_role["consumer"]) == CONSUMERS
    assert {(row.group, row.user_class) for row in recorder.members} == {
        ("producers", "Orders"),
        ("consumers", "Takers"),
    }
    connected = {
        row.group: {change.client for change in recorder.connections if change.group == row.group}
        for row in recorder.members
    }
    assert {row.connection for row in of_role["consumer"]} == connected["consumers"]
    if mode == "per-message":
        assert [row.connection for row in of_role["producer"]] == [None] * PRODUCERS
    else:
        assert {row.connection for row in of_role["producer"]} == connected["producers"]
    assert all((row.connection == row.user) == (mode != "pooled") for row in of_role["consumer"])


@pytest.mark.parametrize(
    ("stays", "not_alone", "at"),
    [
        ((Stay(),), frozenset[str](), {"a": 1, "b": 1}),
        ((Stay(),), frozenset({"b"}), {"a": 2}),
        ((Stay(place=0),), frozenset[str](), {"b": 2}),
    ],
    ids=["in turn", "of those that are there", "the one of the stay"],
)
def test_a_client_that_is_told_of_one_broker_waits_for_it_and_tries_no_other(
    stays: tuple[Stay, ...], not_alone: frozenset[str], at: dict[str, int]
) -> None:
    bench = UsersBench("one", stays=stays, uris="one", not_alone=not_alone)
    try:
        bench.start()
        connected = bench.session.connected()
        assert {broker: count for (group, broker), count in connected.items() if group == "consumers"} == at
        tries, lost = len(bench.recorder.connections), next(iter(at))
        bench.network.kill(lost)
        eventually(lambda: len(bench.recorder.connections) > tries + 10)
        pairs = {(row.client, row.broker) for row in bench.recorder.connections if row.group == "consumers"}
        assert Counter(broker for _, broker in pairs) == at, "each client has tried only its broker"
    finally:
        bench.stop()


def test_producers_and_consumers_of_one_group_share_connections_only_with_their_kind() -> None:
    bench = UsersBench("pooled")
    handles = [
        bench.session.pooled_client(role, "producers", "pooled") for role in ("producer", "producer", "consumer")
    ]
    client, neighbor, consumer = (handle.client for handle in handles)
    assert client is neighbor
    assert consumer is not client
    bench.stop()


def test_durable_subscribers_of_two_user_classes_share_no_connection() -> None:
    bench = UsersBench("pooled")
    handles = [
        bench.session.pooled_client("consumer", "consumers", "pooled", user_class=name, keeps_id=True)
        for name in ("Always", "Always", "Sometimes")
    ]
    client, neighbor, other_class = (handle.client for handle in handles)
    assert client is neighbor
    assert other_class is not client
    bench.stop()


def test_a_cap_on_what_is_in_flight_limits_how_many_connect_at_a_time() -> None:
    bench = UsersBench("per-message")
    bench.producer.in_flight = 2
    bench.start()
    bench.network.hold_answers("a")
    now_ns = time.perf_counter_ns()
    bench.session.go(Go(Window(now_ns, now_ns, None), MESSAGES, {"Orders": PRODUCERS}, Counter()))
    eventually(lambda: bench.network.connections("a") == 2 * PRODUCERS)
    time.sleep(0.1)
    assert bench.network.connections("a") == 2 * PRODUCERS
    bench.network.kill("a")
    bench.network.restore("a")
    eventually(lambda: bench.session.tally.settled == MESSAGES)
    assert any(row.blocked for row in bench.recorder.sends)
    bench.stop()


@pytest.mark.parametrize("mode", ["one", "pooled"])
def test_producers_send_in_transactions_and_end_the_last_one_before_its_time(mode: str) -> None:
    bench = UsersBench(mode)
    bench.producer.transaction_size = 8  # of 20 each
    bench.start()
    bench.send_all()
    sends = bench.recorder.sends
    assert {row.outcome for row in sends} == {"acked"}
    assert len({(row.producer, row.seq) for row in sends}) == len(bench.recorder.receipts) == MESSAGES
    together = Counter((row.producer, row.settled_ns) for row in sends)
    assert sorted(together.values()) == [4] * PRODUCERS + [8] * 2 * PRODUCERS
    assert bench.session.problems == []
    bench.stop()


def test_a_pool_that_is_refused_is_told_by_each_of_its_users() -> None:
    bench = UsersBench("pooled")
    bench.network.refuse_logins("a")
    bench.network.refuse_logins("b")
    bench.spawn()
    eventually(lambda: len(bench.session.problems) == PRODUCERS + CONSUMERS)
    assert all("refused user 'bench'" in problem for problem in bench.session.problems)
    bench.stop()


@pytest.mark.parametrize("mode", ["one", "per-message"])
def test_messages_that_a_broker_refuses_fail_and_its_words_are_told_once(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = UsersBench(mode)
    bench.start()
    bench.network.refuse("queue://orders")
    now_ns = time.perf_counter_ns()
    bench.session.go(Go(Window(now_ns, now_ns, None), MESSAGES, {"Orders": PRODUCERS}, Counter()))
    eventually(lambda: bench.session.tally.settled == MESSAGES, 20)
    assert {row.outcome for row in bench.recorder.sends} == {"failed"}
    says = "broker a accepts no messages for queue://orders"
    assert [record.getMessage() for record in caplog.records if record.name == "brokerbench"] == [
        f"broker a refused a message to queue://orders, which has failed: {says} (reported once)"
    ]
    bench.stop()


def test_the_messages_of_a_run_are_shared_out_over_all_classes_of_producers() -> None:
    bench = UsersBench("one")
    producers = {"Others": 2, "Orders": 2}
    user, now_ns = cast(ProducerUser, bench.producer(bench.environment)), time.perf_counter_ns()
    go = Go(Window(now_ns, now_ns, None), 11, producers, Counter(Orders=1))  # one of them is in another process
    assert user._schedule(bench.session, go, 0, 7).count == 2
    assert user._schedule(bench.session, replace(go, first_index=Counter()), 0, 7).count == 3
    bench.stop()


@pytest.mark.parametrize("name", [field.name for field in fields(ProducerSettings)])
def test_each_setting_of_a_producer_comes_from_its_user(name: str) -> None:
    attribute = {"requests": "awaits_replies", "messages": "priority"}.get(name, name)
    default: int | bool = getattr(ProducerUser, attribute)
    user = type("User", (ProducerUser,), {attribute: not default if isinstance(default, bool) else default + 1})
    changed = user.producer_settings()
    assert getattr(changed, name) != getattr(ProducerSettings(), name)
    assert replace(changed, **{name: getattr(ProducerSettings(), name)}) == ProducerSettings()


class Stuck:
    """A producer that keeps its schedule up to the third slot, whose send never ends."""

    begun = 0
    held_back = False

    def run(self, *_what: object) -> int:
        self.begun = 3
        gevent.sleep(60)
        return self.begun


@pytest.mark.parametrize("held_back", [False, True])
def test_unsent_messages_of_a_stopped_producer_are_missed_or_withheld(
    held_back: bool,
) -> None:
    """The producer is stopped during a send."""
    bench = UsersBench("one")
    user, stuck = cast(ProducerUser, bench.producer(bench.environment)), Stuck()
    stuck.held_back = held_back
    ago_ns = time.perf_counter_ns() - 60_000_000_000
    bench.session.go(Go(Window(ago_ns, ago_ns, None), 20, {"Orders": 1}, Counter()))
    keeping = gevent.spawn(user._load, bench.session, 1, cast(LoadProducer, stuck))
    eventually(lambda: stuck.begun)
    keeping.kill()
    tally = bench.session.tally
    assert (tally.missed, tally.withheld) == ((0, 17) if held_back else (17, 0))
    bench.stop()


class NativeClient:
    """A client that is also the producer, and its recorded calls."""

    number, group, broker = 1, "producers", None
    held_back = False

    def __init__(self) -> None:
        self.asked: list[str] = []

    def open(self) -> None:
        self.asked.append("open")

    def producer(self, *_where: object, **_how: object) -> "NativeClient":
        return self

    def prepare(self, *_what: object) -> None:
        self.asked.append("prepare")

    def run(self, *_what: object) -> int:
        self.asked.append("keep")
        return 0

    def usable(self) -> None: ...

    def close(self) -> None: ...

    begun = 0


def test_what_a_producer_of_its_own_sends_by_is_made_before_the_start_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, client = UsersBench("one"), NativeClient()
    monkeypatch.setattr(bench.session, "client", lambda *_who, **_what: client)
    producing = gevent.spawn(cast(ProducerUser, bench.producer(bench.environment)).produce)
    eventually(lambda: bench.session.tally.ready.total() == 1)
    assert client.asked == ["open", "prepare"]
    now_ns = time.perf_counter_ns()
    bench.session.go(Go(Window(now_ns, now_ns, None), 1, {"Orders": 1}, Counter()))
    eventually(lambda: client.asked == ["open", "prepare", "keep"])
    producing.kill()
    bench.stop()


class GivesUp(NativeClient):
    """It sends three messages, and then no broker is left."""

    def run(self, *_what: object) -> int:
        self.begun = 3
        raise DriverError("no broker is left; check that one is up")


def test_what_a_producer_of_its_own_leaves_that_may_fail_is_unsent_and_not_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = UsersBench("one")
    monkeypatch.setattr(bench.session, "client", lambda *_who, **_what: GivesUp())
    monkeypatch.setattr(bench.producer, "may_fail", True)
    producing = gevent.spawn(cast(ProducerUser, bench.producer(bench.environment)).produce)
    tally, now_ns = bench.session.tally, time.perf_counter_ns()
    bench.session.go(Go(Window(now_ns, now_ns, None), 20, {"Orders": 1}, Counter()))
    eventually(lambda: tally.finished_producers == 1)
    bench.session.stop_producing()
    producing.join(60)
    assert (tally.failed, tally.unsent, tally.missed) == (Counter(Orders=1), Counter(Orders=17), 0)
    assert tally.first_errors == {"Orders": "no broker is left; check that one is up"}
    assert bench.session.problems == []
    bench.stop()


class LeavesSome(NativeClient):
    """The brokers take three messages until its schedule is over, and no broker is left after that."""

    held_back, begun = True, 3

    def usable(self) -> None:
        if "keep" in self.asked:
            raise DriverError("no broker is left; check that one is up")


def test_withheld_messages_are_counted_once_if_the_producer_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = UsersBench("one")
    monkeypatch.setattr(bench.session, "client", lambda *_who, **_what: LeavesSome())
    monkeypatch.setattr(bench.producer, "may_fail", True)
    producing = gevent.spawn(cast(ProducerUser, bench.producer(bench.environment)).produce)
    tally, ago_ns = bench.session.tally, time.perf_counter_ns() - 60_000_000_000
    bench.session.go(Go(Window(ago_ns, ago_ns, None), 20, {"Orders": 1}, Counter()))
    eventually(lambda: tally.finished_producers == 1)
    bench.session.stop_producing()
    producing.join(60)
    assert (tally.failed, tally.unsent, tally.withheld) == (Counter(Orders=1), Counter(), 17)
    bench.stop()


def test_a_consumer_is_connected_when_and_where_its_stays_say() -> None:
    bench = UsersBench("one", stays=(Stay(until_s=0.3, place=0), Stay(from_s=0.8, place=1)))
    try:
        bench.start()
        assert {broker for (group, broker) in bench.session.connected() if group == "consumers"} == {"b"}
        began_ns = time.perf_counter_ns()
        bench.session.go(Go(Window(began_ns, began_ns, None), 0, {"Orders": PRODUCERS}, Counter()))
        eventually(lambda: not any(group == "consumers" for group, _ in bench.session.connected()), 20)
        eventually(lambda: bench.session.connected()["consumers", "a"] == CONSUMERS, 20)
        assert time.perf_counter_ns() - began_ns >= 0.8e9
    finally:
        bench.stop()


@pytest.mark.parametrize(("connections", "pool_size"), [("one", 1), ("pooled", 1), ("pooled", 2)])
def test_a_durable_subscriber_gets_what_was_sent_while_it_was_away(connections: str, pool_size: int) -> None:
    """It comes back as another client of the run, but with the same client id and the same subscription."""
    stays = (Stay(until_s=0.2, place=1), Stay(from_s=1.5, place=1))
    bench = UsersBench(connections, pool_size, stays, destination="topic://orders", durable=True)
    try:
        bench.start()
        began_ns = time.perf_counter_ns()
        away_ns = began_ns + 600_000_000
        bench.session.go(Go(Window(away_ns, began_ns, None), MESSAGES, {"Orders": PRODUCERS}, Counter()))
        owed = MESSAGES * CONSUMERS
        eventually(lambda: bench.session.tally.received == owed, 20)
        receipts = bench.recorder.receipts
        assert len({(row.subscription, row.producer, row.seq) for row in receipts}) == len(receipts) == owed
        assert len({row.subscription for row in receipts}) == CONSUMERS
        assert {f"Takers-{row.consumer}" for row in receipts}.isdisjoint({row.subscription for row in receipts})
        assert min(row.received_ns for row in receipts) >= began_ns + 1_500_000_000
        assert bench.session.problems == []
    finally:
        bench.stop()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"stays": (Stay(), Stay(from_s=5))}, "a stay begins at 5 s, before the previous one is over"),
        ({"stays": (Stay(until_s=9), Stay(from_s=5))}, "a stay begins at 5 s, before the previous one is over"),
        ({"stays": ()}, "write one without from_s"),
        ({"stays": (Stay(from_s=1),)}, "write one without from_s"),
        ({"stays": (Stay(until_s=1), Stay(from_s=5, until_s=4))}, "a stay ends at 4 s, and begins at 5 s"),
    ],
)
def test_stays_that_cannot_be_are_refused_with_the_class(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=f"Away: .*{problem}"):
        type("Away", (ConsumerUser,), settings)


def test_a_user_failing_in_on_start_is_not_stopped_again() -> None:
    new_bench = UsersBench("one")
    stopped = []

    class GuestUser(ConsumerUser):
        group, destination, may_fail = "consumers", "queue://orders", True

        def on_start(self) -> None:
            raise KeyError("no\nticket")

        def on_stop(self) -> None:
            stopped.append(self)

    gevent.spawn(GuestUser(new_bench.environment).run).get(timeout=10)
    assert new_bench.session.tally.failed == Counter(GuestUser=1)
    assert new_bench.session.tally.ready == Counter(GuestUser=1)
    error = new_bench.session.tally.first_errors["GuestUser"]
    assert error.startswith("on_start raised KeyError: 'no\\nticket' (users_under_gevent.py:")
    assert (new_bench.session.problems, stopped) == ([], [])
    new_bench.stop()
