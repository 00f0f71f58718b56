"""Checks each mirror flag against the manual on real Artemis brokers, with one experiment per flag."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from drivers.contract import Destination, Outcome
from tests.support.brokers import frozen, running
from tests.support.stomp_clients import body
from tests.support.waiting import until
from tests.topologies.experiments import MESSAGES, ORDERS, SETTLES_S, clients, depth, send, up
from topologies.artemis.management import broker_mbean, start_connection
from topologies.catalogue.lookup import build
from topologies.management.contract import queries_of
from topologies.management.jolokia import Jolokia
from topologies.management.links import prove_links
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers]

USED, COPY = "broker-1", "broker-2"
LINK = f"{USED}-to-{COPY}"
RESTARTS_WITHIN_S, TAKES_OVER_WITHIN_S = 60.0, 45.0


def mirror(**flags: object) -> Topology:
    return build(f"mirror({', '.join(f'{flag}={value!r}' for flag, value in flags.items())})")


@contextmanager
def agent_of(runtime: Runtime, broker: str) -> Iterator[Jolokia]:
    with closing(Jolokia(runtime.management(broker))) as agent:
        yield agent


def queues(runtime: Runtime, topology: Topology, broker: str) -> set[str]:
    with agent_of(runtime, broker) as agent:
        return set(queries_of(topology, broker).figures(agent).queues)


def consume(runtime: Runtime, broker: str, count: int = MESSAGES, timeout_s: float = 15.0) -> list[int]:
    """Receive and acknowledge ``count`` messages, and return their numbers."""
    with clients(runtime, broker) as [consumer]:
        consumer.listen(ORDERS)
        until(lambda: len(consumer.got) >= count, timeout_s)
        return sorted(reading.seq for reading in consumer.received(count))


def holds(runtime: Runtime, topology: Topology, broker: str, count: int, timeout_s: float = 15.0) -> None:
    until(lambda: depth(runtime, topology, broker, ORDERS.name) == count, timeout_s)


# What the default flags do: test_two_mirrors_repeat_each_other_and_nothing_twice, and the test of older messages.
@pytest.mark.nightly
def test_what_is_consumed_stays_at_the_copy_where_acknowledgements_are_not_mirrored(tmp_path: Path) -> None:
    topology = mirror(message_acknowledgements=False)
    with up(topology, tmp_path) as runtime:
        send(runtime, USED)
        holds(runtime, topology, COPY, MESSAGES)
        assert consume(runtime, USED) == list(range(MESSAGES))
        holds(runtime, topology, USED, 0)
        time.sleep(SETTLES_S)
        assert depth(runtime, topology, COPY, ORDERS.name) == MESSAGES


def test_a_new_queue_is_not_made_at_the_copy_where_creation_is_not_mirrored(tmp_path: Path) -> None:
    topology = mirror(queue_creation=False)
    with up(topology, tmp_path) as runtime, clients(runtime, USED) as [consumer]:
        consumer.listen(ORDERS)
        until(lambda: ORDERS.name in queues(runtime, topology, USED))
        time.sleep(SETTLES_S)
        assert ORDERS.name not in queues(runtime, topology, COPY)


@pytest.mark.parametrize("repeated", [True, False])
def test_a_queue_that_is_removed_goes_from_the_copy_only_where_removal_is_mirrored(
    repeated: bool, tmp_path: Path
) -> None:
    topology = mirror(queue_removal=repeated)
    with up(topology, tmp_path) as runtime:
        send(runtime, USED)
        holds(runtime, topology, COPY, MESSAGES)
        with agent_of(runtime, USED) as agent:
            agent.execute(broker_mbean(USED), "destroyQueue(java.lang.String)", ORDERS.name)
        until(lambda: ORDERS.name not in queues(runtime, topology, USED))
        if repeated:
            until(lambda: ORDERS.name not in queues(runtime, topology, COPY))
        time.sleep(SETTLES_S)
        assert (ORDERS.name in queues(runtime, topology, COPY)) is not repeated


@pytest.mark.nightly
def test_address_filters_select_by_prefix_and_exclusion_wins(tmp_path: Path) -> None:
    topology = mirror(address_filter="eu,!eu.uk")
    with up(topology, tmp_path) as runtime:
        for name in ("us.orders", "eu.uk.orders", "eu.de.orders"):
            send(runtime, USED, Destination("queue", name), count=1)
        until(lambda: depth(runtime, topology, COPY, "eu.de.orders") == 1)
        time.sleep(SETTLES_S)
        assert {name for name in queues(runtime, topology, COPY) if name.endswith("orders")} == {"eu.de.orders"}


@pytest.mark.nightly
@pytest.mark.parametrize("durable", [True, False])
def test_only_a_durable_mirrors_backlog_survives_a_restart(durable: bool, tmp_path: Path) -> None:
    """The backlog waits for a copy that is down."""
    topology = mirror(durable=durable)
    with up(topology, tmp_path) as runtime:
        runtime.kill(COPY)
        send(runtime, USED)
        runtime.stop(USED)
        runtime.start(USED)
        assert depth(runtime, topology, USED, ORDERS.name) == MESSAGES
        runtime.start(COPY)
        prove_links(runtime, topology, timeout_s=RESTARTS_WITHIN_S)
        if durable:
            holds(runtime, topology, COPY, MESSAGES)
        time.sleep(SETTLES_S)
        assert depth(runtime, topology, COPY, ORDERS.name) == (MESSAGES if durable else 0)


@pytest.mark.nightly
@pytest.mark.parametrize("sync", [True, False])
def test_a_send_waits_for_the_copy_only_where_the_mirror_is_in_sync(sync: bool, tmp_path: Path) -> None:
    topology = mirror(sync=sync)
    with up(topology, tmp_path) as runtime, clients(runtime, USED) as [sender]:
        send(runtime, USED, count=1)
        with frozen(runtime, COPY):
            sender.send(ORDERS, body(1))
            if not sync:
                assert sender.outcomes(1) == [Outcome.ACKED]
            time.sleep(SETTLES_S)
            assert len(sender.settled) == (0 if sync else 1)
        assert sender.outcomes(1) == [Outcome.ACKED]
        holds(runtime, topology, COPY, 2)


def test_messages_older_than_the_mirror_are_not_at_the_copy_and_its_queue_is(tmp_path: Path) -> None:
    topology = mirror(auto_start=False)
    with running(topology, tmp_path) as runtime:
        send(runtime, USED)
        with agent_of(runtime, USED) as agent:
            start_connection(agent, LINK)
        prove_links(runtime, topology, timeout_s=30)
        send(runtime, USED, count=2, first_seq=MESSAGES)
        holds(runtime, topology, COPY, 2)
        time.sleep(SETTLES_S)
        assert depth(runtime, topology, COPY, ORDERS.name) == 2
        assert depth(runtime, topology, USED, ORDERS.name) == MESSAGES + 2
        assert consume(runtime, USED, MESSAGES + 2) == list(range(MESSAGES + 2))
        holds(runtime, topology, COPY, 0)


@pytest.mark.nightly
def test_without_auto_start_nothing_is_mirrored_until_management_says_so(tmp_path: Path) -> None:
    topology = mirror(auto_start=False)
    with running(topology, tmp_path) as runtime:
        send(runtime, USED)
        time.sleep(SETTLES_S)
        assert ORDERS.name not in queues(runtime, topology, COPY)


@pytest.mark.nightly
def test_a_mirror_goes_on_at_the_standby_of_a_copy_that_died(tmp_path: Path) -> None:
    topology = mirror(alternate=True)
    with up(topology, tmp_path) as runtime:
        send(runtime, USED)
        holds(runtime, topology, COPY, MESSAGES)
        runtime.kill(COPY)
        send(runtime, USED, first_seq=MESSAGES)
        standby = queries_of(topology, f"{COPY}-backup")
        with agent_of(runtime, f"{COPY}-backup") as agent:
            until(lambda: standby.serves(agent), TAKES_OVER_WITHIN_S)
        holds(runtime, topology, f"{COPY}-backup", 2 * MESSAGES, TAKES_OVER_WITHIN_S)


@pytest.mark.nightly
def test_two_mirrors_between_pairs_go_on_both_ways_after_a_takeover_at_one_end(tmp_path: Path) -> None:
    topology, standby = build("dual-mirror(alternate=True)"), "dc-1-backup"
    with up(topology, tmp_path) as runtime:
        send(runtime, "dc-1")
        holds(runtime, topology, "dc-2", MESSAGES)
        runtime.kill("dc-1")
        with agent_of(runtime, standby) as agent:
            until(lambda: queries_of(topology, standby).serves(agent), TAKES_OVER_WITHIN_S)
        send(runtime, standby, first_seq=MESSAGES)
        holds(runtime, topology, "dc-2", 2 * MESSAGES, TAKES_OVER_WITHIN_S)
        assert depth(runtime, topology, standby, ORDERS.name) == 2 * MESSAGES
        assert consume(runtime, "dc-2", 2 * MESSAGES) == list(range(2 * MESSAGES))
        holds(runtime, topology, standby, 0, TAKES_OVER_WITHIN_S)


@pytest.mark.nightly
def test_two_mirrors_repeat_each_other_and_nothing_twice(tmp_path: Path) -> None:
    topology = build("dual-mirror")
    with up(topology, tmp_path) as runtime:
        for sent_at, copied_to in (("dc-1", "dc-2"), ("dc-2", "dc-1")):
            send(runtime, sent_at)
            holds(runtime, topology, copied_to, MESSAGES)
            time.sleep(SETTLES_S)
            assert depth(runtime, topology, sent_at, ORDERS.name) == MESSAGES
            assert consume(runtime, copied_to) == list(range(MESSAGES))
            holds(runtime, topology, sent_at, 0)
            holds(runtime, topology, copied_to, 0)
