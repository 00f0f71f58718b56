"""Checks producers on a full broker: they are blocked or rejected, get notified, and lose no accepted message."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.drivers.conformance.conftest import REAL
from tests.drivers.conformance.stages import queue
from tests.support.brokers import running
from tests.support.loads import UserLoad
from tests.support.waiting import settled_for, until
from topologies.artemis.broker import ArtemisBroker
from topologies.classic.broker import Broker
from topologies.classic.policies import DEFAULT_POLICIES
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology
from topologies.products import PRODUCTS
from topologies.runtimes.contract import Runtime

NAME, MIB = "broker-1", 1_048_576
MESSAGES, BODY_BYTES = 1_500, 20_000  # 30 MB: thirty times what the broker takes, and more than sockets hold

# The queue's limit, not the broker's: a broker without room has none for reading messages to its consumers either.
SMALL = tuple(
    replace(policy, memory_limit_bytes=MIB, cursor_memory_high_water_mark_percent=1_000) for policy in DEFAULT_POLICIES
)
FULL = Broker(NAME, persistence=None, policies=SMALL)


def when_full(policy: str) -> ArtemisBroker:
    """An Artemis broker that does this with what comes to a full address."""
    settings = ArtemisBroker(NAME).address_settings
    return ArtemisBroker(
        NAME,
        address_settings=tuple(
            replace(setting, max_size_bytes=MIB, address_full_policy=policy) for setting in settings
        ),
    )


KINDS: dict[str, AnyBroker] = {
    "classic": FULL,
    "classic-fail": replace(FULL, send_fail_if_no_space=True),
    "artemis": when_full("BLOCK"),
    "artemis-fail": when_full("FAIL"),
}
NIGHTLY = [pytest.mark.brokers, pytest.mark.nightly]


def topology(broker: AnyBroker) -> Topology:
    groups = tuple(ClientGroup(group, (broker,)) for group in ("producers", "consumers"))
    flavour = "artemis" if isinstance(broker, ArtemisBroker) else "classic"
    return Topology("full", (broker,), (), groups, PRODUCTS[flavour])


@pytest.fixture(scope="module")
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """A broker that takes a megabyte."""
    with running(topology(KINDS[request.param]), tmp_path_factory.mktemp(request.param)) as runtime:
        yield runtime


def nightly(kind: str, protocol: str, durable: bool) -> object:
    return pytest.param(kind, protocol, durable, marks=NIGHTLY)


SMOKE = pytest.param("classic", "stomp", True, marks=pytest.mark.brokers)
# Artemis 2.44.0 goes on taking what comes by STOMP: only AMQP, OpenWire and Core producers are held back there.
# By pairs: each protocol with each product, and each of both with durable messages and with others.
MATRIX = [
    SMOKE,
    nightly("classic", "stomp", False),
    nightly("classic", "amqp", False),
    nightly("classic", "openwire", True),
    nightly("artemis", "amqp", True),
    nightly("artemis", "openwire", False),
    nightly("artemis", "core", True),
    nightly("artemis", "core", False),
]


@pytest.mark.parametrize(("full", "protocol", "durable"), MATRIX, indirect=["full"])
def test_a_full_broker_holds_a_producer_back_is_told_and_loses_nothing(
    full: Runtime, protocol: str, durable: bool, tmp_path: Path
) -> None:
    load, place = UserLoad(tmp_path, full, protocol, [NAME]), queue("full")
    sending = load.produce(load.client("producer"), place, MESSAGES, BODY_BYTES, durable=durable)
    until(lambda: load.tally.settled > 0 or not durable)
    settled_for(lambda: load.tally.settled, 2.5)
    assert load.tally.settled < MESSAGES, "the broker took everything: it was not full"
    load.consume(load.client("consumer"), place)
    until(lambda: load.tally.received == MESSAGES, 120)
    sending.join(60)
    tables = load.tables()
    blocked = [row for row in tables["connections"] if row["event"] == "blocked"]
    ended = [row for row in tables["connections"] if row["event"] == "unblocked"]
    assert len(blocked) == len(ended) > 0
    assert {row["broker"] for row in (*blocked, *ended)} == {NAME}
    longest_ns = max(end["at_ns"] - begin["at_ns"] for begin, end in zip(blocked, ended, strict=True))
    assert longest_ns >= 2_000_000_000
    assert sorted(row["seq"] for row in tables["receipts"]) == list(range(MESSAGES))
    assert {row["outcome"] for row in tables["sends"]} == {"acked" if durable else "unconfirmed"}
    due_late = max(row["received_ns"] - sent["due_ns"] for row, sent in _paired(tables))
    assert due_late >= 2_000_000_000, "who waits for a full broker is late by that much"
    own_lag_ns = max(row["sent_ns"] - row["ready_ns"] for row in tables["sends"])
    assert own_lag_ns < longest_ns / 2, "the wait is the broker's doing"


def _paired(tables: dict[str, list[dict[str, int]]]) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    sends = {row["seq"]: row for row in tables["sends"]}
    return ((row, sends[row["seq"]]) for row in tables["receipts"])


FAILING = [
    *(nightly("classic-fail", protocol, True) for protocol in REAL),
    *(nightly("artemis-fail", protocol, True) for protocol in (*REAL, "core")),
]


@pytest.mark.parametrize(("full", "protocol", "durable"), FAILING, indirect=["full"])
def test_a_full_broker_that_refuses_fails_the_sends_it_has_no_room_for_and_no_other(
    full: Runtime, protocol: str, durable: bool, tmp_path: Path
) -> None:
    load, place = UserLoad(tmp_path, full, protocol, [NAME]), queue("refused")
    sending = load.produce(load.client("producer"), place, 200, BODY_BYTES, durable=durable)
    until(lambda: load.tally.settled == 200, 120)
    sending.join(60)
    load.consume(load.client("consumer"), place)
    settled_for(lambda: load.tally.received, 1.0)
    tables = load.tables()
    outcomes = {
        outcome: {row["seq"] for row in tables["sends"] if row["outcome"] == outcome} for outcome in ("acked", "failed")
    }
    assert outcomes["acked"]
    assert outcomes["failed"]
    assert {row["seq"] for row in tables["receipts"]} == outcomes["acked"]
