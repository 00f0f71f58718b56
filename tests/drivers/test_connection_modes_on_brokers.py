"""Checks shared connections and connections for single messages on real brokers."""

from collections import Counter
from pathlib import Path

import pytest

from drivers.client.contract import ProducerSettings, ScheduledSend
from drivers.client.per_message import PerMessageProducer
from tests.drivers.conformance.conftest import REAL
from tests.drivers.java_bench import WAITED
from tests.support.loads import UserLoad
from tests.support.locust_run import make_run, nothing_left
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers
MESSAGES = 40
POOLED, PER_MESSAGE = ("pooled", "--pool-size", "2"), ("per-message",)


def protocols(smoke: str) -> list[object]:
    return [
        pytest.param(protocol, marks=() if protocol == smoke else pytest.mark.nightly) for protocol in (*REAL, "core")
    ]


@pytest.fixture
def broker(request: pytest.FixtureRequest, protocol: str) -> Runtime:
    """Return a connector for the test's protocol."""
    runtime: Runtime = request.getfixturevalue("single_artemis" if protocol == "core" else "single_broker")
    return runtime


@pytest.mark.parametrize("protocol", protocols("openwire"))
def test_users_share_two_connections_and_keep_their_messages(broker: Runtime, protocol: str, tmp_path: Path) -> None:
    load, place = UserLoad(tmp_path, broker, protocol, ["broker-1"]), queue("pooled")
    for _ in range(4):
        load.consume(load.client("consumer", "pooled", 1), place)
    sending = [load.produce(load.client("producer", "pooled", 1), place, MESSAGES) for _ in range(3)]
    for thread in sending:
        thread.join(60)
    until(lambda: load.tally.received == 3 * MESSAGES and load.tally.settled == 3 * MESSAGES)
    tables = load.tables()
    connected = [row for row in tables["connections"] if row["event"] == "connected"]
    assert Counter(row["group"] for row in connected) == {"consumers": 1, "producers": 1}
    sent = Counter((row["producer"], row["seq"]) for row in tables["sends"])
    assert len({producer for producer, _ in sent}) == 3
    assert len(sent) == 3 * MESSAGES
    assert Counter((row["producer"], row["seq"]) for row in tables["receipts"]) == sent
    assert {row["outcome"] for row in tables["sends"]} == {"acked"}
    assert len({row["consumer"] for row in tables["subscriptions"]}) == 4
    assert {row["event"] for row in tables["connections"]} - WAITED == {"attempt", "connected", "closed"}


@pytest.mark.parametrize(
    ("protocol", "durable"),
    [
        ("openwire", True),
        *(
            pytest.param(protocol, durable, marks=pytest.mark.nightly)
            for protocol, durable in (
                ("openwire", False),
                ("stomp", True),
                ("stomp", False),
                ("amqp", False),
                ("core", True),
            )
        ),
    ],
)
def test_a_connection_for_each_message_carries_it_and_is_closed(
    broker: Runtime, protocol: str, durable: bool, tmp_path: Path
) -> None:
    load, place = UserLoad(tmp_path, broker, protocol, ["broker-1"]), queue("per-message")
    load.consume(load.client("consumer"), place)
    producer = PerMessageProducer(load.session, "producers", place, ProducerSettings(64, durable=durable))
    for from_seq in range(0, MESSAGES, 8):  # eight at a time
        now_ns = load.session.clock()
        producer.send_batch([ScheduledSend(seq, now_ns) for seq in range(from_seq, from_seq + 8)])
        until(lambda: producer.outstanding == 0)
    until(lambda: load.tally.received == MESSAGES)
    producer.close()
    tables = load.tables()
    assert sorted(row["seq"] for row in tables["sends"]) == list(range(MESSAGES))
    assert {row["producer"] for row in tables["sends"]} == {producer.number}
    assert {row["outcome"] for row in tables["sends"]} == {"acked" if durable else "unconfirmed"}
    assert Counter(row["seq"] for row in tables["receipts"]) == Counter(range(MESSAGES))
    producers = [row for row in tables["connections"] if row["group"] == "producers"]
    events = Counter(row["event"] for row in producers if row["event"] not in WAITED)
    assert events == dict.fromkeys(("attempt", "connected", "closed"), MESSAGES)
    assert len({row["client"] for row in tables["connections"]}) <= 1 + 8
    connected = sorted(row["at_ns"] for row in tables["connections"] if row["event"] == "connected")
    assert min(row["sent_ns"] for row in tables["sends"]) < connected[1], "sent: when its connecting began"


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize(
    ("protocol", "mode"),
    [("amqp:openwire", POOLED), ("core", POOLED), ("stomp", PER_MESSAGE), ("openwire", PER_MESSAGE)],
    ids=lambda value: value[0] if isinstance(value, tuple) else value,
)
def test_a_whole_run_passes_and_its_report_says_how_clients_connected(
    protocol: str, mode: tuple[str, ...], tmp_path: Path
) -> None:
    topology = "artemis-single" if protocol == "core" else "mesh"
    wanted = ("--topology", topology, "--protocol", protocol, "--connections", *mode, "--rate", "20")
    outcome = make_run("scenarios/steady.py", *wanted, "-t", "5s", "--warm-up", "2", runs=tmp_path / "runs")
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    messages = outcome.summary["messages"]
    assert messages["sent"] == messages["acked"] == messages["received"] > 80
    connected = Counter(row["group"] for row in outcome.events("connections") if row["event"] == "connected")
    if mode[0] == "pooled":
        assert connected == {"producers": 2, "consumers": 2}
    else:
        assert connected["producers"] == messages["sent"]
    sentence = "2 shared by each group" if mode[0] == "pooled" else "one for each message"
    assert sentence in (outcome.run / "report.html").read_text(encoding="utf-8")
    assert nothing_left(outcome.runs)
