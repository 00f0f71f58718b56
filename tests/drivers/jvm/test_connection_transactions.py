"""What does a Java connection make of a transaction as its JVM tells it? No JVM here: answers are given by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from drivers.contract import Destination, Outcome, Outgoing
from drivers.jvm.hub import Answer
from drivers.jvm.transactions import JavaTransaction
from drivers.transactions import ABORTED

ORDERS = Destination("queue", "orders")
NUMBER, AT_NS = 5, 1_000


class Jvm:
    """Stands for the connection and its JVM's transactions; answers at once."""

    def __init__(self) -> None:
        self.settled: list[tuple[object, Outcome, int, str]] = []
        self.put_answers: list[tuple[Any, ...]] = []
        self.on_end: Callable[[bool], None] = lambda commit: self.transaction.ended(AT_NS, "")
        self._answer = Answer()
        self.transaction = JavaTransaction(self, NUMBER, self, lambda *told: self.settled.append(told))

    def ask(self) -> tuple[int, Answer]:
        self._answer = Answer()
        return 1, self._answer

    def gone(self, words: str) -> ConnectionError:
        return ConnectionError(f"broker b: {words}")

    def put(self, request: int, number: int, message: int, *_what: object) -> None:
        assert (request, number) == (1, NUMBER)
        what, *values = self.put_answers.pop(0) if self.put_answers else ("written", request, AT_NS)
        self._answer.give(what, *values)

    def end(self, number: int, commit: bool) -> None:
        assert number == NUMBER
        self.on_end(commit)

    def send(self, *tokens: str) -> None:
        self.transaction.send_batch([Outgoing(ORDERS, b"", True, token) for token in tokens])

    def outcomes(self) -> list[tuple[object, Outcome, str]]:
        return [(token, outcome, reason) for token, outcome, _, reason in self.settled]


@pytest.fixture
def jvm() -> Jvm:
    return Jvm()


def test_all_are_acked_by_the_commit_and_by_nothing_before_it(jvm: Jvm) -> None:
    jvm.send("a", "b")
    assert jvm.settled == []
    jvm.transaction.commit()
    assert jvm.settled == [("a", Outcome.ACKED, AT_NS, ""), ("b", Outcome.ACKED, AT_NS, "")]


def test_all_have_failed_by_an_abort_or_a_commit_that_the_broker_refuses(jvm: Jvm) -> None:
    jvm.send("a")
    jvm.transaction.abort()
    other = Jvm()
    other.on_end = lambda commit: other.transaction.ended(AT_NS, "no room")
    other.send("b")
    other.transaction.commit()
    assert [*jvm.outcomes(), *other.outcomes()] == [("a", Outcome.FAILED, ABORTED), ("b", Outcome.FAILED, "no room")]


def test_a_message_that_is_refused_at_its_write_or_later_fails_alone(jvm: Jvm) -> None:
    jvm.put_answers = [("unwritten", 1, "too large", True)]
    jvm.send("a", "b", "c")
    jvm.transaction.refused(1, AT_NS, "no such place")
    jvm.transaction.commit()
    assert jvm.outcomes() == [
        ("a", Outcome.FAILED, "too large"),
        ("b", Outcome.FAILED, "no such place"),
        ("c", Outcome.ACKED, ""),
    ]


def test_a_write_that_broke_says_so_and_settles_nothing(jvm: Jvm) -> None:
    jvm.put_answers = [("unwritten", 1, "broken pipe", False)]
    with pytest.raises(ConnectionError, match="broker b: broken pipe"):
        jvm.send("a")
    assert jvm.settled == []


def test_an_end_that_nobody_answers_any_more_says_so_and_settles_nothing(jvm: Jvm) -> None:
    jvm.on_end = lambda commit: jvm.transaction.lost("rolled back, or not")
    jvm.send("a")
    with pytest.raises(ConnectionError, match="broker b: rolled back, or not"):
        jvm.transaction.commit()
    assert jvm.settled == []
