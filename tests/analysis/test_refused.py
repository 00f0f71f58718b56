"""Checks which broker's count includes a refused message."""

from analysis.messages.deliveries import messages
from analysis.messages.left_behind import count_rejected
from tests.analysis.rows import Row, frame, send


def by_broker(*sends: Row) -> dict[str, int]:
    attempts = frame("sends", sends)
    return {row["broker"]: row["messages"] for row in count_rejected(attempts, messages(attempts)).to_dicts()}


def test_a_refused_message_counts_for_the_broker_of_its_last_attempt() -> None:
    assert by_broker(
        send(1, outcome="failed", broker="a"),
        send(2, outcome="failed", broker="b"),
        send(3, outcome="failed", broker="a"),
        send(3, outcome="failed", broker="b", attempt=2),
        send(4, outcome="acked", broker="a"),
    ) == {"a": 1, "b": 2}


def test_retried_and_never_written_messages_do_not_count_as_refused() -> None:
    """Another attempt of the retried message succeeded."""
    assert by_broker(send(1, outcome="failed"), send(1, attempt=2), send(2, outcome="failed", broker="")) == {}
