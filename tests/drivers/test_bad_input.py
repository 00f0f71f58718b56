"""Checks that impossible requests to a load's clients give one error with the object and the next step.

The table is the same for each protocol. Other clients of the broker go on, and earlier records are kept.
"""

import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivers.client.client import Client
from drivers.client.contract import ProducerSettings, ScheduledSend
from drivers.client.per_message import PerMessageProducer
from drivers.contract import DriverError
from tests.drivers.conformance.conftest import REAL
from tests.support.brokers import running
from tests.support.loads import UserLoad
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.artemis.broker import ArtemisBroker
from topologies.classic.broker import Broker
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import ClientGroup
from topologies.model.endpoints import Credentials
from topologies.model.site import Site
from topologies.model.topology import Topology
from topologies.products import PRODUCTS
from topologies.runtimes.contract import Runtime
from topologies.runtimes.prepared import render

pytestmark = pytest.mark.brokers
NAME, FRAME_BYTES, SECRET = "broker-1", 65_536, "letmein"
SMALL = Broker(
    NAME, connectors=tuple(TransportConnector(protocol, max_frame_size_bytes=FRAME_BYTES) for protocol in REAL)
)
NO_NEW_PLACES = tuple(
    replace(setting, auto_create_queues=False, auto_create_addresses=False)
    for setting in ArtemisBroker(NAME).address_settings
)


def alone(broker: AnyBroker, flavour: str) -> Topology:
    groups = tuple(ClientGroup(group, (broker,)) for group in ("producers", "consumers"))
    return Topology("alone", (broker,), (), groups, PRODUCTS[flavour])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """A broker whose frames hold 64 KiB."""
    with running(alone(SMALL, "classic"), tmp_path_factory.mktemp("small")) as runtime:
        yield runtime


ALLOWED_PLACES = """\
<authorizationPlugin><map><authorizationMap><authorizationEntries>
  <authorizationEntry queue="allowed.>" read="clients" write="clients" admin="clients"/>
  <authorizationEntry topic="ActiveMQ.Advisory.>" read="clients" write="clients" admin="clients"/>
</authorizationEntries></authorizationMap></map></authorizationPlugin>
</plugins>"""


def with_allowed_places(topology: Topology, broker: AnyBroker, site: Site) -> dict[str, str]:
    """Files of a Classic broker that lets its clients only into the places that it names."""
    files = dict(render(topology, broker, site))
    assert "</plugins>" in files["activemq.xml"]
    files["activemq.xml"] = files["activemq.xml"].replace("</plugins>", ALLOWED_PLACES)
    return files


@pytest.fixture(scope="module")
def strict(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """A broker without the destinations that its clients use."""
    folder = tmp_path_factory.mktemp(f"strict-{request.param}")
    if request.param == "classic":
        with running(alone(Broker(NAME), "classic"), folder, renderer=with_allowed_places) as runtime:
            yield runtime
    else:
        with running(alone(ArtemisBroker(NAME, address_settings=NO_NEW_PLACES), "artemis"), folder) as runtime:
            yield runtime


def wrong_password(folder: Path, runtime: Runtime, protocol: str) -> None:
    wrong = Credentials(runtime.credentials().username, SECRET)
    UserLoad(folder, runtime, protocol, [NAME], credentials=wrong).client("producer")


def dead_brokers(folder: Path, runtime: Runtime, protocol: str) -> None:
    scheme = "tcp" if protocol in ("openwire", "core") else protocol
    with socket.create_server(("127.0.0.1", 0)) as taken:
        dead = {NAME: f"{scheme}://127.0.0.1:{taken.getsockname()[1]}"}
    UserLoad(folder, runtime, protocol, [NAME], addresses=dead, options="?maxReconnectAttempts=2").client("producer")


def body_too_large(folder: Path, runtime: Runtime, protocol: str) -> None:
    load = UserLoad(folder, runtime, protocol, [NAME])
    client = load.client("producer")
    load.send(client, queue("large"), 3, 2 * FRAME_BYTES)
    until(lambda: not client.client.broker)
    client.usable()


ASKED: dict[str, tuple[Callable[[Path, Runtime, str], None], str]] = {
    "wrong password": (wrong_password, r"broker.*refused user '\w+'.* Check the user name and the password"),
    "dead brokers": (dead_brokers, r"no broker of .*(maxReconnectAttempts=2|check that one is up)"),
    "body too large": (body_too_large, r"(?i)frame size.*(--body-bytes|recorded as failed)"),
}


TABLE = [
    *((request_name, protocol) for request_name in ASKED for protocol in REAL),
    # Artemis has no limit on what comes in one message by Core: its client sends a large body in pieces.
    *(
        pytest.param(request_name, "core", marks=pytest.mark.nightly)
        for request_name in ASKED
        if request_name != "body too large"
    ),
]


@pytest.mark.parametrize(("request_name", "protocol"), TABLE)
def test_what_cannot_be_is_one_error_with_the_next_step_and_others_go_on(
    request_name: str, protocol: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    broker: Runtime = request.getfixturevalue("single_artemis" if protocol == "core" else "small")
    neighbors, place = UserLoad(tmp_path, broker, protocol, [NAME]), queue("others")
    neighbors.consume(neighbors.client("consumer"), place)
    before = neighbors.produce(neighbors.client("producer"), place, 20)
    ask, sentence = ASKED[request_name]
    (tmp_path / "bad").mkdir()
    with pytest.raises(DriverError, match=sentence) as caught:
        ask(tmp_path / "bad", broker, protocol)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    before.join(60)
    neighbors.produce(neighbors.client("producer"), place, 20).join(60)
    until(lambda: neighbors.tally.received == 40)
    assert {row["outcome"] for row in neighbors.tables()["sends"]} == {"acked"}


def outcomes(sends: list[dict[str, Any]]) -> dict[int, list[str]]:
    """How each message's attempts ended, in order, by its seq."""
    fates: dict[int, list[str]] = {}
    for row in sorted(sends, key=lambda row: row["attempt"]):
        fates.setdefault(row["seq"], []).append(row["outcome"])
    return fates


REFUSING = [*(("classic", protocol) for protocol in REAL), *(("artemis", protocol) for protocol in (*REAL, "core"))]


@pytest.mark.nightly
@pytest.mark.parametrize(("strict", "protocol"), REFUSING, indirect=["strict"])
def test_a_place_that_the_broker_refuses_fails_by_name_and_the_connection_lives_on(
    strict: Runtime, protocol: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    load, place = UserLoad(tmp_path, strict, protocol, [NAME]), queue("nowhere")
    client = load.client("consumer")
    with pytest.raises(DriverError, match=place.name):
        load.consume(client, place)
    load.client("consumer").usable()
    producer = load.client("producer")
    load.send(producer, place, 5)
    until(lambda: load.tally.settled == 5)
    producer.usable()
    fates = outcomes(load.tables()["sends"])
    words = [record.getMessage() for record in caplog.records if "refused a message to" in record.getMessage()]
    if not isinstance(producer.client, Client):  # those of others go by their users: users_under_gevent.py
        assert len(words) == 1
        assert words[0].startswith(f"broker {NAME} refused a message to {place}, which has failed: ")
    assert {attempts[-1] for attempts in fates.values()} == {"failed"}
    # Artemis ends a STOMP connection with its first refusal: what was under way then is in doubt, and asked for again.
    in_between = {"in_doubt"} if "artemis-stomp" in request.node.callspec.id else set()
    assert {outcome for attempts in fates.values() for outcome in attempts[:-1]} <= in_between
    assert sorted(fates) == list(range(5))


@pytest.mark.nightly
@pytest.mark.parametrize("strict", ["artemis"], indirect=True)
def test_each_message_to_a_rejected_destination_is_recorded(strict: Runtime, tmp_path: Path) -> None:
    load = UserLoad(tmp_path, strict, "core", [NAME])
    producer = PerMessageProducer(load.session, "producers", queue("nowhere"), ProducerSettings(64))
    now_ns = load.session.clock()
    producer.send_batch([ScheduledSend(seq, now_ns) for seq in range(3)])
    until(lambda: producer.outstanding == 0)
    producer.close()
    rows = load.tables()["sends"]
    assert sorted((row["seq"], row["attempt"], row["outcome"]) for row in rows) == [
        (seq, 1, "failed") for seq in range(3)
    ]
