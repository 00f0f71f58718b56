"""The file behind updateURIsURL is read as the Java client reads it; what is wrong with it is told once."""

import logging
from pathlib import Path

import pytest

from drivers.failover.updated_uris import UpdatedUris
from drivers.failover.uri import FailoverUri, ServerUri
from tests.drivers.doubles import KeepingRecorder, ScriptedConnector, client_of, stomp_uri

BROKERS = {"a:1": "a", "b:2": "b", "c:3": "c"}
B, C = ServerUri("stomp", "b", 2), ServerUri("stomp", "c", 3)


def updated_uris(file: str, more: str = "") -> UpdatedUris:
    uri = FailoverUri.parse(f"failover:(stomp://a:1)?updateURIsURL={file}{more}")
    return UpdatedUris("client 1", uri, BROKERS)


def refreshed(file: Path, text: str, more: str = "") -> tuple[ServerUri, ...]:
    file.write_text(text)
    return updated_uris(file.as_uri(), more).refresh().updated


def test_the_file_is_a_list_with_commas_over_any_number_of_lines(tmp_path: Path) -> None:
    assert refreshed(tmp_path / "list", "stomp://b:2,stom\np://c:3,,stomp://b:2\n") == (B, C)


def test_a_path_is_a_url_too(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("stomp://c:3")
    assert updated_uris(str(tmp_path / "list")).refresh().updated == (C,)


def test_an_empty_file_or_one_that_went_leaves_the_list_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text("stomp://b:2")
    updating = updated_uris(file.as_uri())
    assert updating.refresh().updated == (B,)
    file.write_text("\n")
    assert updating.refresh().updated == (B,)
    file.unlink()
    assert updating.refresh().updated == (B,)


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
            assert updating.refresh().updated == (B,)
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 3
    assert warnings[0] == "client 1: updateURIsURL: z:9 is no broker of this run; this entry is left out"


def test_a_client_attempts_the_brokers_of_the_file_first(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("stomp://localhost:3")
    recorder = KeepingRecorder()
    options = f"randomize=false&updateURIsURL={(tmp_path / 'list').as_uri()}"
    client = client_of(ScriptedConnector(OSError("no")), recorder, stomp_uri("ab", options))
    client.open()
    client.close()
    assert recorder.events()[:3] == [("attempt", "c"), ("attempt", "a"), ("connected", "a")]
