"""Checks that the end of a connection is recorded once, with its reason."""

import threading

import pytest

from drivers.failover.client_connection import ClientConnection
from drivers.failover.reconnector import ConnectionEnder, last_words
from records.connection_events import Cause, ConnectionEvent
from tests.drivers.doubles import UnconnectedClient


class Ends(UnconnectedClient):
    """A client that keeps rows of the connections table, and the connections that were dropped."""

    def __init__(self) -> None:
        super().__init__(lambda: 7)
        self.calls: list[str] = []  # both, in their order
        self.parting = ConnectionEnder(self, threading.Condition(), timeout_s=5.0)

    def record(self, event: ConnectionEvent) -> None:
        super().record(event)
        self.calls.append(event.event)

    def dropped(self, connection: ClientConnection) -> None:
        self.calls.append(f"dropped {connection.broker}")


def lost_connection() -> ClientConnection:
    connection = ClientConnection("a")
    connection.alive, connection.gone, connection.reason, connection.lost_ns = False, True, "reset by peer", 3
    return connection


def test_a_lost_connection_is_recorded_as_of_its_loss_and_once() -> None:
    ends, connection = Ends(), lost_connection()
    ends.parting.ended(connection)
    ends.parting.ended(connection, "closed too late")
    assert ends.rows == [ConnectionEvent("a", "lost", 3, "reset by peer", cause=Cause.LOST)]


def test_a_connection_that_still_lived_was_closed_by_us() -> None:
    ends, connection = Ends(), ClientConnection("a")
    ends.parting.ended(connection, "1 message is in doubt")
    assert ends.rows == [ConnectionEvent("a", "closed", 7, "1 message is in doubt", cause=Cause.CLOSED)]
    assert not connection.alive


def test_what_is_open_on_a_dropped_link_is_in_doubt_after_its_end_was_recorded() -> None:
    ends, connection = Ends(), lost_connection()
    ends.parting.drop(connection)
    assert ends.calls == ["lost", "dropped a"]


@pytest.mark.parametrize(
    ("problem", "in_doubt", "told"),
    [
        ("", 0, ""),
        ("", 1, "1 message is in doubt"),
        ("", 2, "2 messages are in doubt"),
        ("no answer to the goodbye within 5.0 s", 0, "no answer to the goodbye within 5.0 s"),
        ("the broker hung up", 2, "the broker hung up; 2 messages are in doubt"),
    ],
)
def test_the_last_row_tells_of_the_goodbye_and_of_the_doubt(problem: str, in_doubt: int, told: str) -> None:
    assert last_words(problem, in_doubt) == told
