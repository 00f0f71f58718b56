"""Checks by every protocol that clients move to the backup when the live broker dies, and record its name."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.brokers import running
from tests.support.loads import UserLoad
from tests.support.stomp_clients import queue
from tests.support.waiting import settled_for, until
from topologies.artemis.management import broker_mbean
from topologies.management.jolokia import Jolokia
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]
LIVE, BACKUP = "broker-1", "broker-1-backup"
MESSAGES = 5_000
IDLE_S = 5.0  # what the live broker had delivered may come again, so their number does not tell that all are there
ANNOUNCED_S = 60
TAKE_OVER_S = 120  # also of a Core client whose broker took its connection and then died, which waits half a minute


def names_its_backup(runtime: Runtime, live: str) -> bool:
    """Whether the live broker's topology, which it sends to Core clients, has the backup.

    A standby backup announces itself to the live broker a moment later.
    """
    with closing(Jolokia(runtime.management(live))) as agent:
        members = json.loads(agent.execute(broker_mbean(live), "listNetworkTopology()"))
    return any("backup" in member for member in members)


@pytest.mark.parametrize(
    ("protocol", "enter_at", "options"),
    [
        pytest.param("core", [LIVE], "?ha=true&reconnectAttempts=-1&retryInterval=100", id="core, told by its broker"),
        pytest.param("core", [LIVE, BACKUP], "?randomize=false", id="core"),
        pytest.param("openwire", [LIVE, BACKUP], "?randomize=false", id="openwire"),
        pytest.param("amqp", [LIVE, BACKUP], "?randomize=false", id="amqp"),
        pytest.param("stomp", [LIVE, BACKUP], "?randomize=false", id="stomp"),
    ],
)
def test_clients_of_a_dead_live_broker_move_to_its_backup(
    tmp_path: Path, protocol: str, enter_at: list[str], options: str
) -> None:
    """Their events there have the backup's name."""
    orders = queue("pair")
    with running("live-backup", tmp_path / "brokers") as runtime:
        until(lambda: names_its_backup(runtime, LIVE), ANNOUNCED_S)
        load = UserLoad(tmp_path, runtime, protocol, [LIVE, BACKUP], enter_at=enter_at, options=options)
        clients = [load.client("consumer"), load.client("producer")]
        load.consume(clients[0], orders)
        sending = load.produce(clients[1], orders, MESSAGES)
        until(lambda: load.tally.received > 200)
        assert {client.client.broker for client in clients} == {LIVE}
        runtime.kill(LIVE)
        until(lambda: {client.client.broker for client in clients} == {BACKUP}, TAKE_OVER_S)
        sending.join(TAKE_OVER_S)
        until(lambda: load.tally.settled == MESSAGES)
        until(lambda: load.tally.received >= MESSAGES)
        settled_for(lambda: load.tally.received, IDLE_S)
        tables = load.tables()
    for client in clients:
        changes = [row for row in tables["connections"] if row["client"] == client.number]
        moves = [(row["broker"], row["reason"]) for row in changes if row["event"] == "moved"]
        assert moves == [(BACKUP, f"from {LIVE}")]
        assert [row["broker"] for row in changes if row["event"] == "connected"] == [LIVE, BACKUP]
    last = {row["seq"]: row for row in tables["sends"]}
    assert sorted(last) == list(range(MESSAGES))
    assert {row["outcome"] for row in last.values()} == {"acked"}
    assert {row["seq"] for row in tables["receipts"]} == set(last)
    assert {row["broker"] for row in (*tables["sends"], *tables["receipts"])} == {LIVE, BACKUP}
