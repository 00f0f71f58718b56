"""Checks that each reply of the JVM reaches only the thread that asked, in time, however many share a client."""

import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from drivers.client.contract import NoSenderError, ProducerSettings, ScheduledSend
from drivers.contract import Destination, DriverError, Subscription
from drivers.failover.uri import FailoverUri
from drivers.jvm import client as java_client
from drivers.jvm.client import JavaClient
from drivers.jvm.hub import ENDED, UNHEARD, Requests
from drivers.jvm.java_protocol import CORE
from records.loads.send_schedule import Schedule
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.connection_events import ConnectionEvent
from tests.drivers.doubles import BENCH, RUN, HubDouble, eventually

ORDERS, RETURNS = Destination.parse("queue://orders"), Destination.parse("queue://returns")
ALONE = ProducerSettings(64, in_flight=1)


def test_each_request_gets_its_own_answer() -> None:
    requests = Requests()
    with requests.new(nobody) as (number, answer), requests.new(nobody) as (later_number, others_answer):
        requests.answered(later_number, "sender", 2)
        requests.answered(number, "sender", 1)
        assert (answer.values[0], others_answer.values[0]) == (1, 2)


def nobody(*_answer: object) -> None:
    raise AssertionError("somebody waited for it")


def test_a_late_answer_is_reported_once_and_given_to_no_other() -> None:
    """No request waits for the answer any longer."""
    requests, heard = Requests(), list[tuple[object, ...]]()
    with requests.new(lambda *answer: heard.append(answer)) as (late, _):
        pass
    with requests.new(nobody) as (_, answer):
        requests.answered(late, "sender", 1)
        requests.answered(late, "sender", 1)
        assert answer.event == ""
    assert heard == [("sender", 1)]


def test_an_answer_that_comes_as_its_time_is_over_is_taken_by_one_of_the_two() -> None:
    """In any order of threads, either the waiting thread gets the answer, or it is reported as late."""
    requests, heard = Requests(), list[int]()
    numbers: queue.SimpleQueue[int] = queue.SimpleQueue()

    def answer_all() -> None:
        while number := numbers.get():
            requests.answered(number, "sender", number)

    answering = threading.Thread(target=answer_all)
    answering.start()
    taken = list[int]()
    for _ in range(2_000):
        with requests.new(lambda _what, number: heard.append(number)) as (number, answer):
            numbers.put(number)
            answer.wait(0)
            answer.give(UNHEARD)
            if answer.event != UNHEARD:
                taken.append(number)
    numbers.put(0)
    answering.join()
    assert sorted(taken + heard) == list(range(1, 2_001))


def test_who_waits_is_told_that_there_will_be_no_answer() -> None:
    requests = Requests()
    with requests.new(nobody) as (_, answer):
        requests.end()
        assert answer.event == ENDED


class FakeSender:
    """Replaces a sender of the JVM."""

    def __init__(self, begun: int = 0) -> None:
        self.stopped = False
        self._begun = begun

    def begun(self) -> int:
        return self._begun

    def add(self, times: list[int], last: bool) -> None: ...

    def heldBack(self) -> bool:  # noqa: N802  as in Java
        return self.begun() > 0

    def stop(self) -> None:
        self.stopped = True


class FakeJvm(HubDouble):
    """Replaces the hub and the JVM's client: keeps requests, and answers when the test does."""

    names = sends = receipts = None

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []
        self.frozen = self.recorded = False
        self.doubt = ""
        self.statistics, self.refusals = self, list[tuple[str, str, str]]()
        self.recorded_at_close: list[bool] = []

    def open(self, *arguments: object) -> None:
        if arguments:  # the client; as books they are opened without
            self.tell("opened", None, None, None)

    def close(self) -> None:
        if not self.frozen:
            self.tell("closed", 0, "", "")
        self.recorded_at_close.append(self.recorded)

    def abandon(self) -> None:
        threading.Timer(1.2, self.end_late).start()

    def end_late(self) -> None:
        self.recorded = True
        self.tell("abandoned", self.doubt, None, None)

    def receiver(self, request: int, *_what: object) -> None:
        self.asked.append(request)

    def sender(self, request: int, *_what: object) -> None:
        self.asked.append(request)

    def on_rejected(self, *refusal: str) -> None:
        self.refusals.append(refusal)  # type: ignore[arg-type]

    def connection_changed(self, client: int, event: str, at_ns: int) -> None:
        """Counted elsewhere."""


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch) -> FakeJvm:
    fake = FakeJvm()
    monkeypatch.setattr(java_client, "hub", lambda _protocol: fake)
    return fake


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    opened = Recorder(RunDirectory.create(tmp_path, "run"), "main")
    yield opened
    opened.close()


@pytest.fixture
def client(jvm: FakeJvm, recorder: Recorder) -> JavaClient:
    opened = JavaClient(
        number=1,
        group="g",
        uri=FailoverUri.parse("failover:(tcp://127.0.0.1:1)"),
        brokers={"127.0.0.1:1": "b1"},
        credentials=BENCH,
        recorder=recorder,
        buffers=lambda _link: cast(Any, jvm),
        protocol=CORE,
        trusted_pem="",
    )
    opened.open()
    return opened


def test_an_answer_after_the_time_out_does_not_go_to_the_next_who_asks(
    jvm: FakeJvm, client: JavaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_client, "SUBSCRIBE_TIMEOUT_S", 0.01)
    with pytest.raises(DriverError, match=r"no answer to subscribe queue://orders within 0\.01 s"):
        client.consumer(Subscription(ORDERS), run=RUN)
    monkeypatch.setattr(java_client, "SUBSCRIBE_TIMEOUT_S", 60.0)
    errors: list[str] = []

    def ask() -> None:
        with pytest.raises(DriverError) as caught:
            client.consumer(Subscription(RETURNS), run=RUN)
        errors.append(str(caught.value))

    asking = threading.Thread(target=ask)
    asking.start()
    eventually(lambda: len(jvm.asked) == 2)
    late, current = jvm.asked
    jvm.tell("subscribed", 5, "127.0.0.1:1", late)
    jvm.tell("unsubscribed", "no such queue", True, current)
    asking.join()
    assert errors == ["g client 1: broker None refused to subscribe queue://returns: no such queue"]


def test_a_subscription_that_succeeds_after_its_time_out_has_a_row_as_it_receives(
    jvm: FakeJvm, client: JavaClient, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_client, "SUBSCRIBE_TIMEOUT_S", 0.01)
    for _ in range(2):
        with pytest.raises(DriverError, match="no answer to subscribe queue://orders"):
            client.consumer(Subscription(ORDERS), number=7, run=RUN)
    recorder.flush()
    assert recorder.counts["subscriptions"] == 0
    comes, fails = jvm.asked
    jvm.tell("subscribed", 5, "127.0.0.1:1", comes)
    jvm.tell("unsubscribed", "no such queue", True, fails)
    recorder.flush()
    assert recorder.counts["subscriptions"] == 1


def test_a_request_without_connection_is_not_reported_as_rejected(
    jvm: FakeJvm, client: JavaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No connection will answer it any longer."""
    monkeypatch.setattr(jvm, "sender", lambda request, *_: jvm.tell("unsendable", "it is gone", False, request))
    with pytest.raises(DriverError, match=r"^g client 1: there was no longer a connection to send to .*: it is gone$"):
        client.sender(1, ORDERS, ALONE, b"")


def test_a_rejected_message_is_reported_with_destination_and_broker(
    jvm: FakeJvm, client: JavaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jvm, "sender", lambda request, *_: jvm.tell("sender", FakeSender(), None, request))
    client.sender(1, ORDERS, ALONE, b"")
    client.sender(2, RETURNS, ALONE, b"")
    jvm.tell("connected", 1, "", "127.0.0.1:1")
    jvm.tell("message refused", "u may not", 2, None)
    assert jvm.refusals == [("queue://returns", "b1", "u may not")]


def test_a_sender_that_comes_after_the_time_out_is_stopped(
    jvm: FakeJvm, client: JavaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_client, "SUBSCRIBE_TIMEOUT_S", 0.01)
    with pytest.raises(DriverError, match="no answer to send to queue://orders"):
        client.sender(1, ORDERS, ALONE, b"")
    sender = FakeSender()
    jvm.tell("sender", sender, None, jvm.asked[0])
    assert sender.stopped


def test_one_message_without_a_sender_was_never_begun(
    jvm: FakeJvm, client: JavaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(request: int, *_what: object) -> None:
        jvm.tell("unsendable", "queue orders does not exist", True, request)

    monkeypatch.setattr(jvm, "sender", refuse)
    producer = client.producer(ORDERS, ALONE, run=RUN)
    with pytest.raises(NoSenderError, match="refused to send to queue://orders: queue orders does not exist"):
        producer.send_one(ScheduledSend(0, 7))


def test_what_a_producer_sends_by_is_made_before_it_keeps_a_schedule(
    jvm: FakeJvm, client: JavaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = list[int]()

    def make(request: int, *_what: object) -> None:
        sizes.append(request)
        jvm.tell("sender", FakeSender(begun=3), None, request)

    monkeypatch.setattr(jvm, "sender", make)
    producer = client.producer(ORDERS, ALONE, run=RUN)
    producer.prepare()
    assert (len(sizes), producer.begun) == (1, 0)
    with pytest.raises(InterruptedError):
        producer.run(Schedule(start_ns=0, rate_per_s=1.0, count=5), StoppedUser())
    assert (len(sizes), producer.begun) == (1, 3)


class StoppedUser:
    """Where a producer would ask whether to go on, its user is stopped."""

    producing = True

    def wait_unless_stopped(self, _timeout_s: float) -> bool:
        raise InterruptedError


def test_a_producer_that_is_stopped_still_says_how_many_messages_it_began(
    jvm: FakeJvm, client: JavaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = FakeSender(begun=3)

    def make(request: int, *_what: object) -> None:
        jvm.tell("sender", sender, None, request)

    monkeypatch.setattr(jvm, "sender", make)
    producer = client.producer(ORDERS, ALONE, run=RUN)
    assert producer.begun == 0
    with pytest.raises(InterruptedError):
        producer.run(Schedule(start_ns=0, rate_per_s=1.0, count=5), StoppedUser())
    assert (producer.begun, sender.stopped) == (3, True)


def test_who_asks_while_the_client_is_closed_does_not_wait_for_an_answer(jvm: FakeJvm, client: JavaClient) -> None:
    errors: list[str] = []

    def ask() -> None:
        with pytest.raises(DriverError) as caught:
            client.sender(1, ORDERS, ALONE, b"")
        errors.append(str(caught.value))

    asking = threading.Thread(target=ask)
    asking.start()
    eventually(lambda: len(jvm.asked) == 1)
    client.close()
    asking.join()
    assert errors == ["g client 1 is closed"]


@pytest.mark.parametrize(("doubt", "told"), [("", ""), ("2 messages are in doubt", "; 2 messages are in doubt")])
def test_a_client_whose_broker_answers_no_goodbye_says_so_and_what_it_left_in_doubt(
    jvm: FakeJvm, client: JavaClient, recorder: Recorder, monkeypatch: pytest.MonkeyPatch, doubt: str, told: str
) -> None:
    rows: list[ConnectionEvent] = []
    monkeypatch.setattr(recorder, "connection", lambda client, group, protocol, told: rows.append(told))
    monkeypatch.setattr(java_client, "CLOSE_TIMEOUT_S", 0.01)
    monkeypatch.setattr(jvm, "abandon", jvm.end_late)
    jvm.frozen, jvm.doubt = True, doubt
    jvm.tell("connected", 1, "", "127.0.0.1:1")
    client.close()
    assert [(row.broker, row.event, row.reason) for row in rows] == [
        ("b1", "connected", ""),
        ("b1", "closed", f"no answer to the goodbye{told}"),
    ]


@pytest.mark.nightly
def test_rows_of_an_abandoned_client_are_collected_on_busy_machines(
    jvm: FakeJvm, client: JavaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_client, "CLOSE_TIMEOUT_S", 0.01)
    jvm.frozen = True
    client.close()
    assert jvm.recorded_at_close == [False, True], "the client was asked to leave, and the books were closed"
