"""Checks transactions of the JVM's producers: all messages arrive or none, and each outcome is reported as it is."""

import random
import threading
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from drivers.client.contract import ProducerSettings
from drivers.contract import Destination, Subscription
from drivers.jvm import vm
from harness.java_parts import find_java_parts
from records.loads.send_schedule import Schedule
from tests.drivers.doubles import Control
from tests.drivers.java_bench import BROKER, RUN, JavaBench, behind, bench_on, every_ms, relay_to
from tests.support.brokers import frozen, running
from tests.support.stomp_clients import queue
from tests.support.waiting import settled_for, until
from topologies.artemis.broker import ArtemisBroker
from topologies.classic.broker import Broker
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology
from topologies.products import PRODUCTS
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers
vm.use(find_java_parts)

SIZE = 10
PATIENCE_S = 60  # Core's client waits half a minute for a broker that took its connection and then died
PROTOCOLS = {"openwire": "single_broker", "core": "single_artemis"}
MIB = 1_048_576
REFUSING = {
    "openwire": Broker(BROKER, persistence=None, memory_limit_bytes=MIB, send_fail_if_no_space=True),
    "core": ArtemisBroker(
        BROKER,
        address_settings=tuple(
            replace(setting, max_size_bytes=MIB, address_full_policy="FAIL")
            for setting in ArtemisBroker(BROKER).address_settings
        ),
    ),
}
Row = dict[str, Any]


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def broker(request: pytest.FixtureRequest, protocol: str) -> Runtime:
    runtime: Runtime = request.getfixturevalue(PROTOCOLS[protocol])
    return runtime


def consuming(runtime: Runtime, folder: Path, protocol: str, orders: Destination) -> JavaBench:
    """A consumer that nothing disturbs."""
    folder.mkdir()
    bench = bench_on(runtime, folder, [BROKER], "?randomize=false", protocol)
    bench.opened().consumer(Subscription(orders), run=RUN)
    return bench


def has_settled(bench: JavaBench, enough: int) -> bool:
    return bench.statistics.settled >= enough


def by_seq(sends: list[Row]) -> dict[int, list[Row]]:
    """The attempts of each message, in order."""
    attempts: dict[int, list[Row]] = {}
    for row in sorted(sends, key=lambda row: (row["seq"], row["attempt"])):
        attempts.setdefault(row["seq"], []).append(row)
    return attempts


@pytest.mark.parametrize("durable", [True, False])
def test_messages_go_together_and_each_is_acked_by_the_commit_also_of_the_last_few(
    broker: Runtime, tmp_path: Path, protocol: str, durable: bool
) -> None:
    bench, orders, count = bench_on(broker, tmp_path, [BROKER], "", protocol), queue("together"), 205
    bench.opened().consumer(Subscription(orders), run=RUN)
    producer = bench.opened().producer(
        orders, ProducerSettings(body_bytes=100, in_flight=SIZE, durable=durable, transaction_size=SIZE), run=RUN
    )
    schedule = every_ms(count)
    assert producer.run(schedule, Control()) == count
    until(lambda: bench.statistics.receipts == count and bench.statistics.settled == count)
    tables = bench.tables()
    sends = [row for rows in by_seq(tables["sends"]).values() for row in rows]
    assert [(row["seq"], row["attempt"], row["outcome"]) for row in sends] == [(n, 1, "acked") for n in range(count)]
    assert [row["due_ns"] for row in sends] == [schedule.due_ns(slot) for slot in range(count)]
    assert all(row["due_ns"] <= row["sent_ns"] for row in sends)
    assert [row["seq"] for row in tables["receipts"]] == list(range(count))
    received_ns = {row["seq"]: row["received_ns"] for row in tables["receipts"]}
    committed_ns = 0
    for from_seq in range(0, count, SIZE):
        together = sends[from_seq : from_seq + SIZE]
        written_ns = max(row["sent_ns"] for row in together)
        assert all(received_ns[row["seq"]] > written_ns for row in together)
        assert all(row["blocked"] for row in together if row["due_ns"] < committed_ns)
        settled = {row["settled_ns"] for row in together}
        assert len(settled) == 1
        committed_ns = settled.pop()
        assert committed_ns > written_ns


@pytest.mark.nightly
@pytest.mark.parametrize(("protocol", "resend"), [("openwire", True), ("core", False)])
def test_acked_messages_arrive_once_through_cut_connections(
    broker: Runtime, tmp_path: Path, protocol: str, resend: bool
) -> None:
    """In addition, only messages in doubt may arrive."""
    orders, count, size, rng = queue("cut"), 600, 7, random.Random(7)
    taker = consuming(broker, tmp_path / "taker", protocol, orders)
    with relay_to(broker, protocol) as relay:
        bench = behind(relay, broker, tmp_path, protocol)
        client = bench.opened()
        producer = client.producer(
            orders, ProducerSettings(64, 50, resend_in_doubt=resend, transaction_size=size), run=RUN
        )
        keeping = threading.Thread(target=producer.run, args=(every_ms(count), Control()), daemon=True)
        keeping.start()
        for enough in range(size, count, count // 12):  # once it sends: making a sender takes an answer
            until(partial(has_settled, bench, enough), PATIENCE_S)
            until(lambda: client.broker == BROKER, PATIENCE_S)
            time.sleep(rng.uniform(0, 0.02))  # in the midst of a transaction, or of its commit
            relay.cut()
        keeping.join()
        tables = bench.tables()
    settled_for(lambda: taker.statistics.receipts, 1.0)
    arrived = Counter((row["seq"], row["attempt"]) for row in taker.tables()["receipts"])
    attempts_by_seq = by_seq(tables["sends"])
    assert sorted(attempts_by_seq) == list(range(count))
    for rows in attempts_by_seq.values():
        assert [row["attempt"] for row in rows] == list(range(1, len(rows) + 1))
        assert {row["outcome"] for row in rows[:-1]} <= {"in_doubt"}
        assert len(rows) == 1 or resend
    last = Counter(rows[-1]["outcome"] for rows in attempts_by_seq.values())
    assert set(last) == {"acked"} if resend else {"acked", "in_doubt"}
    outcomes = {(row["seq"], row["attempt"]): row["outcome"] for row in tables["sends"]}
    assert all(arrived[sent] == 1 for sent, outcome in outcomes.items() if outcome == "acked")
    assert set(arrived) <= set(outcomes)
    assert "in_doubt" in outcomes.values()


@pytest.mark.nightly
@pytest.mark.parametrize(("protocol", "resend"), [("openwire", False), ("core", True)])
def test_a_lost_commit_leaves_all_in_doubt_and_resends_them(
    broker: Runtime, tmp_path: Path, protocol: str, resend: bool
) -> None:
    orders = queue("doubt")
    with relay_to(broker, protocol) as relay:
        bench = behind(relay, broker, tmp_path, protocol)
        client = bench.opened()
        producer = client.producer(
            orders, ProducerSettings(64, 50, resend_in_doubt=resend, transaction_size=SIZE), run=RUN
        )
        schedule = Schedule(time.perf_counter_ns(), 10.0, 0, 2 * SIZE)
        keeping = threading.Thread(target=producer.run, args=(schedule, Control()), daemon=True)
        keeping.start()
        until(lambda: bench.statistics.settled == SIZE)
        with frozen(broker, BROKER):
            commits_ns = schedule.due_ns(2 * SIZE - 1) or 0
            time.sleep((commits_ns - time.perf_counter_ns()) / 1e9 + 1.3)  # it has asked, and hears nothing
            relay.cut()
            until(lambda: client.broker is None)
        keeping.join()
        tables = bench.tables()
    attempts_by_seq = by_seq(tables["sends"])
    attempts = [[(row["attempt"], row["outcome"]) for row in attempts_by_seq[seq]] for seq in range(2 * SIZE)]
    assert attempts[:SIZE] == [[(1, "acked")]] * SIZE
    assert attempts[SIZE:] == [[(1, "in_doubt"), *([(2, "acked")] if resend else [])]] * SIZE
    waited = [(row["event"], row["broker"]) for row in tables["connections"] if "blocked" in row["event"]]
    assert waited == [("blocked", BROKER), ("unblocked", BROKER)]
    taker = consuming(broker, tmp_path / "taker", protocol, orders)
    settled_for(lambda: taker.statistics.receipts, 1.0)
    arrived = Counter((row["seq"], row["attempt"]) for row in taker.tables()["receipts"])
    assert set(arrived.values()) == {1}
    later_seqs = set(range(SIZE, 2 * SIZE))
    for attempt, possible in ((1, (set(), later_seqs)), (2, (later_seqs if resend else set(),))):
        assert {seq for seq, number in arrived if number == attempt and seq >= SIZE} in possible


@pytest.mark.nightly
def test_what_a_full_broker_refuses_in_a_transaction_fails_and_what_is_acked_arrives(
    tmp_path: Path, protocol: str
) -> None:
    broker, orders = REFUSING[protocol], queue("refused")
    flavour = "artemis" if protocol == "core" else "classic"
    topology = Topology("full", (broker,), (), (ClientGroup("producers", (broker,)),), PRODUCTS[flavour])
    with running(topology, tmp_path / "brokers") as runtime:
        bench = bench_on(runtime, tmp_path, [BROKER], "?randomize=false", protocol)
        producer = bench.opened().producer(
            orders, ProducerSettings(body_bytes=20_000, in_flight=SIZE, transaction_size=SIZE), run=RUN
        )
        assert producer.run(every_ms(200), Control()) == 200
        tables = bench.tables()
        taker = consuming(runtime, tmp_path / "taker", protocol, orders)
        settled_for(lambda: taker.statistics.receipts, 1.0)
        arrived = [row["seq"] for row in taker.tables()["receipts"]]
    outcome = {row["seq"]: row["outcome"] for row in tables["sends"]}
    assert len(outcome) == len(tables["sends"]) == 200
    assert set(outcome.values()) == {"acked", "failed"}
    if protocol == "openwire":  # told by the commit; Core's client knows of some at the send, and goes on without them
        together = [{outcome[seq] for seq in range(from_seq, from_seq + SIZE)} for from_seq in range(0, 200, SIZE)]
        assert all(len(outcomes) == 1 for outcomes in together)
    assert sorted(arrived) == [seq for seq in range(200) if outcome[seq] == "acked"]


@pytest.mark.nightly
def test_a_producer_that_is_stopped_commits_what_it_has_begun(broker: Runtime, tmp_path: Path, protocol: str) -> None:
    bench, producing = bench_on(broker, tmp_path, [BROKER], "", protocol), Control()
    producer = bench.opened().producer(
        queue("stopped"), ProducerSettings(body_bytes=64, in_flight=1_000, transaction_size=1_000), run=RUN
    )
    threading.Timer(3.0, producing.stop).start()
    slowly = Schedule(time.perf_counter_ns(), 50.0, 0, 100_000)
    begun = producer.run(slowly, producing)
    assert 0 < begun < 1_000
    assert Counter(row["outcome"] for row in bench.tables()["sends"]) == {"acked": begun}
