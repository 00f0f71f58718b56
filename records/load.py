"""Declares the figures of the load: rates, steps, and what limited them."""

from typing import Annotated, TypedDict

from records.figures import HIGHER, LOWER, STEPS, figure, in_ms, in_s, means, of_messages, per_s
from records.latency import Latency


class Throughput(TypedDict):
    """Messages a second over the load phase, and milliseconds of CPU a message."""

    due_per_s: Annotated[
        float | None,
        per_s("Messages that were due in the load, a second, by the schedules of the producers.", title="rate due"),
    ]
    sent_per_s: Annotated[
        float | None, per_s("Messages sent in the load, a second.", title="rate sent", better=HIGHER, compared=True)
    ]
    acked_per_s: Annotated[
        float | None,
        per_s(
            "Messages that a broker confirmed in the load, a second.",
            title="rate confirmed",
            better=HIGHER,
            compared=True,
        ),
    ]
    received_per_s: Annotated[
        float | None,
        per_s(
            "First deliveries in the load, a second.", title="rate received", better=HIGHER, compared=True, shown=True
        ),
    ]
    held_per_s: Annotated[
        float | None,
        per_s(
            "Of a load in steps: the highest rate (mean of its step) that was held, and is below each that was not. "
            "0 if none was held. Null without steps, if some are unknown and no other was held, or "
            "if none was held and the machine or the load generator was the limit.",
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
            "CPU time of all brokers in the load, for each message that was received.",
            title="CPU per message, brokers",
            better=LOWER,
            compared=True,
            shown=True,
        ),
    ]
    cpu_ms_per_message_generator: Annotated[
        float | None,
        in_ms(
            "CPU time of the load generator in the load, for each message that was received.",
            title="CPU per message, generator",
            better=LOWER,
            compared=True,
        ),
    ]
    core_wait_ms_per_message_brokers: Annotated[
        float | None,
        in_ms(
            "How long the brokers' threads were ready to run and waited for a core, for each message that was "
            "received, beside their CPU time. Null where the system does not count it.",
            title="wait for a core per message, brokers",
            better=LOWER,
            compared=True,
        ),
    ]
    core_wait_ms_per_message_generator: Annotated[
        float | None,
        in_ms("The same of the load generator.", title="wait for a core per message, generator", better=LOWER),
    ]


class OfferedRate(TypedDict):
    """Whether deliveries kept up with what was due, faults aside."""

    held: Annotated[
        bool | None,
        means(
            "False if more deliveries waited in the end than at the beginning, faults aside. Null: not judged, and why"
            " says the reason."
        ),
    ]
    from_s: Annotated[
        float | None,
        in_s(
            "The seconds of the load that tell, negative in the warm-up; of a rate that was held the longest that"
            " were judged. Null if none were."
        ),
    ]
    until_s: Annotated[float | None, in_s("Their end.")]
    owed_per_s: Annotated[float | None, per_s("Deliveries a second that were due within these seconds.")]
    received_per_s: Annotated[float | None, per_s("Deliveries a second that came within them.")]
    backlog: Annotated[int | None, of_messages("Deliveries that still waited at their end.")]
    limited_by: Annotated[
        str | None,
        means(
            "host (brokers and load generator used up the cores, or other programs kept one of them from the "
            "cores), generator, link, consumers, brokers (they kept producers waiting, or confirmed messages "
            "later and later) or unknown. Null unless the rate was not held. With host or generator, figures that"
            " the backlog made are doubtful."
        ),
    ]
    why: Annotated[str, means("The same as a sentence; or why the rate was not judged.")]
    note: Annotated[str, means("Sentences for a reader; '' unless the rate was not held.")]


class StepResult(TypedDict):
    """What came of one step of a load whose rate changes."""

    from_per_s: Annotated[float, per_s("Messages a second that were asked for, at the step's beginning.")]
    to_per_s: Annotated[float, per_s("The same at its end.")]
    from_s: Annotated[float, in_s("Seconds from the start of the load.", column="From", decimals=0)]
    until_s: Annotated[float, in_s("Seconds from the start of the load.", column="To", decimals=0)]
    due_per_s: Annotated[float, per_s("Messages that were due within the step, a second.", column="Due /s", decimals=1)]
    sent_per_s: Annotated[float, per_s("Messages sent within the step, a second.", column="Sent /s", decimals=1)]
    acked_per_s: Annotated[float, per_s("Messages confirmed within the step, a second.")]
    received_per_s: Annotated[
        float, per_s("Deliveries within the step, a second; every one counts.", column="Received /s", decimals=1)
    ]
    backlog: Annotated[
        int,
        of_messages(
            "Deliveries still to come at the step's end, of all that was sent by then.", column="Backlog at its end"
        ),
    ]
    due_to_received_ms: Annotated[
        Latency, in_ms("Latency of the messages that were due after the step's first fifth, by which it is judged.")
    ]
    held: Annotated[
        bool | None,
        means(
            "Of what was due after the step's first fifth, at least 99 % was received until its end; no more than one "
            "second's messages waited then; and where the load searches for the highest rate, p99 was within its "
            "limit. Null if unknown: too few messages for a p99, or the search found the opposite while the load ran."
        ),
    ]
    why: Annotated[str, means("The figures that decided, as a sentence.")]
    broken: Annotated[
        str | None,
        means("The rule that a step which was not held broke: received, waiting or p99. Null otherwise."),
    ]


class Limit(TypedDict):
    """What limited a load in steps: of the lowest rate that was not held. Null if each was held, or is unknown."""

    not_held_per_s: Annotated[float | None, per_s("The lowest rate above held_per_s that was tried and not held.")]
    limited_by: Annotated[
        str | None,
        means(
            "host, generator, link, consumers, brokers, latency or unknown. host: brokers and load generator "
            "share a machine, and its cores were used up. brokers: they kept producers waiting. latency: only p99"
            " was too high."
        ),
    ]
    why: Annotated[str, means("The same as a sentence; empty if no rate is known not to have been held.")]
    machine_busy_share: Annotated[
        float | None, figure("The share of the machine's cores in use, whoever used them.", unit="of all cores")
    ]
    brokers_cores: Annotated[float | None, figure("Cores that the brokers used together.", unit="cores")]
    generator_cores: Annotated[float | None, figure("Cores that the load generator used.", unit="cores")]


class Blocked(TypedDict):
    """For how long brokers took nothing from producers, all phases: periods of a second or more, of each producer."""

    periods: Annotated[int, figure("How many periods there were.")]
    total_ms: Annotated[float, in_ms("Of all producers together.")]
    longest_ms: Annotated[float, in_ms("The longest one.")]
    brokers: Annotated[list[str], means("Which ones, by name.")]


class WarmUpResult(TypedDict):
    """How the warm-up went, in seconds."""

    end: Annotated[
        str,
        means(
            "What ended the warm-up: fixed (a stated time), settled (the median latency of successive seconds), "
            "not_settled (it did not settle within at_most_s), no_latency (too few latencies were known "
            "meanwhile, so it took at_most_s)."
        ),
    ]
    lasted_s: Annotated[float, in_s("How long it took.")]
    at_most_s: Annotated[float, in_s("How long it was allowed to take.")]
