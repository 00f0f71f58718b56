"""Checks that AMQP clients follow a real Artemis broker: to its backup, or to the broker that a router chose."""

import logging
import random
import re
from pathlib import Path
from typing import cast

import pytest

from drivers.amqp.connector import AmqpConnector
from drivers.broker_errors import ignore_outcome
from drivers.client.client import Client
from drivers.failover.uri import FailoverUri
from records.store.writer import Recorder
from tests.drivers.doubles import KeepingRecorder, eventually
from tests.support.brokers import running
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]
PROTOCOLS = ("amqp", "core")


def addresses(runtime: Runtime, *brokers: str) -> dict[str, str]:
    """Who is behind each host:port."""
    return {
        runtime.endpoint(broker, protocol).uri.partition("://")[2].partition("?")[0]: broker
        for broker in brokers
        for protocol in PROTOCOLS
    }


def client_to(runtime: Runtime, *brokers: str) -> tuple[Client, KeepingRecorder]:
    """A client whose failover URI has these brokers, in this order."""
    recorder = KeepingRecorder()
    servers = ",".join(runtime.endpoint(broker, "amqp").uri for broker in brokers)
    client = Client(
        number=1,
        group="producers",
        uri=FailoverUri.parse(f"failover:({servers})?randomize=false&initialReconnectDelay=50&maxReconnectDelay=200"),
        brokers=addresses(runtime, *brokers),
        connector=AmqpConnector(),
        credentials=runtime.credentials(),
        recorder=cast(Recorder, recorder),
        rng=random.Random(1),
    )
    return client, recorder


def successors(runtime: Runtime, broker: str) -> tuple[str, ...]:
    """Whom a broker names to a new connection."""
    connection = AmqpConnector().connect(
        runtime.endpoint(broker, "amqp"),
        runtime.credentials(),
        client_id="",
        timeout_s=10,
        on_settled=ignore_outcome,
        on_lost=print,
    )
    connection.close()
    return connection.successors


def test_a_live_broker_names_its_backup_which_is_told_by_its_name_and_tried_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pair = ("broker-1", "broker-1-backup")
    with running("live-backup", tmp_path) as runtime, caplog.at_level(logging.WARNING):
        eventually(lambda: successors(runtime, "broker-1"))  # once the backup has announced itself
        (named,) = successors(runtime, "broker-1")
        assert addresses(runtime, *pair)[named] == "broker-1-backup"
        client, recorder = client_to(runtime, *pair)
        client.open()
        runtime.kill("broker-1")
        eventually(lambda: client.broker == "broker-1-backup", 60)
        client.close()
    after = [row for row in recorder.connections if row.event == "attempt"][1:]
    assert after[0].broker == "broker-1-backup"
    assert "moved" in [row.event for row in recorder.connections]
    assert not any("is not a broker of this run" in record.getMessage() for record in caplog.records)


def routed(configuration: Path, to: str, username: str, password: str) -> None:
    """Have this broker send its AMQP clients on to another one's Core acceptor: all that a router knows of a broker."""
    text = configuration.read_text()
    pool = (
        f"<pool><username>{username}</username><password>{password}</password><check-period>500</check-period>"
        "<static-connectors><connector-ref>routed</connector-ref></static-connectors></pool>"
    )
    router = (
        "<connection-routers><connection-router name='r'><key-type>CLIENT_ID</key-type>"
        f"<policy name='FIRST_ELEMENT'/>{pool}</connection-router></connection-routers>"
    )
    text = text.replace("<connectors>", f"<connectors><connector name='routed'>tcp://{to}</connector>", 1)
    text = re.sub(r"(protocols=AMQP)", r"\1;router=r", text, count=1)
    configuration.write_text(text.replace("<acceptors>", f"{router}<acceptors>", 1))


def test_a_router_sends_its_clients_on_and_they_arrive_at_the_broker_that_it_chose(tmp_path: Path) -> None:
    with running("cluster(brokers=2)", tmp_path) as runtime:
        to = runtime.endpoint("broker-2", "core").uri.partition("://")[2].partition("?")[0]
        for configuration in tmp_path.rglob("broker.xml"):
            text = configuration.read_text()
            permission = '<permission type="manage" roles="clients,bridges"/></security-setting>'
            configuration.write_text(text.replace("</security-setting>", permission))
        (configuration,) = tmp_path.rglob("broker-1/conf/broker.xml")
        credentials = runtime.credentials()
        routed(configuration, to, credentials.username, credentials.password)
        for broker in ("broker-2", "broker-1"):
            runtime.stop(broker)
            runtime.start(broker)
        client, recorder = client_to(runtime, "broker-1", "broker-2")
        client.open()
        eventually(lambda: client.broker == "broker-2", 30)
        events = [(row.event, row.broker) for row in recorder.connections]
        client.close()
    sent_on = [row for row in recorder.connections if "redirects its clients" in row.reason]
    assert {row.broker for row in sent_on} == {"broker-1"}
    assert events[-2:] == [("attempt", "broker-2"), ("connected", "broker-2")]
    assert sent_on[-1].reason.endswith(f" redirects its clients to {to}")
