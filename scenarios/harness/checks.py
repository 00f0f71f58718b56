"""The checks that a scenario can demand. Each is a plain value over the figures of summary.json.

One of a count or a kind that no run has raises ValueError.
"""

from records.checks import Check
from records.declared_types import fits
from records.messages import KINDS
from topologies.model.spelling import nearest


def no_acked_send_lost() -> Check:
    """Every message that a broker confirmed was received, or found where it waits."""
    return Check("no acked send lost", "messages.lost", at_most=0)


def each_delivered(kind: str) -> Check:
    """Every message of a kind, such as ``"queue_persistent"``, that a subscription was owed has reached it."""
    if kind not in KINDS:
        raise ValueError(
            f"each_delivered({kind!r}): no kind of messages has this name"
            + (nearest(str(kind), list(KINDS)) or f"; write one of {', '.join(KINDS)}")
        )
    return Check(f"each delivered: {kind.replace('_', ' ')}", f"kinds.{kind}.undelivered", at_most=0)


def none_stranded() -> Check:
    """After the drain nothing of ours is left on a queue or a dead-letter queue, not even what no selector matches."""
    return Check("none stranded", "leftovers", at_most=0)


def duplicates_at_most(count: int) -> Check:
    """No more than ``count`` deliveries beyond the first that the broker did not announce as redelivered."""
    _require_count("duplicates_at_most", count)
    return Check(f"duplicates at most {count}", "messages.duplicated", at_most=count)


def somebody_cut_off() -> Check:
    """A premise: a client lost its connection by a fault. One that only waited for its broker does not count.

    A short ``freeze`` cuts nobody off: a client first has to notice the silence.
    """
    return Check("a client that a fault cut off", "recovery.cut_off", at_least=1)


def sends_in_flight() -> Check:
    """A premise: a client lost its connection while a send was not answered yet."""
    return Check("a send in flight", "recovery.in_flight", at_least=1)


def none_expired() -> Check:
    """No message's time to live was over before a consumer got it."""
    return expired_at_most(0)


def expired_at_most(count: int) -> Check:
    """No more than ``count`` messages expired, by what the brokers keep or count."""
    _require_count("expired_at_most", count)
    return Check(f"expired at most {count}", "messages.expired", at_most=count)


def none_after_its_time_to_live() -> Check:
    """No consumer got a message after its time to live. What it waited in the consumer's prefetch counts.

    With ``work_ms``, or if the load generator stood still, it may be too late though the broker was in time.
    """
    return Check("none after its time to live", "messages.expired_yet_received", at_most=0)


def every_selected_message_received() -> Check:
    """No acknowledged message is left on a queue that the selector of one of its consumers matches."""
    return Check("every selected message received", "messages.stranded", at_most=0)


def none_against_a_selector() -> Check:
    """No consumer got a message that its selector does not match."""
    return Check("none against a selector", "messages.unselected_yet_received", at_most=0)


def every_client_back() -> Check:
    """Every client that a fault cut off sent or received again, or was ready again and had nothing due."""
    return Check("every client back", "recovery.never_back", at_most=0)


def none_corrupted() -> Check:
    """Every body arrived as it was sent."""
    return Check("none corrupted", "messages.corrupted", at_most=0)


def no_send_refused() -> Check:
    """Brokers confirmed or lost the connection over a durable send, but never said no to one."""
    return Check("no send refused", "messages.failed", at_most=0)


def every_send_answered() -> Check:
    """Every durable send was answered at last, in one of its attempts."""
    return Check("every send answered", "messages.in_doubt", at_most=0)


def none_withheld() -> Check:
    """Brokers took every message that was due: no producer waited for them at the end with messages still to send."""
    return Check("none withheld", "messages.withheld", at_most=0)


def no_unconfirmed_send_missing() -> Check:
    """Every unconfirmed send was received, or was found on a queue."""
    return Check("no unconfirmed send missing", "messages.missing_unconfirmed", at_most=0)


def some_rate_held() -> Check:
    """A load in steps, or one that searches for the highest rate, held at least one of them."""
    return Check("some rate held", "throughput.held_per_s", at_least=0)


def some_clients_held() -> Check:
    """A load whose clients become more held at least one of them."""
    return Check("some clients held", "connections.held", at_least=1)


def _require_count(check: str, count: object) -> None:
    if not fits(count, int) or not count >= 0:  # type: ignore[operator]
        raise ValueError(f"{check}({count!r}): must be a whole number, 0 or more; write {check}(0), for instance")
