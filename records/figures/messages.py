"""Figures of messages: their outcomes, by kind and by destination, and the messages that were left behind."""

from typing import Annotated, TypedDict

from records.figures.declaration import Count, figure, in_ms, in_s, means, of_messages, titles


class Messages(TypedDict):
    """Counts of messages, not of attempts, over all phases and all subscriptions together.

    ``acked``, ``failed``, ``in_doubt`` and ``unconfirmed`` are by the best outcome of any attempt, and add up to
    ``sent``. ``received`` minus ``unowed_yet_received``, plus all counts in NOT_RECEIVED, add up to ``expected``.
    """

    sent: Annotated[Count, of_messages("Distinct messages attempted, warm-up included.")]
    acked: Annotated[Count, of_messages("Confirmed by a broker.")]
    failed: Annotated[
        Count, of_messages("Rejected by a broker, or never written: its client had no connection in time, or gave up.")
    ]
    in_doubt: Annotated[Count, of_messages("The connection broke, or the client left, before the broker answered.")]
    unconfirmed: Annotated[Count, of_messages("Sent without asking for a confirmation.")]
    withheld: Annotated[
        Count,
        of_messages(
            "Due but never sent, because the brokers kept their producers waiting until the end.",
            title="more never sent, as the brokers kept producers waiting",
            from_due=True,
        ),
    ]
    expected: Annotated[
        Count, of_messages("Receptions that the sends require: one for each subscription of a message's destination.")
    ]
    received: Annotated[Count, of_messages("Received at least once, counted once for each subscription.")]
    lost: Annotated[Count, of_messages("Confirmed and expected, never received, found nowhere.", title="lost")]
    stranded: Annotated[
        Count, of_messages("Confirmed, not received, found on a queue after the drain.", title="left on a queue")
    ]
    dead_lettered: Annotated[
        Count,
        of_messages("Confirmed, not received, found on a dead-letter queue.", title="sent to a dead-letter queue"),
    ]
    expired: Annotated[
        Count,
        of_messages(
            "Not received, and the time to live was over, according to what brokers keep or count.", title="expired"
        ),
    ]
    unselected: Annotated[
        Count,
        of_messages(
            "Confirmed, not received, left on a queue where no consumer selects the message.",
            title="left on a queue as no selector matches",
        ),
    ]
    duplicated: Annotated[
        Count,
        of_messages("Deliveries after the first that the broker did not mark as redelivered.", title="duplicated"),
    ]
    duplicated_by_resend: Annotated[
        Count, of_messages("Duplicated deliveries whose copies come from different attempts.")
    ]
    redelivered: Annotated[Count, of_messages("Deliveries that the broker marked as redelivered.")]
    repeated: Annotated[Count, of_messages("Redelivered deliveries after a message's first delivery.")]
    recovered: Annotated[Count, of_messages("In doubt, but received.")]
    reordered: Annotated[
        Count,
        of_messages(
            "First deliveries that arrived after a later message from the same producer to the same consumer. Each "
            "stay of a durable subscriber counts as another consumer.",
            title="out of order",
        ),
    ]
    corrupted: Annotated[Count, of_messages("Received with a body that differs from the sent one.", title="corrupted")]
    unexpected: Annotated[
        Count, of_messages("Received, but no send is recorded.", title="received without a known send")
    ]
    unknown_attempts: Annotated[
        Count,
        of_messages(
            "Deliveries of an unrecorded attempt to send a recorded message. They are not duplicates.",
            title="received as an attempt without a known send",
        ),
    ]
    foreign: Annotated[Count, of_messages("Received, but not sent by this run.", title="foreign")]
    unaccounted: Annotated[
        Count,
        of_messages(
            "Never received and found nowhere, but some places could not be searched.", title="unaccounted for"
        ),
    ]
    missed_away: Annotated[
        Count,
        of_messages(
            "Sent to a topic while a subscriber without a durable subscription was away, so they were not owed.",
            title="missed by subscribers that were away",
        ),
    ]
    missing_unconfirmed: Annotated[
        Count,
        of_messages(
            "Unconfirmed, never received, found nowhere: no broker had promised them.", title="unconfirmed and missing"
        ),
    ]
    refused_yet_received: Annotated[
        Count, of_messages("Rejected by a broker, but received.", title="received though refused")
    ]
    expired_yet_received: Annotated[
        Count, of_messages("Received after the time to live was over.", title="received after the time to live")
    ]
    unselected_yet_received: Annotated[
        Count, of_messages("Received by a consumer whose selector does not match.", title="received against a selector")
    ]
    left_unconfirmed: Annotated[
        Count,
        of_messages(
            "Unconfirmed, not received, found on a queue after the drain.", title="unconfirmed and left on a queue"
        ),
    ]
    failed_not_received: Annotated[
        Count,
        of_messages(
            "Rejected or never written, and not received, for each subscription.",
            title="refused by a broker, or never written to one",
        ),
    ]
    in_doubt_not_received: Annotated[
        Count, of_messages("In doubt, and not received, for each subscription.", title="in doubt and not received")
    ]
    unowed_yet_received: Annotated[
        Count,
        of_messages(
            "Received by a subscription, although no send requires it.",
            title="received by subscriptions that were not owed them",
        ),
    ]


class KindCounts(TypedDict):
    """Messages of one kind, all phases; a message to a topic counts once for each subscription.

    ``received`` minus ``unowed_yet_received``, plus ``undelivered``, ``missed_away``, ``unselected``,
    ``failed_not_received`` and ``in_doubt_not_received``, add up to ``expected``.
    """

    subscriptions: Annotated[Count, figure("Number of queues or subscriptions.", column="Queues or subscriptions")]
    expected: Annotated[Count, of_messages("Sent, regardless of the outcome of the send.", column="Sent")]
    acked: Annotated[
        Count, of_messages("Confirmed by a broker. Non-persistent messages are never confirmed.", column="Confirmed")
    ]
    received: Annotated[Count, of_messages("Received at least once.", column="Received")]
    undelivered: Annotated[
        Count,
        of_messages(
            "Confirmed or unconfirmed, owed and not received: lost, missing_unconfirmed, pending, unaccounted, "
            "dead-lettered and expired."
        ),
    ]
    lost: Annotated[
        Count, of_messages("Confirmed, owed, never received, found nowhere.", column="Confirmed and lost", title="lost")
    ]
    missing_unconfirmed: Annotated[
        Count,
        of_messages(
            "Unconfirmed, owed, never received, found nowhere.",
            column="Unconfirmed and missing",
            title="unconfirmed and missing",
        ),
    ]
    pending: Annotated[
        Count,
        of_messages(
            "Confirmed or unconfirmed, not received, found on a queue, or held for a durable subscription.",
            column="Pending",
            title="pending on a broker",
        ),
    ]
    unaccounted: Annotated[
        Count,
        of_messages(
            "Never received and found nowhere, but some places could not be searched.",
            column="Unaccounted for",
            title="unaccounted for",
        ),
    ]
    missed_away: Annotated[
        Count,
        of_messages("Sent while a subscriber without a durable subscription was away: not owed.", column="Not owed"),
    ]
    unselected: Annotated[
        Count,
        of_messages("Confirmed, not received, found on a queue where no consumer has a selector that matches."),
    ]
    failed_not_received: Annotated[Count, of_messages("The send failed, and the message was not received.")]
    in_doubt_not_received: Annotated[Count, of_messages("In doubt, and not received.")]
    unowed_yet_received: Annotated[
        Count,
        of_messages(
            "Received and not expected, as in messages. received minus this count, plus undelivered, "
            "missed_away, unselected, failed_not_received and in_doubt_not_received, add up to expected.",
            column="Received beyond",
        ),
    ]
    duplicated: Annotated[
        Count,
        of_messages("Deliveries after the first that the broker did not mark as redelivered.", column="Duplicated"),
    ]
    redelivered: Annotated[Count, of_messages("Deliveries that the broker marked as redelivered.")]


class LeftBehind(TypedDict):
    """Messages on one queue of one broker that have the same outcome."""

    queue: Annotated[str, figure("For a durable subscription, its name; on Artemis CLIENT ID.NAME.", column="Queue")]
    broker: Annotated[str, figure("", column="Broker")]
    outcome: Annotated[
        str,
        means(
            "stranded, unselected, dead_lettered, expired: as in messages. left_unconfirmed, in_doubt, failed: "
            "by the outcome of the send, and not received. unsent: no send is recorded. copy: also received,"
            " or also found elsewhere."
        ),
    ]
    messages: Annotated[Count, of_messages("Number of messages.", column="Messages")]


class FirstReceiptSpread(TypedDict):
    """Milliseconds from the due time of a destination's first message to the first receipt."""

    p50: Annotated[float | None, figure("The median destination. Null: no destination had a receipt.", column="p50")]
    max: Annotated[float | None, figure("The slowest destination with a receipt.", column="max")]


class Destinations(TypedDict):
    """Destinations that messages were sent to, in all phases."""

    count: Annotated[Count, figure("Number of destinations.", column="Destinations")]
    reached: Annotated[
        Count, figure("Destinations with at least one received message.", column="With a received message")
    ]
    all_flow_s: Annotated[
        float | None,
        in_s(
            "Seconds from the due time of the run's first message until each destination had its first receipt. "
            "Null: a destination never had a receipt.",
            column="All had one after",
            decimals=2,
            from_due=True,
        ),
    ]
    first_ms: Annotated[
        FirstReceiptSpread,
        in_ms(
            "Milliseconds from the due time of a destination's first message to the first receipt.",
            column="First message,",
            decimals=2,
            from_due=True,
        ),
    ]


NOT_RECEIVED = titles(
    Messages,
    "failed_not_received",
    "lost",
    "unaccounted",
    "missed_away",
    "stranded",
    "left_unconfirmed",
    "dead_lettered",
    "expired",
    "unselected",
    "missing_unconfirmed",
    "in_doubt_not_received",
)
"""The possible outcomes of a (message, subscription) in ``expected`` that is not received: the names and titles of
these counts of `Messages`."""

BESIDE = titles(
    Messages,
    "duplicated",
    "reordered",
    "corrupted",
    "unexpected",
    "unknown_attempts",
    "refused_yet_received",
    "expired_yet_received",
    "unselected_yet_received",
    "unowed_yet_received",
    "withheld",
)
"""Counts of messages that were received, or never sent, with their titles. A message may be in several of them, or
in none."""

KINDS = tuple(
    f"{kind}_{mode}" for kind in ("queue", "topic", "durable_topic") for mode in ("persistent", "non_persistent")
)
"""The kinds of messages: to a queue, a topic or durable subscriptions, by JMS delivery mode."""
