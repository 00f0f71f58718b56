"""Checks how a broker's log becomes an error message for the user."""

import subprocess
from pathlib import Path

import pytest

from tests.support.brokers import running
from topologies.artemis.broker import ArtemisBroker, Journal
from topologies.artemis.launch import LAUNCH as ARTEMIS
from topologies.artemis.product import ARTEMIS as PRODUCT
from topologies.classic.launch import LAUNCH as CLASSIC
from topologies.jvm.launch import agent_failure
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology
from topologies.runtimes.contract import LOG_TAIL_LINES, RuntimeFailed
from topologies.runtimes.startup import LINE_LIMIT, explain, informative_lines, refused_ports

PORTS = {"openwire": 21001, "stomp": 21002, "management": 21003}
BIND_FAILED = (
    "Caused by: java.io.IOException: Failed to bind to server socket: tcp://127.0.0.1:21001?maximumConnections=9 "
    "due to: java.net.BindException: Address already in use"
)
AGENT_FAILED = "Could not start Jolokia agent: java.net.BindException: Address already in use"


def test_stack_frames_and_lists_of_arguments_are_left_out() -> None:
    lines = [
        "    JVM args: -Xms1m",
        "ACTIVEMQ_HOME: /x",
        "ERROR: no",
        "\tat org.apache.X.y(X.java:1)",
        "\t... 27 more",
        "",
        "Caused by: disk",
    ]
    assert informative_lines(CLASSIC, lines) == ["ERROR: no", "Caused by: disk"]


def test_only_the_last_lines_are_told_and_long_ones_are_cut() -> None:
    assert informative_lines(CLASSIC, [str(n) for n in range(50)]) == [str(n) for n in range(50 - LOG_TAIL_LINES, 50)]
    assert informative_lines(CLASSIC, ["x" * 1000]) == ["x" * LINE_LIMIT]


def test_the_port_that_could_not_be_bound_is_read_off_the_log_once() -> None:
    assert refused_ports(CLASSIC, [BIND_FAILED, BIND_FAILED], PORTS) == [21001]


def test_the_port_of_an_artemis_acceptor_is_read_off_the_log_too() -> None:
    line = "AMQ229230: Failed to bind acceptor stomp to 127.0.0.1:21002"
    assert refused_ports(ARTEMIS, [line], PORTS) == [21002]


def test_the_port_of_a_routers_listener_is_read_off_the_log_too() -> None:
    line = "SERVER (error) Listener error on 127.0.0.1:21002: Address already in use - listen on …"
    assert refused_ports(ARTEMIS, [line], PORTS) == [21002]


def test_the_agents_port_is_known_though_its_message_does_not_name_it() -> None:
    assert refused_ports(ARTEMIS, [AGENT_FAILED], PORTS) == [21003]


def test_a_bind_failure_of_a_connector_is_none_of_the_agent() -> None:
    assert refused_ports(CLASSIC, ["java.net.BindException: Address already in use"], PORTS) == []


@pytest.mark.parametrize(
    ("line", "failure"),
    [(AGENT_FAILED, "java.net.BindException: Address already in use"), ("Jolokia: Agent 2.5.0 started", "")],
)
def test_an_agent_that_did_not_start_says_why(line: str, failure: str) -> None:
    assert agent_failure(["first", line]) == failure


def test_the_message_names_broker_port_holder_next_step_and_log() -> None:
    text = explain(
        CLASSIC, "hub", "died while starting (exit status 1)", [BIND_FAILED], PORTS, lambda port: f"{port} is X's"
    )
    assert text == (
        "broker 'hub' died while starting (exit status 1); 21001 is X's. End that process or choose other ports. "
        f"Its log ends:\n    {BIND_FAILED}"
    )


def test_a_broker_that_logged_nothing_is_said_to() -> None:
    text = explain(CLASSIC, "hub", "died", [], PORTS, str)
    assert text == "broker 'hub' died. Its log ends:\n    (it logged nothing)"


@pytest.mark.brokers
def test_asyncio_is_used_or_the_broker_is_ended(tmp_path: Path) -> None:
    """Without libaio Artemis writes with NIO instead, and only logs it."""
    broker = ArtemisBroker("broker-1", persistence=Journal("ASYNCIO"))
    topology = Topology("asyncio", (broker,), (), (ClientGroup("producers", (broker,)),), PRODUCT)
    libraries = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    if "libaio.so.1 " in libraries:
        with running(topology, tmp_path) as runtime:
            assert "libaio.so.1" in Path(f"/proc/{runtime.pid(broker.name)}/maps").read_text("utf-8")
    else:
        words = r"broker 'broker-1' writes its journal with NIO instead of ASYNCIO, because libaio is missing"
        with pytest.raises(RuntimeFailed, match=words), running(topology, tmp_path):
            pass
