"""Figures of links between brokers: their traffic, and the lag of mirrors."""

from typing import Annotated, TypedDict

from records.figures.declaration import LOWER, Count, Positive, in_s, means, of_messages, per_s


class LinkTraffic(TypedDict):
    """Traffic of all links. Null without links, or if a link's counters are not known."""

    messages_per_s: Annotated[
        Positive | None,
        per_s("Mean rate over the load of messages that crossed links; a message that crosses two links counts twice."),
    ]
    advisories_per_s: Annotated[
        Positive | None,
        per_s(
            "Mean rate over the load of advisories on links: about consumers and temporary destinations. Null also for "
            "links of Artemis.",
            title="advisories per second on links",
            better=LOWER,
            compared=True,
        ),
    ]
    advisories: Annotated[
        Count | None,
        of_messages(
            "Number of these advisories in the whole run.",
            title="advisories on links",
            better=LOWER,
            compared=True,
        ),
    ]


class MirrorMessages(TypedDict):
    """Sends, acknowledgments and new queues that a broker had queued for its mirror. Null without a mirror."""

    max: Annotated[Count | None, of_messages("The highest number at any time.")]


class MirrorSeconds(TypedDict):
    """Upper limit of the age of messages in that queue; the oldest message is younger by at most the time between two
    samples. Null without a mirror, or if a message's age is not known."""

    max: Annotated[Positive | None, in_s("The highest age at any time.")]


class MirrorAtKill(TypedDict):
    """A mirror's lag when its broker was killed, by the last sample before the kill."""

    fault: Annotated[str, means("F1, F2 …, as in recovery.faults.")]
    broker: Annotated[str, means("The broker that was killed.")]
    link: Annotated[str, means("The mirror of that broker.")]
    sampled_s: Annotated[float, in_s("When the sample was taken, in seconds from the start of the load.")]
    lag_messages: Annotated[Count, of_messages("Number of messages that were queued for the mirror at that time.")]
    lag_s: Annotated[Positive | None, in_s("Upper limit of the age of the oldest of them. Null: not known.")]


class MirrorResult(TypedDict):
    """The lag of Artemis mirrors during the load and after it, sampled once per second."""

    lag_messages: Annotated[
        MirrorMessages,
        means("Sends, acknowledgments and new queues that a broker had queued for its mirror. Null without a mirror."),
    ]
    lag_s: Annotated[
        MirrorSeconds,
        means(
            "Upper limit of the age of messages in that queue; the oldest message is younger by at most the "
            "time between two samples. Null without a mirror, or if a message's age is not known."
        ),
    ]
    at_kill: Annotated[
        list[MirrorAtKill], means("Each mirror whose broker a fault killed, by the last sample before the kill.")
    ]
