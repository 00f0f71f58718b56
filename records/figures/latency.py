"""Figures of latency and their reliability, and the largest tolerated difference between two latencies."""

from collections.abc import Iterable
from typing import Annotated, TypedDict

from records.figures.declaration import LOWER, REPLIES, Figure, figure, in_ms, means, of_messages, per_s
from records.run import CONSUMER, PRODUCER, UserInfo

MOST_LABELS = 100
"""The most destinations of a run that have separate latencies."""

PERCENTILES = {
    "min": "smallest",
    "p50": "p50",
    "p90": "p90",
    "p99": "p99",
    "p99_9": "p99.9",
    "p99_99": "p99.99",
    "max": "largest",
}
"""The titles of the figures of a latency."""


class Latency(TypedDict):
    """Milliseconds, load phase. Percentiles are exact to 0.4 % (`records.figures.buckets`).

    ``min`` and ``max`` are exact.

    A percentile with fewer than ten messages beyond it is null: p99 needs 1,000 messages.
    """

    count: Annotated[int, of_messages("Number of measured durations.", column="Messages")]
    negative: Annotated[
        int, of_messages("Number of durations below 0, which come from clocks of two processes that disagree.")
    ]
    min: Annotated[float | None, in_ms("The smallest duration.", column="Min", decimals=2)]
    p50: Annotated[float | None, in_ms("Half of the durations are at most this.", column="p50", decimals=2)]
    p90: Annotated[float | None, in_ms("Nine tenths of the durations are at most this.", column="p90", decimals=2)]
    p99: Annotated[float | None, in_ms("99 % of the durations are at most this.", column="p99", decimals=2)]
    p99_9: Annotated[float | None, in_ms("99.9 % of the durations are at most this.", column="p99.9", decimals=2)]
    p99_99: Annotated[float | None, in_ms("99.99 % of the durations are at most this.", column="p99.99", decimals=2)]
    max: Annotated[float | None, in_ms("The largest duration.", column="Max", decimals=1)]


class LatencyByLabel(TypedDict):
    """Latency from due to received by consumer class and by destination, in the load. Checks name one of them by its
    label: ``latency_ms.due_to_received.p99{OrderConsumer} < 50``."""

    consumer_classes: Annotated[
        dict[str, Latency], means("By the name of the consumers' class. Each copy of a topic's message counts.")
    ]
    destinations: Annotated[
        dict[str, Latency],
        means(f"By the destination that producers sent to; empty if there are more than {MOST_LABELS}."),
    ]


def labels_of(users: Iterable[UserInfo]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the consumer classes and the destinations of a run that have separate latencies."""
    listed = [*users]
    classes = tuple(user.name for user in listed if user.role == CONSUMER)
    sent = (name for user in listed for name in (user.destinations if user.role == PRODUCER else user.replies_to))
    destinations = tuple(dict.fromkeys(sent))
    return classes, destinations if len(destinations) <= MOST_LABELS else ()


class Regions(TypedDict):
    """Latency from due to received by regions: for messages received in the region of the broker that accepted them,
    and for messages that crossed regions. Brokers without a region share one unnamed region."""

    within: Annotated[
        Latency, figure("For messages received in the region of the broker that accepted them.", from_due=True)
    ]
    across: Annotated[Latency, figure("For messages received in another region.", from_due=True)]
    across_per_s: Annotated[
        float | None,
        per_s(
            "Messages per second that crossed regions and were received in the load. Null if the length of "
            "the load is unknown."
        ),
    ]


class Lag(TypedDict):
    """Milliseconds by which the generator itself delayed sends: first attempts, load phase.

    Waiting for a connection, a confirmation, a commit or a blocked write does not count as lag. Lag never makes a run
    invalid: timing lists the figures that it makes doubtful.
    """

    p50: Annotated[float | None, in_ms("Half of the sends were late by at most this.")]
    p99: Annotated[float | None, in_ms("99 % of the sends were late by at most this.")]
    p99_9: Annotated[float | None, in_ms("99.9 % of the sends were late by at most this.")]
    max: Annotated[float | None, in_ms("The latest send was late by this.")]
    blocked_slots: Annotated[
        int | None, figure("Messages that were due while a producer was kept waiting by its broker.", from_due=True)
    ]


class Timing(TypedDict):
    """The sound and the doubtful latency figures. Timing never makes a run invalid."""

    sound: Annotated[
        list[str], means("Figures to rely on, by the names that checks use: latency_ms.due_to_received.p99.")
    ]
    doubtful: Annotated[
        dict[str, str],
        means(
            "Figures not to rely on, each with its reason. A check on one of them is unknown. Outages, recovery"
            " times and latencies by region are listed here too if they result from a backlog that the brokers "
            "did not cause."
        ),
    ]
    less_own_time_ms: Annotated[
        dict[str, float | None],
        in_ms(
            "Due to received, minus the generator's own delay. The delay is the lag of sends and the lateness "
            "of reads. A figure of due_to_received is doubtful if it differs from this value by more than the "
            "larger of a tenth and 0.2 ms. The other measures are judged in the same way, by the lateness of "
            "reads alone.",
            keys=PERCENTILES,
            from_due=True,
        ),
    ]
    note: Annotated[str, means("One sentence on which figures not to rely on, and why; empty if all are sound.")]


def _compared(words: str) -> dict[str, str]:
    return {name: f"{words} {percentile}" for name, percentile in PERCENTILES.items()}


MEASURES = {
    "due_to_received": Figure(
        "From a message's due time to its first receipt: the latency that a caller experiences.",
        title="latency",
        column="due → received",
        better=LOWER,
        from_due=True,
        compared=_compared("latency"),
        shown=("p50", "p99", "p99_9"),
    ),
    "sent_to_received": Figure(
        "From the send of a message to its first receipt.",
        title="sent to received",
        column="sent → received",
        better=LOWER,
        compared=_compared("sent to received"),
    ),
    "sent_to_settled": Figure(
        "From the send of a message until a broker confirmed it.",
        title="sent to confirmed",
        column="sent → confirmed",
        better=LOWER,
        compared=_compared("sent to confirmed"),
    ),
    "round_trip": Figure(
        "From a request's due time until its reply was received. Only for runs with replies.",
        title="round trip",
        column="round trip",
        better=LOWER,
        needs=REPLIES,
        from_due=True,
    ),
}
"""The measured durations."""


TOLERATED_SHARE = 0.1
TOLERATED_MS = 0.2


def tolerance_ms(value_ms: float) -> float:
    """Return the larger of a tenth of a figure and 0.2 ms."""
    return max(TOLERATED_SHARE * abs(value_ms), TOLERATED_MS)


def differs(value_ms: float, other_ms: float) -> bool:
    """Whether ``other_ms`` is farther from ``value_ms`` than the tolerance of ``value_ms``."""
    return abs(value_ms - other_ms) > tolerance_ms(value_ms)
