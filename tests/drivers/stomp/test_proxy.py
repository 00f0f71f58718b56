"""Checks that the STOMP proxy plants exactly its given faults, on a real broker, by the identities in the bodies."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.contract import ConnectFailed, Outcome
from drivers.stomp.connector import StompConnector
from drivers.stomp.frames import encode
from records.loads.identity import Identity, stamp
from tests.support.brokers import stomp_upstream
from tests.support.stomp_clients import StompClient, body, queue
from tests.support.stomp_faults import TO_BROKER, TO_CLIENT, Ledger, Passing, StompFault, StompFrame
from tests.support.stomp_proxy import StompProxy
from tests.support.waiting import until
from topologies.model.endpoints import Credentials
from topologies.runtimes.contract import Runtime

BROKER = "broker-1"
on_a_broker = pytest.mark.brokers


class ProxyStage:
    """A producer and a consumer of one queue, both through the proxy."""

    def __init__(self, broker: Runtime, proxy: StompProxy):
        self.broker, self.proxy = broker, proxy
        self.queue = queue("proxy")
        self._clients: list[StompClient] = []

    def client(self, heartbeat_ms: int = 10_000) -> StompClient:
        endpoint = self.proxy.endpoint(BROKER, f"?heartbeat_ms={heartbeat_ms}")
        self._clients.append(StompClient(endpoint, self.broker.credentials()))
        return self._clients[-1]

    def left_over(self) -> int:
        endpoint = self.broker.endpoint(BROKER, "stomp")
        leftovers = StompConnector().browse(endpoint, self.broker.credentials(), self.queue.name, timeout_s=60)
        return len(leftovers)

    def close(self) -> None:
        for client in self._clients:
            client.close()


@contextmanager
def staged(broker: Runtime, *faults: StompFault) -> Iterator[ProxyStage]:
    with StompProxy({BROKER: stomp_upstream(broker, BROKER)}, faults) as proxy:
        stage = ProxyStage(broker, proxy)
        try:
            yield stage
        finally:
            stage.close()


def exchanged(stage: ProxyStage, count: int, arriving: int) -> list[int]:
    """Send messages 0 … count-1, which all count as arrived; return the seqs that arrived, -1 where unreadable."""
    producer, consumer = stage.client(), stage.client()
    consumer.listen(stage.queue)
    producer.send(stage.queue, *(body(seq) for seq in range(count)))
    assert producer.outcomes(count) == [Outcome.ACKED] * count
    consumer.received(arriving)
    time.sleep(0.3)
    return [reading.seq for reading in consumer.received(arriving)]


def applied(stage: ProxyStage) -> list[tuple[str, str, int | None]]:
    return [(fault.kind, fault.towards, fault.seq) for fault in stage.proxy.done]


@on_a_broker
def test_without_faults_nothing_is_changed(single_broker: Runtime) -> None:
    with staged(single_broker) as stage:
        assert exchanged(stage, 50, 50) == list(range(50))
        assert stage.proxy.done == []
        assert (stage.proxy.seen(TO_BROKER), stage.proxy.seen(TO_CLIENT)) == (50, 50)


@on_a_broker
@pytest.mark.parametrize("towards", [TO_BROKER, TO_CLIENT])
@pytest.mark.parametrize(
    ("kind", "arrive"),
    [
        ("drop", [0, 1, 2, 3, 4, 6, 7, 8, 9]),
        ("duplicate", [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9]),
        ("reorder", [0, 1, 2, 3, 4, 6, 5, 7, 8, 9]),
        ("corrupt_header", [0, 1, 2, 3, 4, -1, 6, 7, 8, 9]),
        ("corrupt_body", list(range(10))),
        ("delay", list(range(10))),
    ],
)
def test_a_planted_fault_is_what_arrives(single_broker: Runtime, kind: str, towards: str, arrive: list[int]) -> None:
    longest_s = 60 if kind == "reorder" else 0.3  # which ends as soon as the next one comes
    with staged(single_broker, StompFault(kind, towards, seqs={5}, delay_s=longest_s)) as stage:
        assert exchanged(stage, 10, len(arrive)) == arrive
        assert applied(stage) == [(kind, towards, 5)]
        until(lambda: stage.left_over() == 0)


@on_a_broker
def test_corruption_is_told_apart_by_where_it_hit(single_broker: Runtime) -> None:
    faults = StompFault("corrupt_body", TO_CLIENT, seqs={1}), StompFault("corrupt_header", TO_BROKER, seqs={2})
    with staged(single_broker, *faults) as stage:
        producer, consumer = stage.client(), stage.client()
        consumer.listen(stage.queue)
        producer.send(stage.queue, body(0), body(1), body(2))
        integrity = [reading.integrity for reading in consumer.received(3)]
        assert integrity == ["intact", "corrupted", "unreadable"]


@on_a_broker
def test_a_reordered_message_that_nothing_follows_goes_on_in_order(single_broker: Runtime) -> None:
    with staged(single_broker, StompFault("reorder", TO_BROKER, seqs={2}, delay_s=0.2)) as stage:
        assert exchanged(stage, 3, 3) == [0, 1, 2]
        assert stage.proxy.done == []


@on_a_broker
@pytest.mark.parametrize(("kind", "reached"), [("cut_before", 0), ("cut_after", 1)])
def test_a_cut_send_is_in_doubt_whether_or_not_it_arrived(single_broker: Runtime, kind: str, reached: int) -> None:
    with staged(single_broker, StompFault(kind, TO_BROKER, seqs={0})) as stage:
        producer = stage.client()
        producer.send(stage.queue, body(0))
        until(lambda: bool(producer.lost))
        assert producer.settled == []
        assert stage.left_over() == reached
        stage.client().send(stage.queue, body(1))
        until(lambda: stage.left_over() == reached + 1)


@on_a_broker
@pytest.mark.parametrize(("kind", "heard"), [("cut_before", 0), ("cut_after", 1)])
def test_a_cut_delivery_comes_again(single_broker: Runtime, kind: str, heard: int) -> None:
    with staged(single_broker, StompFault(kind, TO_CLIENT, seqs={0}, at_most=1)) as stage:
        consumer, producer = stage.client(), stage.client()
        consumer.listen(stage.queue)
        producer.send(stage.queue, body(0))
        until(lambda: bool(consumer.lost))
        assert len(consumer.got) == heard
        again = stage.client()
        again.listen(stage.queue)
        assert [reading.seq for reading in again.received(1)] == [0]
        assert again.got[0].redelivered


@on_a_broker
def test_a_swallowed_receipt_leaves_only_its_own_send_open(single_broker: Runtime) -> None:
    with staged(single_broker, StompFault("swallow_receipt", TO_BROKER, nth={2})) as stage:
        producer = stage.client()
        producer.send(stage.queue, body(0), body(1), body(2))
        producer.outcomes(2)
        producer.close()
        assert [token for token, *_rest in producer.settled] == [0, 2]
        assert producer.lost == []
        assert stage.left_over() == 3


@on_a_broker
def test_a_blackhole_keeps_what_comes_until_it_is_mended(single_broker: Runtime) -> None:
    with staged(single_broker) as stage:
        producer = stage.client()
        stage.proxy.blackhole(BROKER)
        producer.send(stage.queue, body(0))
        time.sleep(0.5)
        assert (producer.settled, stage.left_over()) == ([], 0)
        stage.proxy.resume(BROKER)
        assert producer.outcomes(1) == [Outcome.ACKED]


@on_a_broker
def test_a_blackhole_trips_heartbeats_and_lets_nobody_in(single_broker: Runtime) -> None:
    with staged(single_broker) as stage:
        client = stage.client(heartbeat_ms=300)
        stage.proxy.blackhole(BROKER)
        until(lambda: bool(client.lost))
        with pytest.raises(ConnectFailed, match="did not answer"):
            StompConnector().browse(stage.proxy.endpoint(BROKER), single_broker.credentials(), "any", timeout_s=0.5)


@on_a_broker
def test_a_cut_ends_every_connection_and_lets_new_ones_in(single_broker: Runtime) -> None:
    with staged(single_broker) as stage:
        clients = [stage.client(), stage.client()]
        stage.proxy.cut(BROKER)
        until(lambda: all(client.lost for client in clients))
        assert stage.client().lost == []


def test_a_broker_that_is_down_is_lost_at_once_and_the_proxy_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    with StompProxy({BROKER: ("127.0.0.1", 1)}) as proxy, pytest.raises(ConnectFailed):
        StompClient(proxy.endpoint(BROKER), Credentials("u", "p"))
    assert set(threading.enumerate()) - before == set()


def choices(faults: Sequence[StompFault], passing: Sequence[tuple[int, int]]) -> list[str | None]:
    """Return the kind of fault for each (producer, seq), in order."""
    ledger = Ledger(tuple(faults))
    kinds: list[str | None] = []
    for producer, seq in passing:
        frame = StompFrame("SEND", {}, stamp(Identity(1, producer, seq, 0), 64))
        fault = ledger.choose("b", TO_BROKER, frame)[1]
        kinds.append(fault.kind if fault else None)
    return kinds


def test_a_fault_is_chosen_by_identity_by_count_or_by_a_predicate() -> None:
    stream = [(1, 0), (2, 0), (1, 1), (2, 1)]
    assert choices([StompFault("drop", TO_BROKER, seqs={1}, producer=2)], stream) == [None, None, None, "drop"]
    assert choices([StompFault("drop", TO_BROKER, nth={1, 3})], stream) == ["drop", None, "drop", None]
    assert choices([StompFault("drop", TO_BROKER, when=lambda passing: passing.producer == 1)], stream) == [
        "drop",
        None,
        "drop",
        None,
    ]
    assert choices([StompFault("drop", TO_BROKER, attempt=1)], stream) == [None] * 4
    assert choices([StompFault("drop", TO_CLIENT)], stream) == [None] * 4
    first_wins = [StompFault("drop", TO_BROKER, at_most=1), StompFault("delay", TO_BROKER, at_most=2)]
    assert choices(first_wins, stream) == ["drop", "delay", "delay", None]


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_the_proxy_reads_the_identity_that_the_records_stamp(producer: int, attempt: int, seq: int) -> None:
    frame = StompFrame("SEND", {}, stamp(Identity(9, producer, seq, attempt), 40))
    passing = Passing.of("b", TO_BROKER, 1, frame)
    assert (passing.producer, passing.attempt, passing.seq) == (producer, attempt, seq)


def test_a_body_of_nobody_has_no_identity_and_cannot_be_corrupted_there() -> None:
    frame = StompFrame("SEND", {}, b"x" * 40)
    passing = Passing.of("b", TO_BROKER, 1, frame)
    assert (passing.producer, passing.seq) == (None, None)
    assert not StompFault("corrupt_header", TO_BROKER).meets(passing)


def test_a_frame_that_nobody_touched_is_encoded_as_it_came() -> None:
    piece = encode("SEND", {"destination": "/queue/a:b\\c", "content-length": "3"}, b"a\0b")
    assert StompFrame.parse(piece).encoded() == piece


@pytest.mark.parametrize(
    ("kind", "towards", "says"),
    [("lose", TO_BROKER, "use drop, duplicate"), ("swallow_receipt", TO_CLIENT, "has a receipt")],
)
def test_a_fault_that_does_not_exist_is_refused(kind: str, towards: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        StompFault(kind, towards)
