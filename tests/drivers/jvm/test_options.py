"""Checks that unknown options of a broker URI are rejected by name; Java would retry for ever."""

from pathlib import Path

import jpype
import pytest

from drivers.contract import DriverError, Refused
from drivers.failover.uri import OPTION_FIELDS
from drivers.jvm import vm
from harness.java_parts import find_java_parts
from tests.drivers.java_bench import UNKNOWN_BROKER, JavaBench
from topologies.model.endpoints import Credentials

pytestmark = pytest.mark.java
vm.use(find_java_parts)


def opening(folder: Path, protocol: str, uri: str) -> str:
    """Return the error of a client that follows this URI to brokers that do not exist."""
    bench = JavaBench(folder, UNKNOWN_BROKER, Credentials("u", "secret"), uri, protocol)
    client = bench.client()
    with pytest.raises(DriverError) as caught:
        client.open()
    client.close()
    rows = bench.tables()["connections"]
    assert isinstance(caught.value, Refused) == (rows == []), "it is rejected before any attempt"
    return str(caught.value)


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        pytest.param("openwire", "Invalid connect parameters: {fooBar=1}", id="openwire"),
        pytest.param("core", "its connector knows no fooBar", id="core"),
    ],
)
@pytest.mark.parametrize(
    ("uri", "query"),
    [
        ("failover:(tcp://127.0.0.1:1,tcp://127.0.0.1:2)?nested.fooBar=1", "fooBar=1"),
        ("failover:(tcp://127.0.0.1:1,ssl://127.0.0.1:2?fooBar=1)", "fooBar=1"),
    ],
    ids=["nested", "of one"],
)
def test_an_option_that_the_library_does_not_know_is_refused_at_once(
    tmp_path: Path, protocol: str, words: str, uri: str, query: str
) -> None:
    error = opening(tmp_path, protocol, uri)
    assert f" do not accept {query!r} as options of 127.0.0.1:" in error
    assert f": {words}; correct them in its URI, or as nested.… of the failover URI" in error


@pytest.mark.parametrize(
    ("protocol", "option"),
    [
        pytest.param("openwire", "wireFormat.maxInactivityDuration=5000", id="openwire"),
        pytest.param("core", "tcpNoDelay=false", id="core"),
    ],
)
@pytest.mark.parametrize("scheme", ["tcp", "ssl"])
def test_an_option_that_it_knows_is_followed_to_the_end(
    tmp_path: Path, protocol: str, option: str, scheme: str
) -> None:
    uri = f"failover:({scheme}://127.0.0.1:1)?maxReconnectAttempts=1&nested.{option}"
    assert "could be reached" in opening(tmp_path, protocol, uri)


def test_an_option_of_openwires_wire_format_is_one_that_it_knows_or_does_not(tmp_path: Path) -> None:
    error = opening(tmp_path, "openwire", "failover:(tcp://127.0.0.1:1)?nested.wireFormat.fooBar=1")
    assert "Invalid connect parameters: {wireFormat.fooBar=1}" in error


def test_openwires_transport_has_a_setter_for_each_option_that_it_is_said_to_honour() -> None:
    libraries = vm.java_class("Hub", "openwire").class_.getClassLoader()
    transport = jpype.JClass("org.apache.activemq.transport.failover.FailoverTransport", loader=libraries)
    setters = {str(method.getName()) for method in transport.class_.getMethods()}
    honoured = [name for name, own in OPTION_FIELDS.items() if "openwire" in own.metadata["by"]]
    assert [name for name in honoured if f"set{name[0].upper()}{name[1:]}" not in setters] == []
