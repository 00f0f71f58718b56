"""A failover URI is read as the Java client reads it; invalid parts are rejected, with the reason and the position."""

import re
from contextlib import suppress
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.failover.uri import (
    OPTION_FIELDS,
    OPTION_NAMES,
    BadFailoverUriError,
    FailoverOptions,
    FailoverUri,
    ServerUri,
)
from drivers.protocols import PROTOCOLS, unsupported
from tests.drivers.failover_options import with_another

A, B = ServerUri("stomp", "a.example", 1), ServerUri("stomp", "b.example", 2, "soTimeout=0&x=y")


@pytest.mark.parametrize(
    "text", [f"failover:({A},{B})", f"failover://({A},{B})", f"failover:{A},{B}", f" failover:( {A} , {B} ) "]
)
def test_the_list_of_uris_is_read_in_every_notation(text: str) -> None:
    assert FailoverUri.parse(text) == FailoverUri((A, B))


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_an_option_is_read_into_its_typed_field(name: str) -> None:
    written, options = with_another(name)
    uri = FailoverUri.parse(f"failover:({A})?{written}")
    assert uri == FailoverUri((A,), options, explicit=frozenset({name}))
    assert uri.options != FailoverOptions()


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_a_field_is_called_as_its_option(name: str) -> None:
    field = OPTION_FIELDS[name].name
    assert re.sub("_(ms|bytes)$", "", field).replace("_", "") == name.lower()


def test_no_two_fields_have_one_name() -> None:
    assert len(OPTION_NAMES) == len(fields(FailoverOptions))


def test_all_options_together_and_nested_ones_survive_being_written_back() -> None:
    query = "&".join(with_another(name)[0] for name in OPTION_NAMES)
    uri = FailoverUri.parse(f"failover:({A},{B})?{query}&nested.connect-timeout=5%26")
    assert FailoverUri.parse(str(uri)) == uri
    assert uri.nested == (("connect-timeout", "5&"),)
    assert uri.explicit == set(OPTION_NAMES)


def test_a_uri_is_written_in_its_plainest_form() -> None:
    assert str(FailoverUri.parse(f"failover://( {A},{B})?Randomize=False&timeout=%2B5")) == (
        "failover:(stomp://a.example:1,stomp://b.example:2?soTimeout=0&x=y)?timeout=5&randomize=false"
    )


def test_without_parentheses_options_belong_to_the_last_uri() -> None:
    uri = FailoverUri.parse("failover:stomp://a:1,stomp://b:2?randomize=false")
    assert uri.servers[1].query == "randomize=false"
    assert uri.options == FailoverOptions()


def test_nested_options_are_added_to_the_query_of_every_server() -> None:
    uri = FailoverUri.parse(f"failover:({A},{B})?nested.wireFormat.maxFrameSize=9")
    assert [str(uri.effective(server)) for server in uri.servers] == [
        "stomp://a.example:1?wireFormat.maxFrameSize=9",
        "stomp://b.example:2?soTimeout=0&x=y&wireFormat.maxFrameSize=9",
    ]


@pytest.mark.parametrize(("written", "expected"), [("True", True), ("TRUE", True), ("False", False), ("false", False)])
def test_a_boolean_is_true_or_false_with_any_capitals(written: str, expected: bool) -> None:
    assert FailoverUri.parse(f"failover:({A})?randomize={written}").options.randomize is expected


def test_an_ipv6_address_keeps_its_brackets() -> None:
    assert str(FailoverUri.parse("failover:(stomp://[::1]:61613)").servers[0]) == "stomp://[::1]:61613"


def test_a_broker_in_memory_keeps_its_name_as_written() -> None:
    assert FailoverUri.parse("failover:(memory://Hub-1)").servers[0].address == "Hub-1"


def test_servers_and_options_are_composed() -> None:
    assert FailoverUri.compose([str(A)], "timeout=5") == FailoverUri.parse(f"failover:({A})?timeout=5")
    assert FailoverUri.compose([str(A)]) == FailoverUri((A,))


MALFORMED = {
    "stomp://a:1": "it begins with 'stomp', not with 'failover:' (at character 1); write failover:(URI,URI…)?opt",
    "": "it begins with '', not with 'failover:' (at character 1)",
    "failover:()": "the list of URIs is empty (at character 12); write at least one URI",
    "failover:": "the list of URIs is empty",
    "failover:(stomp://a:1": "1 '(' against 0 ')' (at character 10); close every parenthesis",
    "failover:(stomp://a:1,,stomp://b:2)": "an empty URI in the list",
    "failover:(stomp://a:1,)": "an empty URI in the list",
    "failover:(stomp://a:1,b:2)": "'b:2' is not a URI (at character 23); write scheme://host:port",
    "failover:(stomp://a)": "'stomp://a' names no port (at character 11)",
    "failover:(stomp://a:99999)": "'stomp://a:99999' is not a URI (Port out of range 0-65535)",
    "failover:(stomp://a:1/path)": "is not scheme://host:port?options",
    "failover:(stomp://a:1)x?timeout=1": "'x' follows the list of URIs (at character 23)",
    "failover:(stomp://a:1)#part": "a fragment means nothing here (at character 23)",
    "failover:(failover:(stomp://a:1))": "a list inside the list (at character 20)",
    "failover:(stomp://a:1)?timeout": "the option 'timeout' has no value (at character 24)",
    "failover:(stomp://a:1)?timeout=soon": "timeout='soon' is not a whole number (at character 24); write a whole",
    "failover:(stomp://a:1)?timeout=1.5": "timeout='1.5' is not a whole number",
    "failover:(stomp://a:1)?reconnectDelayExponent=x": "reconnectDelayExponent='x' is not a number",
    "failover:(stomp://a:1)?randomize=maybe": "randomize='maybe' is neither true nor false (at character 24); write",
    "failover:(stomp://a:1)?priorityBackup=1": "priorityBackup='1' is neither true nor false",
    "failover:(stomp://a:1)?randomise=true": "unknown option 'randomise' (at character 24); did you mean randomize?",
    "failover:(tcp://a:1)?reconectAttempts=1": "did you mean reconnectAttempts, an option of Core's own?",
    "failover:(tcp://a:1)?callTimeOut=1": "did you mean callTimeout, an option of Core's own?",
    "failover:(stomp://a:1)?maxReconnectAttempt=1": "did you mean maxReconnectAttempts? the options are",
    "failover:(stomp://a:1)?backOffMultiplier=2": "did you mean reconnectDelayExponent?",
    "failover:(stomp://a:1)?priorityURIs=b": "'b' is not a URI",
}


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_uri_is_refused_with_what_is_wrong_and_where(text: str) -> None:
    with pytest.raises(BadFailoverUriError) as refused:
        FailoverUri.parse(text)
    assert MALFORMED[text] in str(refused.value)
    assert repr(text) in str(refused.value)


def test_a_password_in_a_uri_is_not_repeated_in_the_error() -> None:
    with pytest.raises(BadFailoverUriError) as refused:
        FailoverUri.parse("failover:(stomp://bench:hush@a:1)")
    assert "'stomp://…@a:1' is not scheme://host:port?options" in str(refused.value)
    assert "hush" not in str(refused.value)


def test_what_only_openwire_can_do_is_named_when_asked_for() -> None:
    uri = FailoverUri.parse(f"failover:({A})?trackMessages=true&backup=true&backupPoolSize=1&updateURIsSupported=false")
    problems = unsupported(uri, "stomp")
    assert [problem.split(":")[0] for problem in problems] == [
        "failover option backup=true is not supported by STOMP",
        "failover option trackMessages=true is not supported by STOMP",
    ]
    assert unsupported(uri, "openwire") == ()


def test_a_default_that_nobody_wrote_is_not_complained_about() -> None:
    assert unsupported(FailoverUri((A,)), "stomp") == ()
    assert len(unsupported(FailoverUri.parse(f"failover:({A})?updateURIsSupported=true"), "amqp")) == 1


def test_options_are_honoured_by_protocols_that_there_are() -> None:
    assert {protocol for own in OPTION_FIELDS.values() for protocol in own.metadata["by"]} == set(PROTOCOLS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", OPTION_NAMES)
def test_an_option_is_honoured_or_refused_by_its_name(name: str, protocol: str) -> None:
    own = OPTION_FIELDS[name]
    written = f"{name}=true" if isinstance(own.default, bool) else with_another(name)[0]
    problems = unsupported(FailoverUri.parse(f"failover:({A})?{written}"), protocol)
    if protocol in own.metadata["by"]:
        assert problems == ()
    elif own.metadata["by"] == {"openwire"}:
        assert problems == (
            f"failover option {written} is not supported by {protocol.upper()}: only OpenWire clients can honor it; "
            "remove it or use OpenWire",
        )
    else:
        assert problems == (
            f"failover option {name} is not supported by {protocol.upper()}: its client has nothing like it; remove it",
        )


def test_errors_come_in_order_openwire_core_then_others() -> None:
    query = "warnAfterReconnectAttempts=3&ha=true&user=x&priorityBackup=true&backup=true"
    problems = unsupported(FailoverUri.parse(f"failover:({A})?{query}"), "core")
    assert [problem.split(" is ")[0] for problem in problems if " is " in problem] == [
        "failover option backup=true",
        "option user",
        "failover option priorityBackup",
        "failover option warnAfterReconnectAttempts",
    ]


@pytest.mark.parametrize(
    ("protocol", "option", "says"),
    [
        ("stomp", "heartbeat=5", "STOMP has no option heartbeat; it supports heartbeat_ms"),
        ("stomp", "heartbeat_ms=soon", "heartbeat_ms=soon: write a whole number of milliseconds, 0 for none"),
        (
            "amqp",
            "wireFormat.maxFrameSize=9",
            "AMQP has no option wireFormat.maxFrameSize; it supports idle_timeout_ms",
        ),
        ("amqp", "idle_timeout_ms=1", "idle_timeout_ms=1: write a whole number of milliseconds, 100 at least, or 0"),
    ],
)
def test_a_nested_option_that_a_protocol_does_not_know_is_refused_by_its_name(
    protocol: str, option: str, says: str
) -> None:
    (problem,) = unsupported(FailoverUri.parse(f"failover:({A})?nested.{option}"), protocol)
    assert problem.startswith(f"failover option nested.{option}: {says}")


@pytest.mark.parametrize(("protocol", "option"), [("stomp", "heartbeat_ms=0"), ("amqp", "idle_timeout_ms=500")])
def test_a_nested_option_that_a_protocol_knows_is_honoured(protocol: str, option: str) -> None:
    assert unsupported(FailoverUri.parse(f"failover:({A})?nested.{option}"), protocol) == ()


NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
VALUES = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), max_size=8)
SERVERS = st.builds(
    ServerUri,
    st.sampled_from(["stomp", "tcp", "amqp+ssl"]),
    NAMES,
    st.integers(1, 65535),
    st.sampled_from(["", "a=b", "a=b&c=%20"]),
)
OPTIONS = st.builds(
    FailoverOptions,
    initial_reconnect_delay_ms=st.integers(0, 10**9),
    reconnect_delay_exponent=st.floats(1, 10),
    randomize=st.booleans(),
    max_reconnect_attempts=st.integers(-1, 99),
    priority_uris=st.lists(SERVERS, max_size=2).map(tuple),
    update_uris_url=VALUES,
)


@given(st.lists(SERVERS, min_size=1, max_size=4), OPTIONS, st.dictionaries(NAMES, VALUES, max_size=3))
def test_a_written_uri_reads_as_the_same_value(
    servers: list[ServerUri], options: FailoverOptions, nested: dict[str, str]
) -> None:
    uri = FailoverUri(tuple(servers), options, tuple(nested.items()))
    again = FailoverUri.parse(str(uri))
    assert (again.servers, again.options, again.nested) == (uri.servers, uri.options, uri.nested)
    assert FailoverUri.parse(str(again)) == again


@given(st.text(max_size=60).map(lambda text: f"failover:{text}"))
def test_any_text_is_read_or_refused_in_a_sentence(text: str) -> None:
    with suppress(BadFailoverUriError):
        assert FailoverUri.parse(text).servers


def test_a_client_with_a_place_tries_its_broker_first() -> None:
    """It tries the other brokers in their order."""
    uri = FailoverUri.parse("failover:(stomp://a:1,stomp://b:2,stomp://c:3)?timeout=5&nested.x=y")
    assert (
        str(uri.entering_at(4)) == "failover:(stomp://b:2,stomp://c:3,stomp://a:1)?timeout=5&randomize=false&nested.x=y"
    )
    assert FailoverUri.parse(str(uri.entering_at(1))) == uri.entering_at(1)


def test_a_client_that_is_told_of_one_broker_has_the_options_of_all() -> None:
    uri = FailoverUri.parse("failover:(stomp://a:1,stomp://b:2,stomp://c:3)?timeout=5&nested.x=y")
    assert str(uri.with_only(4)) == "failover:(stomp://b:2)?timeout=5&nested.x=y"
