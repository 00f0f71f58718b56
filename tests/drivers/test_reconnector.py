"""Checks that connection attempts and ends are recorded once, with a reason, and when no further attempt is made."""

import threading
from collections.abc import Callable
from functools import partial
from itertools import cycle

import pytest

from drivers.contract import ConnectFailed, Connection, DriverError, OnLost, Redirected, Refused, TurnedAway, Untrusted
from drivers.failover.client_connection import ClientConnection
from drivers.failover.reconnector import (
    ConnectionAttempts,
    ConnectionEnder,
    Failure,
    RetryIsUselessError,
    close_reason,
    warning_pass_count,
)
from drivers.failover.uri import FailoverOptions, FailoverUri, ServerUri
from records.tables.connection_events import Cause, ConnectionEvent
from tests.drivers.doubles import UnconnectedClient, stomp_uri

URI = FailoverUri.parse(stomp_uri("ab"))
A, B = URI.servers


class Tries(UnconnectedClient):
    """ConnectionAttempts with a broker that gives scripted answers, and their recorded rows."""

    def __init__(self, *answers: Exception) -> None:
        super().__init__(clock([7, 9]))
        self._answers = list(answers)
        self.attempts = ConnectionAttempts(self, lambda connection, reason: None)

    def fail(self, server: ServerUri, *, ever_connected: bool = True) -> Failure:
        connection, failure = self.attempts.make(server, ever_connected=ever_connected)
        assert connection is None
        return failure

    def connect(self, server: ServerUri, on_lost: OnLost) -> Connection:
        raise self._answers.pop(0)


def clock(times: list[int]) -> Callable[[], int]:
    """Returns these times one after the other, repeatedly."""
    return partial(next, cycle(times))


def failed(server: ServerUri, reason: str, cause: Cause) -> ConnectionEvent:
    return ConnectionEvent(str(server), "attempt", 7, reason, cause=cause, ended_ns=9)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ConnectFailed("is not up"), Failure("is not up", cause=Cause.UNREACHABLE)),
        (Redirected("is full", "localhost:2"), Failure("is full", "localhost:2", Cause.REDIRECT)),
        (TimeoutError(), Failure("TimeoutError", cause=Cause.UNREACHABLE)),
        (TurnedAway("is about to stop"), Failure("is about to stop", cause=Cause.REFUSED)),
        (Refused("wrong password"), Failure("wrong password", cause=Cause.REFUSED)),
        (Untrusted("expired"), Failure("expired", cause=Cause.UNTRUSTED)),
    ],
)
def test_a_failed_attempt_is_recorded_with_its_end_its_cause_and_its_reason(error: Exception, failure: Failure) -> None:
    tries = Tries(error)
    assert tries.fail(A) == failure
    assert failure.cause
    assert tries.rows == [failed(A, failure.reason, failure.cause)]


@pytest.mark.parametrize(
    ("error", "cause"), [(Refused("wrong password"), Cause.REFUSED), (Untrusted("expired"), Cause.UNTRUSTED)]
)
def test_a_refusal_before_the_first_connection_is_the_end_and_recorded_too(error: DriverError, cause: Cause) -> None:
    tries = Tries(error)
    with pytest.raises(RetryIsUselessError, match=str(error)):
        tries.fail(A, ever_connected=False)
    assert tries.rows == [failed(A, str(error), cause)]


def test_trust_is_at_its_end_once_each_broker_was_doubted_when_last_tried() -> None:
    tries = Tries(Untrusted("expired"), Untrusted("of another host"), ConnectFailed("is not up"))
    tries.fail(A)
    tries.attempts.require_trust(URI)
    tries.fail(B)
    with pytest.raises(RetryIsUselessError, match=r"no broker of .* is trusted any longer: expired"):
        tries.attempts.require_trust(URI)
    tries.fail(A)
    tries.attempts.require_trust(URI)


def test_only_what_no_frame_holds_is_not_to_be_sent_again() -> None:
    tries, lost = Tries(), ClientConnection("a")
    lost.reason = "reset by peer"
    tries.attempts.refuse_to_repeat(lost)
    lost.reason = "The maximum frame size was exceeded"
    with pytest.raises(RetryIsUselessError, match="send smaller bodies"):
        tries.attempts.refuse_to_repeat(lost)


@pytest.mark.parametrize(
    ("interval", "before", "now", "words"),
    [
        (3, 0, 1, "1 pass"),
        (3, 1, 2, ""),
        (3, 2, 3, "3 passes"),
        (3, 3, 3, ""),  # the same pass goes on
        (0, 0, 1, ""),
        (-1, 0, 1, ""),
    ],
)
def test_the_first_failed_pass_and_each_nth_are_worth_a_warning(
    interval: int, before: int, now: int, words: str
) -> None:
    assert warning_pass_count(FailoverOptions(warn_after_reconnect_attempts=interval), before, now) == words


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
    ("problem", "in_doubt", "words"),
    [
        ("", 0, ""),
        ("", 1, "1 message is in doubt"),
        ("", 2, "2 messages are in doubt"),
        ("no answer to the goodbye within 5.0 s", 0, "no answer to the goodbye within 5.0 s"),
        ("the broker hung up", 2, "the broker hung up; 2 messages are in doubt"),
    ],
)
def test_the_last_row_tells_of_the_goodbye_and_of_the_doubt(problem: str, in_doubt: int, words: str) -> None:
    assert close_reason(problem, in_doubt) == words
