"""Declares the figures of links between brokers: how far mirrors lagged behind."""

from typing import Annotated, TypedDict

from records.figures import Count, Positive, in_s, means, of_messages


class MirrorMessages(TypedDict):
    """What a broker had queued for its copy: sends, acknowledgements and new queues. Null without a mirror."""

    max: Annotated[Count | None, of_messages("The most at any time.")]


class MirrorSeconds(TypedDict):
    """No message in that queue was older; the oldest is younger by the time between two samples at most. Null without a
    mirror, or if it is not known how old one message was.
    """

    max: Annotated[Positive | None, in_s("The oldest at any time.")]


class MirrorAtKill(TypedDict):
    """How far a mirror lagged when its broker was killed, by the last sample before."""

    fault: Annotated[str, means("F1, F2 … as in recovery.faults.")]
    broker: Annotated[str, means("The broker that was killed.")]
    link: Annotated[str, means("Its mirror.")]
    sampled_s: Annotated[float, in_s("When that sample was taken, in seconds from the start of the load.")]
    lag_messages: Annotated[Count, of_messages("What was queued for the mirror then.")]
    lag_s: Annotated[Positive | None, in_s("How old the oldest of it was at most. Null: not known.")]


class Mirror(TypedDict):
    """How far Artemis mirrors lagged behind in the load and after it, sampled once a second."""

    lag_messages: Annotated[
        MirrorMessages,
        means("What a broker had queued for its copy: sends, acknowledgements and new queues. Null without a mirror."),
    ]
    lag_s: Annotated[
        MirrorSeconds,
        means(
            "No message in that queue was older; the oldest is younger by the time between two samples at most. "
            "Null without a mirror, or if it is not known how old one message was."
        ),
    ]
    at_kill: Annotated[list[MirrorAtKill], means("Each mirror whose broker a fault killed, by the last sample before.")]
