"""Checks the translation of a failover URI for the Core client, and its limits."""

from urllib.parse import parse_qsl

import pytest

from drivers.failover.core_options import CORE_OPTIONS, REFUSED, SUPPORTED, SWITCHES
from drivers.failover.uri import OPTION_FIELDS, OPTION_NAMES, FailoverUri
from drivers.jvm.java_protocol import IN_ORDER, SHUFFLED, connection_uri, load_uri
from drivers.protocols import unsupported
from tests.drivers.failover_options import with_another

A, B = "tcp://127.0.0.1:1001", "tcp://127.0.0.1:1002"


def uri(options: str = "", *servers: str) -> FailoverUri:
    return FailoverUri.compose(servers or (A, B), options)


def core_options(options: str) -> dict[str, str]:
    """The options that the client gets for these of a failover URI."""
    return dict(parse_qsl(load_uri(uri(options)).rpartition("?")[2]))


def test_a_failover_uri_becomes_passes_over_the_list() -> None:
    """There is no separate attempt for the lost broker."""
    assert load_uri(uri()) == (
        f"({A},{B})?reconnectAttempts=0&failoverAttempts=-1&initialConnectAttempts=-1&retryInterval=10"
        "&retryIntervalMultiplier=2.0&maxRetryInterval=30000&callFailoverTimeout=-1&useTopologyForLoadBalancing=false"
        f"&connectionLoadBalancingPolicyClassName={SHUFFLED}"
    )


@pytest.mark.parametrize(("passes", "tries"), [("-1", "-1"), ("3", "3"), ("0", "1")])
def test_passes_over_one_broker_are_its_tries(passes: str, tries: str) -> None:
    """After such a try, unlike after a pass, the library does not wait before the client can send."""
    options = dict(parse_qsl(load_uri(uri(f"maxReconnectAttempts={passes}", A)).rpartition("?")[2]))
    assert (options["reconnectAttempts"], options["failoverAttempts"]) == (tries, "0")


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        ("randomize=false", "connectionLoadBalancingPolicyClassName", IN_ORDER),
        ("maxReconnectAttempts=3", "failoverAttempts", "3"),
        ("maxReconnectAttempts=3", "initialConnectAttempts", "3"),
        ("maxReconnectAttempts=0", "failoverAttempts", "1"),
        ("maxReconnectAttempts=3&startupMaxReconnectAttempts=7", "initialConnectAttempts", "7"),
        ("reconnectDelay=50", "retryInterval", "50"),
        ("reconnectDelayExponent=1.5", "retryIntervalMultiplier", "1.5"),
        ("useExponentialBackOff=false", "retryIntervalMultiplier", "1.0"),
        ("maxReconnectDelay=400", "maxRetryInterval", "400"),
        ("timeout=3000", "callFailoverTimeout", "3000"),
    ],
)
def test_an_option_that_means_the_same_is_translated(options: str, name: str, value: str) -> None:
    assert core_options(options)[name] == value


def test_options_of_cores_own_go_to_it_as_they_are_and_alone() -> None:
    assert core_options("ha=true&reconnectAttempts=-1") == {"ha": "true", "reconnectAttempts": "-1"}


def test_options_of_cores_own_are_written_back() -> None:
    written = str(uri("ha=true&retryInterval=50&nested.tcpNoDelay=true"))
    assert written == f"failover:({A},{B})?ha=true&retryInterval=50&nested.tcpNoDelay=true"
    assert FailoverUri.parse(written) == uri("ha=true&retryInterval=50&nested.tcpNoDelay=true")


def test_what_is_nested_goes_to_every_broker() -> None:
    assert load_uri(uri("nested.tcpNoDelay=false")).startswith(f"({A}?tcpNoDelay=false,{B}?tcpNoDelay=false)?")


def test_tls_is_an_option_to_core_whose_certificates_and_names_are_verified() -> None:
    assert connection_uri("ssl://localhost:61617") == (
        "tcp://localhost:61617?sslEnabled=true&useDefaultSslContext=true&verifyHost=true"
    )
    assert connection_uri(A) == A


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_an_option_that_a_client_cannot_honour_is_refused_with_why(name: str) -> None:
    (problem,) = unsupported(uri(f"{name}=1"), "core")
    assert problem.startswith(f"option {name} is not honored by CORE clients: {REFUSED[name]}")


@pytest.mark.parametrize("name", sorted(SUPPORTED))
def test_every_other_option_of_cores_own_is_honoured_by_core_and_by_nobody_else(name: str) -> None:
    assert unsupported(uri(f"{name}={'true' if name in SWITCHES else 1}"), "core") == ()
    for protocol in ("openwire", "stomp", "amqp"):
        (problem,) = unsupported(uri(f"{name}=1"), protocol)
        assert f"option {name} is not supported by {protocol.upper()}: it is Core's own" in problem


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ("reconnectAttempts=x", "write a whole number"),
        ("callTimeout=1.5", "write a whole number"),
        ("retryIntervalMultiplier=fast", "write a number"),
        ("ha=yes", "write true or false"),
    ],
)
def test_a_value_that_cores_client_would_take_for_something_else_is_refused(option: str, rule: str) -> None:
    (problem,) = unsupported(uri(option), "core")
    assert problem.startswith(f"option {option} of Core's is not valid; {rule}")


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_what_is_honoured_and_nothing_else_changes_what_core_is_told(name: str) -> None:
    assert (load_uri(uri(with_another(name)[0])) != load_uri(uri())) == ("core" in OPTION_FIELDS[name].metadata["by"])


def test_both_kinds_of_options_at_once_are_refused() -> None:
    (problem,) = unsupported(uri("ha=true&randomize=false"), "core")
    assert "failover option randomize next to Core's own ha" in problem


def test_no_name_belongs_to_both() -> None:
    assert not CORE_OPTIONS & set(OPTION_NAMES)
