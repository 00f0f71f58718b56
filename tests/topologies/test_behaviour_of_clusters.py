"""Checks when Artemis clusters move messages, for each load-balancing type and each redistribution delay."""

import time
from pathlib import Path

import pytest

from drivers.contract import Destination, DriverError
from tests.support.waiting import until
from tests.topologies.experiments import MESSAGES, ORDERS, SETTLES_S, client, clients, depth, send, up
from topologies.artemis.broker import ArtemisBroker, HaPolicy
from topologies.artemis.links import ClusterConnection, cluster_links
from topologies.artemis.product import ARTEMIS
from topologies.catalogue.lookup import build
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]

WAITING = Destination("queue", "waiting")  # its consumer arrives after its messages
TAKES_OVER_WITHIN_S = 60.0
NEVER, AT_ONCE, LATER_MS = -1, 0, 600_000


def cluster(balancing: str, redistribution_delay_ms: int) -> Topology:
    settings = f"message_load_balancing={balancing!r}, redistribution_delay_ms={redistribution_delay_ms}"
    return build(f"cluster(brokers=2, {settings})")


@pytest.mark.parametrize(
    ("balancing", "delay_ms", "received", "moved"),
    [
        ("ON_DEMAND", AT_ONCE, MESSAGES, MESSAGES),
        ("ON_DEMAND", LATER_MS, MESSAGES, 0),
        ("ON_DEMAND", NEVER, MESSAGES, 0),
        (
            "STRICT",
            NEVER,
            MESSAGES // 2,
            0,
        ),  # alternately to every broker that has the queue, with or without consumers
        ("OFF", AT_ONCE, 0, 0),
        ("OFF_WITH_REDISTRIBUTION", AT_ONCE, MESSAGES, MESSAGES),  # first to the queue here, which has no consumer
        ("OFF_WITH_REDISTRIBUTION", NEVER, 0, 0),
    ],
)
def test_balancing_and_delay_decide_which_messages_move(
    balancing: str, delay_ms: int, received: int, moved: int, tmp_path: Path
) -> None:
    """A consumer elsewhere gets new messages by the balancing policy, and waiting ones by the redistribution delay."""
    topology = cluster(balancing, delay_ms)
    with up(topology, tmp_path) as runtime, clients(runtime, "broker-2", "broker-2") as (consumer, late_consumer):
        consumer.listen(ORDERS)
        send(runtime, "broker-1", WAITING)
        time.sleep(SETTLES_S)
        send(runtime, "broker-1", ORDERS)
        late_consumer.listen(WAITING)
        until(lambda: len(consumer.got) >= received and len(late_consumer.got) >= moved)
        time.sleep(SETTLES_S)
        assert (len(consumer.got), len(late_consumer.got)) == (received, moved)
        assert depth(runtime, topology, "broker-1", ORDERS.name) == MESSAGES - received
        assert depth(runtime, topology, "broker-1", WAITING.name) == MESSAGES - moved


def cluster_with_a_backup(kind: str) -> Topology:
    """Return a cluster of broker-1 with its backup, broker-1-backup, and broker-2.

    A replicated backup asks the other members for their votes. Members without a replication policy do not answer, and
    then the backup never takes over. The group name selects the member that it backs up.
    """
    policy = HaPolicy(kind, group_name="pair" if kind == "replication" else "")
    policy_of_broker_2 = HaPolicy(kind, group_name="other") if kind == "replication" else None
    members = (ArtemisBroker("broker-1", ha=policy), ArtemisBroker("broker-2", ha=policy_of_broker_2))
    backup = ArtemisBroker("broker-1-backup", standby_of="broker-1", ha=policy)
    links = cluster_links(members, ClusterConnection())
    return Topology("cluster-with-a-backup", (members[0], backup, members[1]), links, (), ARTEMIS)


@pytest.mark.parametrize("kind", ["shared-store", "replication"])
@pytest.mark.parametrize(
    ("sends", "consumes"), [("broker-1-backup", "broker-2"), ("broker-2", "broker-1-backup")], ids=["out", "in"]
)
def test_messages_cross_the_cluster_after_the_backup_of_a_member_has_taken_over(
    kind: str, sends: str, consumes: str, tmp_path: Path
) -> None:
    topology = cluster_with_a_backup(kind)
    with up(topology, tmp_path) as runtime:
        runtime.kill("broker-1")
        until(lambda: serves(runtime, "broker-1-backup"), TAKES_OVER_WITHIN_S)
        with clients(runtime, consumes) as [consumer]:
            consumer.listen(ORDERS)
            time.sleep(SETTLES_S)
            send(runtime, sends)
            until(lambda: len(consumer.got) == MESSAGES)


def serves(runtime: Runtime, broker: str) -> bool:
    try:
        client(runtime, broker).close()
    except DriverError:
        return False
    return True
