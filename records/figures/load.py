"""Figures of the load: rates, steps, and what limited them."""

from typing import Annotated, TypedDict

from records.figures.declaration import HIGHER, LOWER, STEPS, figure, in_ms, in_s, means, of_messages, per_s
from records.figures.latency import Latency


class Throughput(TypedDict):
    """Messages per second over the load phase, and milliseconds of CPU per message."""

    due_per_s: Annotated[
        float | None,
        per_s(
            "Messages that were due in the load, per second, by the schedules of the producers.",
            title="rate due",
            from_due=True,
        ),
    ]
    sent_per_s: Annotated[
        float | None, per_s("Messages sent in the load, per second.", title="rate sent", better=HIGHER, compared=True)
    ]
    acked_per_s: Annotated[
        float | None,
        per_s(
            "Messages that a broker confirmed in the load, per second.",
            title="rate confirmed",
            better=HIGHER,
            compared=True,
        ),
    ]
    received_per_s: Annotated[
        float | None,
        per_s(
            "First deliveries in the load, per second.", title="rate received", better=HIGHER, compared=True, shown=True
        ),
    ]
    held_per_s: Annotated[
        float | None,
        per_s(
            "For a load in steps: the highest rate (the step's mean) that was held and is below each rate that"
            " was not. 0 if no rate was held. Null without steps, if some rates are unknown and no other was "
            "held, or if no rate was held and the limit was the machine or the load generator.",
            title="highest rate held",
            better=HIGHER,
            needs=STEPS,
            compared=True,
            shown=True,
        ),
    ]
    cpu_ms_per_message_brokers: Annotated[
        float | None,
        in_ms(
            "CPU time of all brokers in the load, per received message.",
            title="CPU per message, brokers",
            better=LOWER,
            compared=True,
            shown=True,
        ),
    ]
    cpu_ms_per_message_generator: Annotated[
        float | None,
        in_ms(
            "CPU time of the load generator in the load, per received message.",
            title="CPU per message, generator",
            better=LOWER,
            compared=True,
        ),
    ]
    core_wait_ms_per_message_brokers: Annotated[
        float | None,
        in_ms(
            "How long the brokers' threads were ready to run but waited for a core, per received message; this "
            "comes in addition to their CPU time. With --broker-cpus, it includes the time for which the quota held "
            "them back. Null if the system does not count it.",
            title="wait for a core per message, brokers",
            better=LOWER,
            compared=True,
        ),
    ]
    core_wait_ms_per_message_generator: Annotated[
        float | None,
        in_ms("The same for the load generator.", title="wait for a core per message, generator", better=LOWER),
    ]


class OfferedRate(TypedDict):
    """Whether deliveries kept up with the messages that were due, ignoring faults."""

    held: Annotated[
        bool | None,
        means(
            "False if more deliveries were waiting at the end than at the beginning, ignoring faults. Null: not "
            "evaluated; why has the reason."
        ),
    ]
    from_s: Annotated[
        float | None,
        in_s(
            "Start of the seconds that decided the result; negative in the warm-up. If the rate was held, start of the "
            "longest evaluated period. Null if no period was evaluated."
        ),
    ]
    until_s: Annotated[float | None, in_s("End of these seconds.")]
    owed_per_s: Annotated[float | None, per_s("Deliveries per second that were due within these seconds.")]
    received_per_s: Annotated[float | None, per_s("Deliveries per second that arrived within these seconds.")]
    backlog: Annotated[int | None, of_messages("Deliveries that were still waiting at the end of these seconds.")]
    limited_by: Annotated[
        str | None,
        means(
            "host (brokers and load generator used up the cores, or other programs kept one of them from the "
            "cores), generator, link, consumers, brokers (they kept producers waiting, confirmed messages "
            "later and later, or one of them used up its share of the cores) or unknown. Null unless the rate was "
            "not held. With host or generator, figures that the backlog caused are doubtful."
        ),
    ]
    why: Annotated[str, means("The limit as a sentence; or the reason why the rate was not evaluated.")]
    note: Annotated[str, means("Sentences for the report; empty unless the rate was not held.")]


class StepResult(TypedDict):
    """The result of one step of a load whose rate changes."""

    from_per_s: Annotated[float, per_s("Requested messages per second at the beginning of the step.")]
    to_per_s: Annotated[float, per_s("Requested messages per second at the end of the step.")]
    from_s: Annotated[float, in_s("Seconds from the start of the load.", column="From", decimals=0)]
    until_s: Annotated[float, in_s("Seconds from the start of the load.", column="To", decimals=0)]
    due_per_s: Annotated[
        float, per_s("Messages that were due within the step, per second.", column="Due /s", decimals=1)
    ]
    sent_per_s: Annotated[float, per_s("Messages sent within the step, per second.", column="Sent /s", decimals=1)]
    acked_per_s: Annotated[float, per_s("Messages confirmed within the step, per second.")]
    received_per_s: Annotated[
        float, per_s("Deliveries within the step, per second; every delivery counts.", column="Received /s", decimals=1)
    ]
    backlog: Annotated[
        int,
        of_messages(
            "Deliveries still to come at the end of the step, for all messages sent by then.",
            column="Backlog at its end",
        ),
    ]
    due_to_received_ms: Annotated[
        Latency,
        in_ms(
            "Latency of the messages that were due after the first fifth of the step. It decides whether the step was "
            "held."
        ),
    ]
    held: Annotated[
        bool | None,
        means(
            "At least 99 % of the messages due after the first fifth of the step were received by its end; at "
            "most one second's messages were waiting then; and if the load searches for the highest rate, the "
            "p99 was within its limit. Null if unknown: too few messages for a p99, or the search found the "
            "opposite while the load ran."
        ),
    ]
    why: Annotated[str, means("The figures that decided, as a sentence.")]
    broken: Annotated[
        str | None,
        means("The rule that a step that was not held broke: received, waiting or p99. Otherwise null."),
    ]


class Limit(TypedDict):
    """The limit of a load in steps, at the lowest rate that was not held. Null if each rate was held, or is unknown."""

    not_held_per_s: Annotated[float | None, per_s("The lowest rate above held_per_s that was tried and not held.")]
    limited_by: Annotated[
        str | None,
        means(
            "host, generator, link, consumers, brokers, latency or unknown. host: brokers and load generator "
            "share a machine, and its cores were used up. brokers: they kept producers waiting, or one of them "
            "used up its share of the cores (--broker-cpus). latency: only the p99 was too high."
        ),
    ]
    why: Annotated[str, means("The limit as a sentence; empty if no rate is known not to have been held.")]
    machine_busy_share: Annotated[
        float | None, figure("Share of the machine's cores in use, by any program.", unit="of all cores")
    ]
    brokers_cores: Annotated[float | None, figure("Cores that the brokers used, in total.", unit="cores")]
    generator_cores: Annotated[float | None, figure("Cores that the load generator used.", unit="cores")]


class Blocked(TypedDict):
    """Periods of a second or more in which brokers accepted nothing from a producer, all phases, counted for each
    producer."""

    periods: Annotated[int, figure("Number of periods.")]
    total_ms: Annotated[float, in_ms("Total over all producers.")]
    longest_ms: Annotated[float, in_ms("The longest period.")]
    brokers: Annotated[list[str], means("Names of these brokers.")]


class WarmUpResult(TypedDict):
    """The length of the warm-up in seconds, and what ended it."""

    end: Annotated[
        str,
        means(
            "What ended the warm-up: fixed (a stated time), settled (the median latency of successive seconds),"
            " not_settled (it did not settle within at_most_s), no_latency (too few latencies were known, so it"
            " took at_most_s)."
        ),
    ]
    lasted_s: Annotated[float, in_s("Duration of the warm-up.")]
    at_most_s: Annotated[float, in_s("Longest duration that was allowed.")]
