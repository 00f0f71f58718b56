"""Checks which brokers a client learns of later, from the file behind updateURIsURL or from a broker."""

import logging
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from drivers.contract import Connection, Redirected
from drivers.failover import reconnect_schedule as reconnect
from drivers.failover.updated_uris import UpdatedUris
from drivers.failover.uri import FailoverUri, ServerUri
from tests.drivers.doubles import (
    KeepingRecorder,
    ScriptedConnection,
    ScriptedConnector,
    client_of,
    eventually,
    stomp_uri,
)

FILE_BROKERS = {"a:1": "a", "b:2": "b", "c:3": "c"}
FILE_B, FILE_C = ServerUri("stomp", "b", 2), ServerUri("stomp", "c", 3)
A, B, C = (ServerUri("stomp", "localhost", port, "x=1") for port in (1, 2, 3))
BROKERS = {"localhost:1": "a", "localhost:2": "b", "localhost:3": "c", "10.0.0.2:61616": "b", "[::1]:7": "d"}
URI = "failover:(stomp://localhost:1?x=1,stomp://localhost:2?x=1)?randomize=false&initialReconnectDelay=1"


def updated_uris(file: str, options: str = "") -> UpdatedUris:
    uri = FailoverUri.parse(f"failover:(stomp://a:1)?updateURIsURL={file}{options}")
    return UpdatedUris("client 1", uri, FILE_BROKERS)


def refreshed(file: Path, text: str, options: str = "") -> tuple[ServerUri, ...]:
    file.write_text(text)
    return updated_uris(file.as_uri(), options).refresh().updated


def test_the_file_is_a_list_with_commas_over_any_number_of_lines(tmp_path: Path) -> None:
    assert refreshed(tmp_path / "list", "stomp://b:2,stom\np://c:3,,stomp://b:2\n") == (FILE_B, FILE_C)


def test_a_path_is_a_url_too(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("stomp://c:3")
    assert updated_uris(str(tmp_path / "list")).refresh().updated == (FILE_C,)


def test_an_empty_file_or_one_that_went_leaves_the_list_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text("stomp://b:2")
    updating = updated_uris(file.as_uri())
    assert updating.refresh().updated == (FILE_B,)
    file.write_text("\n")
    assert updating.refresh().updated == (FILE_B,)
    file.unlink()
    assert updating.refresh().updated == (FILE_B,)


def test_a_file_that_is_not_to_be_followed_is_not_read(tmp_path: Path) -> None:
    assert refreshed(tmp_path / "list", "stomp://b:2", "&updateURIsSupported=false") == ()


def test_what_is_no_broker_of_the_run_is_left_out_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "list"
    file.write_text("stomp://z:9,nonsense, stomp://c:3,stomp://b:2")
    updating = updated_uris(file.as_uri())
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert updating.refresh().updated == (FILE_B,)
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 3
    assert warnings[0] == "client 1: updateURIsURL: z:9 is not a broker of this run; this entry is left out"


def test_a_client_attempts_the_brokers_of_the_file_first(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("stomp://localhost:3")
    recorder = KeepingRecorder()
    options = f"randomize=false&updateURIsURL={(tmp_path / 'list').as_uri()}"
    client = client_of(ScriptedConnector(OSError("no")), recorder, stomp_uri("ab", options))
    client.open()
    client.close()
    assert recorder.events()[:3] == [("attempt", "c"), ("attempt", "a"), ("connected", "a")]


class Naming(ScriptedConnection):
    """A connection whose broker names others."""

    successors: tuple[str, ...] = ()
    redirected_to = ""


def naming(*successors: str) -> Naming:
    connection = Naming("a", "c", print, print)
    connection.successors = successors
    return connection


def referrals(uri: str = URI) -> UpdatedUris:
    return UpdatedUris("producers client 1", FailoverUri.parse(uri), BROKERS)


def test_a_named_broker_uses_its_address_in_the_failover_uri() -> None:
    """A broker that is not in the URI uses the address that it was named with."""
    heard = referrals()
    assert heard.server("10.0.0.2:61616") == B
    assert heard.server("localhost:3") == C
    assert heard.server("[::1]:7") == ServerUri("stomp", "::1", 7, "x=1")


def test_a_broker_that_names_none_of_the_run_is_left_out_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    heard = referrals()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            heard.learn_from(naming("elsewhere:1", "localhost:2"))
    assert heard.refresh().updated == (B,)
    (record,) = caplog.records
    assert record.getMessage() == (
        "producers client 1: a broker names elsewhere:1, which is not a broker of this run; it is left out"
    )


def test_the_last_list_of_other_brokers_counts() -> None:
    heard = referrals()
    heard.learn_from(naming("localhost:2"))
    heard.learn_from(naming("localhost:3", "localhost:2"))
    heard.learn_from(naming())
    plain: Connection = ScriptedConnection("a", "c", print, print)
    heard.learn_from(plain)
    assert heard.refresh().updated == (C, B)


def test_whoever_wants_no_updates_hears_none() -> None:
    uri = URI + "&updateURIsSupported=false"
    heard = referrals(uri)
    heard.learn_from(naming("localhost:2"))
    assert heard.refresh().updated == ()


def test_redirects_are_followed_at_once_but_never_in_circles() -> None:
    uri = FailoverUri.parse(URI.replace("localhost:2?x=1)", "localhost:2?x=1,stomp://localhost:3?x=1)"))
    begun = reconnect.begin(uri, Random(1))
    sent = reconnect.redirected(begun, C)
    assert sent is not None
    assert (sent.action, sent.remaining) == (reconnect.Attempt(C), (B,))
    back = reconnect.redirected(sent, A)
    assert back is not None
    assert reconnect.redirected(back, C) is None
    failed = reconnect.attempt_failed(uri, back, "no")
    assert failed.action == reconnect.Attempt(B)
    again = reconnect.after_sleep(uri, reconnect.attempt_failed(uri, failed, "no"), Random(1))
    assert reconnect.redirected(again, C) is not None


def test_a_client_that_has_given_up_is_sent_nowhere() -> None:
    uri = FailoverUri.parse(URI + "&maxReconnectAttempts=0")
    connected = reconnect.connected(uri, reconnect.begin(uri, Random(1)), A)
    over = reconnect.lost(uri, connected, Random(1), "gone")
    assert isinstance(over.action, reconnect.GiveUp)
    assert reconnect.redirected(over, B) is None


def changes(recorder: KeepingRecorder) -> list[tuple[str, str | None, str | None]]:
    return [(row.event, row.broker, row.cause) for row in recorder.connections]


@pytest.fixture
def connector() -> ScriptedConnector:
    scripted = ScriptedConnector()
    scripted.kind = Naming
    return scripted


def test_a_redirect_is_followed_and_both_brokers_are_named(connector: ScriptedConnector) -> None:
    connector.script = [Redirected("broker a redirects its clients to localhost:3", "localhost:3")]
    recorder = KeepingRecorder()
    client = client_of(connector, recorder, URI)
    client.open()
    assert changes(recorder) == [
        ("attempt", "a", "redirect"),
        ("attempt", "c", None),
        ("connected", "c", None),
    ]
    assert connector.endpoints[-1].uri == "stomp://localhost:3?x=1"
    client.close()


def test_a_redirect_to_nobody_is_a_failed_attempt_like_any_other(connector: ScriptedConnector) -> None:
    connector.script = [Redirected("on to elsewhere:9", "elsewhere:9")]
    recorder = KeepingRecorder()
    client = client_of(connector, recorder, URI)
    client.open()
    assert [row[:2] for row in changes(recorder)] == [("attempt", "a"), ("attempt", "b"), ("connected", "b")]
    client.close()


def losing(how: Callable[[Naming], None], connector: ScriptedConnector) -> list[tuple[str, str | None, str | None]]:
    """The events of a client on a that loses its connection after that."""
    recorder = KeepingRecorder()
    client = client_of(connector, recorder, URI)
    client.open()
    (connection,) = connector.connections
    assert isinstance(connection, Naming)
    how(connection)
    connection.on_lost("gone")
    eventually(lambda: len(connector.connections) == 2 and client.broker)
    client.close()
    return changes(recorder)[2:5]


def test_a_connection_that_ends_with_a_redirect_is_followed_without_a_delay(connector: ScriptedConnector) -> None:
    def send_on(connection: Naming) -> None:
        connection.redirected_to = "localhost:3"

    assert losing(send_on, connector) == [
        ("lost", "a", "redirect"),
        ("attempt", "c", None),
        ("connected", "c", "redirect"),
    ]


def test_after_a_loss_the_broker_that_the_lost_one_named_is_tried_first(connector: ScriptedConnector) -> None:
    def prepare(connection: ScriptedConnection) -> None:
        assert isinstance(connection, Naming)
        connection.successors = ("localhost:3",)

    connector.script = [prepare]
    assert losing(lambda _: None, connector)[1] == ("attempt", "c", None)
