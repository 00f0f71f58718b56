"""The driver contract as the Java clients of a load fulfil it, on real brokers: the sent and the received messages.

The other protocols' connections are held to the same in tests/drivers/conformance.
"""

import time
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import jpype
import pytest

from drivers.client.contract import ProducerSettings
from drivers.client.message_settings import MessageSettings
from drivers.contract import Destination, DriverError, Refused, Subscription
from drivers.jvm import vm
from drivers.jvm.client import JavaClient
from drivers.jvm.vm import java_class
from harness.java_parts import find_java_parts
from records.loads.message_properties import MessageProperties
from records.loads.selectors import parse
from records.loads.send_schedule import ClosedSchedule
from tests.drivers.conformance.stages import queue, topic
from tests.drivers.doubles import Control
from tests.drivers.java_bench import BROKER, RUN, JavaBench, bench_on, check_kept, every_ms
from tests.support.loads import UserLoad
from tests.support.waiting import until
from topologies.model.endpoints import Credentials
from topologies.runtimes.contract import Runtime

NIGHTLY = [pytest.mark.brokers, pytest.mark.nightly]
STAGES = {
    "openwire": ("openwire", "single_broker"),
    "core": ("core", "single_artemis"),
    "openwire-on-artemis": ("openwire", "single_artemis"),
}
IN_CI = {"openwire": pytest.mark.brokers, "core": pytest.mark.brokers, "openwire-on-artemis": NIGHTLY}
KIB, MIB = 1024, 1024 * 1024
vm.use(find_java_parts)


@pytest.fixture(params=[pytest.param(name, marks=IN_CI[name]) for name in STAGES])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> JavaBench:
    protocol, broker = STAGES[request.param]
    return bench_on(request.getfixturevalue(broker), tmp_path, [BROKER], protocol=protocol)


@pytest.mark.brokers
def test_javas_nano_time_is_pythons_performance_counter() -> None:
    java_class("Hub", "openwire")  # the JVM runs
    system = jpype.JClass("java.lang.System")
    for _ in range(5):
        before, at, after = time.perf_counter_ns(), int(system.nanoTime()), time.perf_counter_ns()
        assert before <= at <= after


def send(
    bench: JavaBench, to: Destination, count: int, *, durable: bool = True, body_bytes: int = 64, client: Any = None
) -> JavaClient:
    """With a new client, if none is given. Returns once every outcome is known."""
    sender: JavaClient = client or bench.opened()
    awaited = bench.statistics.settled + count
    producer = sender.producer(to, ProducerSettings(body_bytes=body_bytes, in_flight=50, durable=durable), run=RUN)
    assert producer.run(every_ms(count), Control()) == count
    until(lambda: bench.statistics.settled == awaited)
    return sender


def receiving(bench: JavaBench, destination: Destination, client_id: str = "", **options: Any) -> JavaClient:
    client = bench.opened(client_id)
    client.consumer(Subscription(destination, **options), run=RUN)
    return client


def received(bench: JavaBench, count: int) -> None:
    until(lambda: bench.statistics.receipts == count)


def seqs_by_consumer(rows: list[dict[str, Any]]) -> dict[int, list[tuple[int, int]]]:
    """(producer, seq) of each delivery, in order."""
    seqs = defaultdict(list)
    for row in rows:
        seqs[row["consumer"]].append((row["producer"], row["seq"]))
    return seqs


@pytest.mark.parametrize("durable", [True, False])
def test_a_schedule_is_kept_in_the_jvm_and_every_message_recorded(bench: JavaBench, durable: bool) -> None:
    orders, schedule = queue("kept"), every_ms(300)
    receiving(bench, orders)
    producer = bench.opened().producer(orders, ProducerSettings(body_bytes=100, in_flight=50, durable=durable), run=RUN)
    assert producer.run(schedule, Control()) == 300
    until(lambda: bench.statistics.receipts == 300 and bench.statistics.settled == 300)
    assert bench.statistics.begun == 300
    check_kept(bench.tables(), schedule, orders, durable=durable, hops=None)


def test_a_closed_producer_sends_once_per_answer(bench: JavaBench) -> None:
    """Each message may be sent from the moment of the answer to the one before it, and is sent then."""
    producer = bench.opened().producer(queue("closed"), ProducerSettings(body_bytes=64, in_flight=1), run=RUN)
    schedule = ClosedSchedule(time.perf_counter_ns(), 1.0, count=100)
    assert producer.run(schedule, Control()) == 100
    until(lambda: bench.statistics.settled == 100)
    rows = bench.tables()["sends"]
    assert [row["seq"] for row in rows] == list(range(100))
    assert all(row["settled_ns"] <= later["sent_ns"] for row, later in pairwise(rows))
    assert all(row["settled_ns"] <= later["due_ns"] <= later["sent_ns"] for row, later in pairwise(rows))
    assert not any(row["blocked"] for row in rows)


def test_a_closed_producer_ends_with_the_load(bench: JavaBench) -> None:
    ends_ns = time.perf_counter_ns() + 500_000_000
    schedule = ClosedSchedule(time.perf_counter_ns(), 1.0, ends_ns=ends_ns)
    producer = bench.opened().producer(queue("ends"), ProducerSettings(body_bytes=64, in_flight=1), run=RUN)
    sent = producer.run(schedule, Control())
    until(lambda: bench.statistics.settled == sent)
    assert sent > 1
    assert all(row["due_ns"] < ends_ns for row in bench.tables()["sends"])
    assert schedule.due_ns(producer.begun) is None  # nobody reports it as ended early


def test_a_wrong_password_ends_the_client_at_once(bench: JavaBench) -> None:
    bench.credentials = Credentials(bench.credentials.username, "letmein")
    with pytest.raises(Refused, match=r"refused user .*Check the user name and the password") as caught:
        bench.client().open()
    assert "letmein" not in str(caught.value)
    assert "\n" not in str(caught.value)
    attempts = bench.tables()["connections"]
    # By OpenWire a client logs in once its attempt has succeeded.
    possible = {"refused"} if attempts[0]["protocol"] == "core" else {"refused", None}
    assert {attempt["cause"] for attempt in attempts} <= possible


@pytest.mark.parametrize("to", [queue("one-way"), topic("one-way")], ids=["queue", "topic"])
def test_sends_that_are_not_durable_arrive_and_are_never_settled(bench: JavaBench, to: Destination) -> None:
    to = Destination(to.kind, queue(to.name).name)  # of this stage
    receiving(bench, to)
    send(bench, to, 50, durable=False)
    received(bench, 50)
    tables = bench.tables()
    assert [row["seq"] for row in tables["receipts"]] == list(range(50))
    assert {(row["outcome"], row["settled_ns"]) for row in tables["sends"]} == {("unconfirmed", None)}


def test_durable_sends_to_a_topic_are_acked_though_nobody_listens(bench: JavaBench) -> None:
    send(bench, topic("nobody"), 1)
    assert [row["outcome"] for row in bench.tables()["sends"]] == ["acked"]


@pytest.mark.parametrize("durable", [True, False], ids=["durable", "one-way"])
def test_a_body_of_any_size_comes_back_exactly(bench: JavaBench, durable: bool) -> None:
    places, sizes = queue("bodies"), (32, 33, 255, 256, 65_535, MIB, 10 * MIB)
    receiving(bench, places)
    for body_bytes in sizes:
        send(bench, places, 1, durable=durable, body_bytes=body_bytes)
    received(bench, len(sizes))
    tables = bench.tables()
    assert [row["integrity"] for row in tables["receipts"]] == ["intact"] * len(sizes)
    assert [row["body_bytes"] for row in tables["sends"]] == list(sizes)


def test_what_was_sent_before_a_goodbye_is_answered_before_it_and_nothing_is_lost(bench: JavaBench) -> None:
    orders = queue("goodbye")
    client = send(bench, orders, 100)
    client.producer(orders, ProducerSettings(body_bytes=64, in_flight=50, durable=False), number=70, run=RUN).run(
        every_ms(20), Control()
    )
    client.close()
    client.close()
    receiving(bench, orders)
    received(bench, 120)
    tables = bench.tables()
    assert Counter(row["outcome"] for row in tables["sends"]) == {"acked": 100, "unconfirmed": 20}
    assert "lost" not in {row["event"] for row in tables["connections"]}


def test_consumers_of_a_queue_share_its_messages(bench: JavaBench) -> None:
    orders = queue("shared")
    for _ in range(2):
        receiving(bench, orders, prefetch=1)
    send(bench, orders, 40)
    received(bench, 40)
    by_consumer = seqs_by_consumer(bench.tables()["receipts"])
    assert len(by_consumer) == 2
    assert sorted(seq for got in by_consumer.values() for _, seq in got) == list(range(40))


def test_each_subscriber_of_a_topic_gets_what_is_sent_from_then_on(bench: JavaBench) -> None:
    prices = topic("prices")
    early = receiving(bench, prices)
    before = send(bench, prices, 2)
    received(bench, 2)
    late = receiving(bench, prices)
    after = send(bench, prices, 1)
    received(bench, 4)
    by_consumer = seqs_by_consumer(bench.tables()["receipts"])
    assert by_consumer[early.number] == [(before.number, 0), (before.number, 1), (after.number, 0)]
    assert by_consumer[late.number] == [(after.number, 0)]


def test_a_durable_subscription_keeps_what_came_while_it_was_away(bench: JavaBench) -> None:
    prices = topic("durable")
    client_id = f"keeper-{prices.name}"
    receiving(bench, prices, client_id, durable_name="all").close()
    send(bench, prices, 2)
    assert bench.statistics.receipts == 0
    again = receiving(bench, prices, client_id, durable_name="all")
    received(bench, 2)
    by_consumer = seqs_by_consumer(bench.tables()["receipts"])
    assert {consumer: [seq for _, seq in got] for consumer, got in by_consumer.items()} == {again.number: [0, 1]}


def test_a_selector_selects_and_leaves_the_rest_to_others(bench: JavaBench) -> None:
    orders = queue("selected")
    choosy = receiving(bench, orders, selector="JMSDeliveryMode = 'PERSISTENT'")
    one_way = send(bench, orders, 1, durable=False)
    durable = send(bench, orders, 2)
    received(bench, 2)
    remainder = receiving(bench, orders)
    received(bench, 3)
    by_consumer = seqs_by_consumer(bench.tables()["receipts"])
    assert by_consumer == {
        choosy.number: [(durable.number, 0), (durable.number, 1)],
        remainder.number: [(one_way.number, 0)],
    }


def test_messages_carry_their_properties_by_number_and_selectors_of_each_type_match(bench: JavaBench) -> None:
    prices = topic("properties")
    selectors = ["color = 'red'", "weight > 5000000000", "size = 2.5", "urgent = TRUE AND color = 'green'"]
    wanted = [receiving(bench, prices, selector=selector).number for selector in selectors]
    properties = MessageProperties.of(
        {
            "color": ["red", "blue", "green"],
            "weight": [5_000_000_000, 5_000_000_001],
            "size": [1.5, 2.5],
            "urgent": [True, False],
        }
    )
    expected = {
        consumer: [seq for seq in range(12) if parse(selector).matches(properties.of_message(seq))]
        for consumer, selector in zip(wanted, selectors, strict=True)
    }
    sender = bench.opened()
    producer = sender.producer(
        prices, ProducerSettings(body_bytes=64, in_flight=50, messages=MessageSettings(properties)), run=RUN
    )
    producer.run(every_ms(12), Control())
    received(bench, sum(map(len, expected.values())))
    by_consumer = seqs_by_consumer(bench.tables()["receipts"])
    assert {consumer: [seq for _, seq in got] for consumer, got in by_consumer.items()} == expected


def test_expired_messages_stay_away_and_priorities_can_be_selected(bench: JavaBench) -> None:
    orders = queue("mortal")
    sender = bench.opened()
    for settings, number in ((MessageSettings(time_to_live_s=0.3), 50), (MessageSettings(priority=9), 51)):
        producer = sender.producer(
            orders, ProducerSettings(body_bytes=64, in_flight=50, messages=settings), number=number, run=RUN
        )
        producer.run(every_ms(2), Control())
    until(lambda: bench.statistics.settled == 4)
    time.sleep(0.6)
    consumer = receiving(bench, orders, selector="JMSPriority = 9")
    received(bench, 2)
    remainder = receiving(bench, orders)
    time.sleep(0.3)
    by_consumer = seqs_by_consumer(bench.tables()["receipts"])
    assert by_consumer == {consumer.number: [(51, 0), (51, 1)]}, remainder.number


def test_a_selector_that_is_none_is_refused_and_the_connection_lives_on(bench: JavaBench) -> None:
    orders, client = queue("wrong-selector"), bench.opened()
    with pytest.raises(DriverError, match=rf"broker {BROKER} refused to subscribe queue://wrong-selector.*a b c"):
        client.consumer(Subscription(orders, selector="a b c"), run=RUN)
    client.consumer(Subscription(orders), run=RUN)
    send(bench, orders, 1, client=client)
    received(bench, 1)
    assert [row["event"] for row in bench.tables()["connections"]] == ["attempt", "connected", "closed"]


def test_one_client_sends_and_receives_for_several_destinations(bench: JavaBench) -> None:
    client, places = bench.opened(), [queue("several"), topic("several"), queue("several")]
    for place in places:
        client.consumer(Subscription(place), run=RUN)
    for number, place in enumerate(places):
        client.producer(place, ProducerSettings(body_bytes=64, in_flight=50), number=10 + number, run=RUN).run(
            every_ms(1), Control()
        )
    received(bench, 3)
    pairs = {(row["producer"], row["destination"]) for row in bench.tables()["receipts"]}
    assert pairs == {(10 + number, str(place)) for number, place in enumerate(places)}


ON_CLASSIC = [("openwire", "stomp"), ("stomp", "openwire"), ("openwire", "amqp"), ("amqp", "openwire")]
ON_ARTEMIS = [
    pair for protocol in ("stomp", "amqp", "openwire") for pair in (("core", protocol), (protocol, "core"))
]  # fmt: skip


@pytest.fixture
def crossed(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[UserLoad, UserLoad]:
    """A load of the one protocol and one of the other."""
    broker, sends, receives = request.param
    runtime: Runtime = request.getfixturevalue(broker)
    loads = [UserLoad(tmp_path / side, runtime, spoken, [BROKER]) for side, spoken in (("s", sends), ("r", receives))]
    return loads[0], loads[1]


@pytest.mark.parametrize(
    "crossed",
    [
        *(pytest.param(("single_broker", *pair), marks=pytest.mark.brokers, id=":".join(pair)) for pair in ON_CLASSIC),
        *(pytest.param(("single_artemis", *pair), marks=NIGHTLY, id=":".join(pair)) for pair in ON_ARTEMIS),
    ],
    indirect=True,
)
def test_a_binary_body_survives_crossing_from_one_protocol_to_another(
    crossed: tuple[UserLoad, UserLoad],
) -> None:
    sends, receives = crossed
    places, sizes = queue("crossing"), (32, 300 * KIB, 3 * MIB)
    receives.consume(receives.client("consumer"), places)
    producer = sends.client("producer")
    for body_bytes in sizes:
        for durable in (True, False):
            sends.send(producer, places, 1, body_bytes, durable=durable)
    until(lambda: receives.tally.received == 2 * len(sizes))
    rows = receives.tables()["receipts"]
    assert [row["integrity"] for row in rows] == ["intact"] * 2 * len(sizes)
    assert Counter(row["outcome"] for row in sends.tables()["sends"]) == {"acked": 3, "unconfirmed": 3}
