"""Declares the figures of messages: what became of each, by kind, by destination, and what was left behind."""

from typing import Annotated, TypedDict

from records.figures import Count, figure, in_ms, in_s, means, of_messages, titles


class Messages(TypedDict):
    """Counts of messages, not of attempts, over all phases and all subscriptions together.

    ``acked``, ``failed``, ``in_doubt`` and ``unconfirmed`` are by the best outcome of any attempt, and add up to
    ``sent``. ``received`` less ``unowed_yet_received``, and all of NOT_RECEIVED, add up to ``expected``.
    """

    sent: Annotated[Count, of_messages("Distinct messages attempted, warm-up included.")]
    acked: Annotated[Count, of_messages("Confirmed by a broker.")]
    failed: Annotated[
        Count, of_messages("Refused by a broker, or never written: its client had no connection in time, or gave up.")
    ]
    in_doubt: Annotated[Count, of_messages("The connection went, or its client left, before the broker's answer.")]
    unconfirmed: Annotated[Count, of_messages("Sent without asking for a confirmation.")]
    withheld: Annotated[
        Count,
        of_messages(
            "Due and never sent, as the brokers kept their producers waiting until the end.",
            title="more never sent, as the brokers kept producers waiting",
        ),
    ]
    expected: Annotated[
        Count, of_messages("Receptions that the sends ask for: one for each subscription of a message's destination.")
    ]
    received: Annotated[Count, of_messages("Seen at least once, counted once for each subscription.")]
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
        of_messages("Not received, and the time to live was over, by what brokers keep or count.", title="expired"),
    ]
    unselected: Annotated[
        Count,
        of_messages(
            "Confirmed, not received, left on a queue none of whose consumers selects it.",
            title="left on a queue as no selector matches",
        ),
    ]
    duplicated: Annotated[
        Count,
        of_messages("Deliveries beyond the first that the broker did not mark as redelivered.", title="duplicated"),
    ]
    duplicated_by_resend: Annotated[
        Count, of_messages("The part of the duplicated ones whose copies come from different attempts.")
    ]
    redelivered: Annotated[Count, of_messages("Deliveries that the broker marked as such.")]
    repeated: Annotated[Count, of_messages("The part of the redelivered ones beyond a message's first delivery.")]
    recovered: Annotated[Count, of_messages("In doubt, yet received.")]
    reordered: Annotated[
        Count,
        of_messages(
            "First deliveries after a later message of the same producer to the same consumer.", title="out of order"
        ),
    ]
    corrupted: Annotated[Count, of_messages("Received with a body that is not as it was sent.", title="corrupted")]
    unexpected: Annotated[
        Count, of_messages("Received, but no send is on record.", title="received without a known send")
    ]
    unknown_attempts: Annotated[
        Count,
        of_messages(
            "Deliveries of an attempt that is not on record, of messages that are. They are no duplicates.",
            title="received as an attempt without a known send",
        ),
    ]
    foreign: Annotated[Count, of_messages("Received, but not sent by this run.", title="foreign")]
    unaccounted: Annotated[
        Count,
        of_messages("Never received, found nowhere, and not every place could be searched.", title="unaccounted for"),
    ]
    missed_away: Annotated[
        Count,
        of_messages(
            "Sent to a topic while a subscriber without a durable subscription was away: nobody owed them.",
            title="missed by subscribers that were away",
        ),
    ]
    missing_unconfirmed: Annotated[
        Count,
        of_messages(
            "Unconfirmed, never received, found nowhere: nobody promised them.", title="unconfirmed and missing"
        ),
    ]
    refused_yet_received: Annotated[
        Count, of_messages("Refused by a broker, yet received.", title="received though refused")
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
            "Refused or never written, and not received, for each subscription.",
            title="refused by a broker, or never written to one",
        ),
    ]
    in_doubt_not_received: Annotated[
        Count, of_messages("In doubt, and not received, for each subscription.", title="in doubt and not received")
    ]
    unowed_yet_received: Annotated[
        Count,
        of_messages(
            "Received by a subscription that the sends do not ask for.",
            title="received by subscriptions that were not owed them",
        ),
    ]


class KindCounts(TypedDict):
    """Messages of one kind, all phases; a message of a topic counts once for each subscription.

    ``received`` less ``unowed_yet_received``, ``undelivered``, ``missed_away``, ``unselected``,
    ``failed_not_received`` and ``in_doubt_not_received`` add up to ``expected``.
    """

    subscriptions: Annotated[
        Count, figure("Queues, or subscriptions, that there were.", column="Queues or subscriptions")
    ]
    expected: Annotated[Count, of_messages("Sent, whatever came of the send.", column="Sent")]
    acked: Annotated[Count, of_messages("Confirmed by a broker. Non-persistent messages are not.", column="Confirmed")]
    received: Annotated[Count, of_messages("Seen at least once.", column="Received")]
    undelivered: Annotated[
        Count,
        of_messages(
            "Confirmed or unconfirmed, owed and not received: lost, missing_unconfirmed, pending, unaccounted, "
            "dead letters and expired ones."
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
            "Never received, found nowhere, and not every place could be searched.",
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
        of_messages("Confirmed, not received, found on a queue none of whose consumers has a selector that matches."),
    ]
    failed_not_received: Annotated[Count, of_messages("Their send failed, and they were not received.")]
    in_doubt_not_received: Annotated[Count, of_messages("In doubt, and not received.")]
    unowed_yet_received: Annotated[
        Count,
        of_messages(
            "Received and not expected, as in messages. received without these, and undelivered, missed_away, "
            "unselected, failed_not_received and in_doubt_not_received add up to expected.",
            column="Received beyond",
        ),
    ]
    duplicated: Annotated[
        Count,
        of_messages("Deliveries beyond the first that the broker did not mark as redelivered.", column="Duplicated"),
    ]
    redelivered: Annotated[Count, of_messages("Deliveries that the broker marked as such.")]


class LeftBehind(TypedDict):
    """Messages on one queue of one broker that have one outcome."""

    queue: Annotated[str, figure("Of a durable subscription its name, on Artemis CLIENT ID.NAME.", column="Queue")]
    broker: Annotated[str, figure("", column="Broker")]
    outcome: Annotated[
        str,
        means(
            "stranded, unselected, dead_lettered, expired: as in messages. left_unconfirmed, in_doubt, failed: by"
            " the outcome of their sends, and not received. unsent: no send is on record. copy: received, or found"
            " elsewhere too."
        ),
    ]
    messages: Annotated[Count, of_messages("How many there are.", column="Messages")]


class FirstReceiptSpread(TypedDict):
    """Milliseconds from when a destination's first message was due to its first receipt."""

    p50: Annotated[float | None, figure("Of the middle destination. Null: none had a receipt.", column="p50")]
    max: Annotated[float | None, figure("Of the slowest destination that had one.", column="max")]


class Destinations(TypedDict):
    """Destinations that messages were sent to, in all phases."""

    count: Annotated[Count, figure("How many there are.", column="Destinations")]
    reached: Annotated[Count, figure("Those of which a message was received.", column="With a received message")]
    all_flow_s: Annotated[
        float | None,
        in_s(
            "Seconds from when the run's first message was due until each destination had its first receipt. "
            "Null: one never had.",
            column="All had one after",
            decimals=2,
        ),
    ]
    first_ms: Annotated[
        FirstReceiptSpread,
        in_ms(
            "Milliseconds from when a destination's first message was due to its first receipt.",
            column="First message,",
            decimals=2,
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
"""What becomes of a (message, subscription) of ``expected`` that is not received: one of these counts of `Messages`, in
words."""

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
"""Counts of what was received, or was never sent, in words. A message may be in several of them, or in none."""

KINDS = tuple(
    f"{kind}_{mode}" for kind in ("queue", "topic", "durable_topic") for mode in ("persistent", "non_persistent")
)
"""The kinds of messages: of a queue, a topic or durable subscriptions, by JMS's delivery mode."""
