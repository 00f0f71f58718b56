"""Declares the figures of faults: how long clients were cut off, what became of messages; and the traits of faults."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from records.figures import (
    HIGHER,
    LOWER,
    AtLeastOne,
    Count,
    Positive,
    figure,
    in_ms,
    in_s,
    least,
    means,
    most,
    of_clients,
    of_messages,
    per_s,
    slowest,
    total,
)
from records.units import NS_PER_MS


@dataclass(frozen=True)
class FaultTraits:
    """What a reader of a run must know of a kind of fault beside its times.

    ``said``: what the target did or suffered, as a sentence tells it: "broker-2 was killed". ``joins``: the target is
    absent before the fault, and again once it is mended. ``keeps_clients_off``: no client is expected at the target
    meanwhile. ``explains_outages``: silence of brokers and lost connections meanwhile are its doing. ``ends_abruptly``:
    the target's process ends without notice. ``is_a_span``: sentences tell its end too, as it does nothing but last.
    ``stayed``: what is said of one that was never mended.
    """

    said: str
    joins: bool = False
    keeps_clients_off: bool = True
    explains_outages: bool = True
    ends_abruptly: bool = False
    is_a_span: bool = False
    stayed: str = "stayed so"


GONE = "never came back"

TRAITS = {
    "kill": FaultTraits("was killed", ends_abruptly=True, stayed=GONE),
    "power-loss": FaultTraits("lost power", ends_abruptly=True, stayed=GONE),
    "stop": FaultTraits("was stopped", stayed=GONE),
    "restart": FaultTraits("was restarted"),
    "freeze": FaultTraits("was frozen"),
    "rolling-restart": FaultTraits("was restarted in turn"),
    "disconnect": FaultTraits("ended its clients' connections"),
    "full-store": FaultTraits("had a full store", keeps_clients_off=False, is_a_span=True),
    "join": FaultTraits("joined", joins=True),
    "cut": FaultTraits("was cut"),
    "blackhole": FaultTraits("swallowed everything"),
    "slow": FaultTraits("was made slow"),
    "stop-link": FaultTraits("was stopped by management"),
    "command": FaultTraits("was taken down by a command"),
    "away": FaultTraits("were away", keeps_clients_off=False, explains_outages=False, is_a_span=True),
}
"""By the kind's name in ``--fault``; consumers that are away are no fault of ``--fault``."""


def traits_of(kind: str) -> FaultTraits:
    """The traits of a kind; of one that is not known here, those of most."""
    return TRAITS.get(kind) or FaultTraits(f"had the fault {kind}")


class OutageSpread(TypedDict):
    """Milliseconds over the clients that were cut off. Null: never, or nobody was cut off."""

    p50: Annotated[float | None, figure("The middle client's; the lower one of two.", column="p50")]
    max: Annotated[float | None, figure("The slowest client's.", column="max")]


class Outages(TypedDict):
    """What faults did to clients and messages."""

    cut_off: Annotated[
        Count,
        of_clients("Clients that lost their connection to a broker with a fault.", column="Cut off", better=LOWER),
    ]
    never_back: Annotated[
        Count,
        of_clients(
            "Of these, clients without a success until the end of the run (a confirmed send, a written one that "
            "nobody confirms, or a receipt), except those that were ready again and had nothing due.",
            column="Never back",
            better=LOWER,
        ),
    ]
    nothing_due: Annotated[
        Count,
        of_clients(
            "Of these outages, those during which none of the client's messages was due: nobody noticed them.",
            column="Nothing due",
        ),
    ]
    in_flight: Annotated[
        Count, of_messages("Sends of these clients without an answer when the connection was lost.", column="In flight")
    ]
    outage_ms: Annotated[
        OutageSpread,
        in_ms(
            "From a client's last success before the loss (at the earliest the fault's beginning) to its first "
            "one on the next connection. A success is a confirmed send, a written one that nobody confirms, or a "
            "receipt. Of a client that was ready again and had nothing due: until it was ready.",
            column="Outage",
            better=LOWER,
            compared={"p50": "a client's outage p50", "max": "longest outage of a client"},
            shown=True,
            backlogged=True,
        ),
    ]
    producers_outage_ms: Annotated[
        OutageSpread,
        in_ms(
            "The same, of producers.",
            better=LOWER,
            compared={"max": "longest outage of a producer"},
            backlogged=True,
        ),
    ]
    consumers_outage_ms: Annotated[
        OutageSpread,
        in_ms(
            "The same, of consumers.",
            better=LOWER,
            compared={"max": "longest outage of a consumer"},
            backlogged=True,
        ),
    ]
    reconnect_ms: Annotated[
        OutageSpread,
        in_ms(
            "From the loss to the client's next connection.",
            column="Reconnect",
            better=LOWER,
            compared={"p50": "time to reconnect p50", "max": "longest time to reconnect"},
        ),
    ]
    ready_ms: Annotated[
        OutageSpread,
        in_ms(
            "From the loss until the client's subscriptions and sends in doubt were restored, on that connection "
            "or a later one.",
            column="Ready",
            better=LOWER,
            compared={"max": "longest time until ready again"},
        ),
    ]
    lost: Annotated[
        Count,
        of_messages(
            "Acked messages that were sent before the fault was over, and lost. A message belongs to one fault at"
            " most.",
            column="Lost",
            better=LOWER,
            over_faults=total,
        ),
    ]
    at_risk: Annotated[
        Count,
        of_messages(
            "Messages that the broker had confirmed and no consumer had received when the fault took effect, as far as "
            "it is known what became of them. They were first sent to this broker; a message of a topic counts once "
            "for each subscription.",
            column="At risk",
            over_faults=total,
        ),
    ]
    gone: Annotated[
        Count,
        of_messages(
            "Of the messages at risk, those that were neither received nor found on a queue. Where not every place "
            "could be searched, they count here, and are not lost but unaccounted for elsewhere.",
            column="Gone",
            better=LOWER,
            over_faults=total,
        ),
    ]
    lost_tails: Annotated[
        Count,
        figure(
            "Sequences of which the last messages are gone: writes that were not synced. A sequence is the messages "
            "at risk of one producer to one subscription, in the order of sending.",
            column="Sequences without tail",
            unit="sequences",
            better=LOWER,
            over_faults=total,
        ),
    ]
    lost_holes: Annotated[
        Count,
        figure(
            "Sequences of which a message is gone and a later one survived. In a network the later one may have moved "
            "on to another broker.",
            column="Sequences with holes",
            unit="sequences",
            better=LOWER,
            over_faults=total,
        ),
    ]
    lost_whole: Annotated[
        Count,
        figure(
            "Sequences of which every message is gone.",
            column="Sequences lost",
            unit="sequences",
            better=LOWER,
            over_faults=total,
        ),
    ]
    oldest_lost_s: Annotated[
        Positive | None,
        in_s(
            "How long before the fault the oldest of the messages that are gone had been confirmed; 0 if none is. "
            "Null in recovery without a fault.",
            title="age of the oldest lost message",
            column="Oldest lost was confirmed before",
            decimals=3,
            better=LOWER,
            over_faults=slowest,
        ),
    ]
    start_s: Annotated[
        Positive | None,
        in_s(
            "From when mending began, such as the start of a killed broker, until the broker took logins again. Null "
            "if it did not.",
            title="time until the broker takes logins",
            column="Start took",
            decimals=1,
            better=LOWER,
            over_faults=slowest,
        ),
    ]
    stranded: Annotated[
        Count,
        of_messages(
            "Acked messages that were sent before the fault was over, not received, and found on a queue after "
            "the drain.",
            column="Stranded",
            better=LOWER,
            over_faults=total,
        ),
    ]
    duplicated: Annotated[
        Count,
        of_messages(
            "Deliveries beyond the first, not marked as redelivered, that came after the fault began.",
            column="Duplicated",
            better=LOWER,
            over_faults=total,
        ),
    ]
    redelivered: Annotated[
        Count,
        of_messages(
            "Deliveries with the broker's redelivered flag that came after the fault began.",
            column="Redelivered",
            over_faults=total,
        ),
    ]
    reordered: Annotated[
        Count,
        of_messages(
            "First deliveries after the fault began that came after a later message of the same producer to the "
            "same consumer.",
            column="Reordered",
            over_faults=total,
        ),
    ]
    late: Annotated[
        Count | None,
        of_messages(
            "First deliveries of messages due from the fault's first second on, until the next fault, that took "
            "longer than the band of p99_back_s allows. Null if there were not 3 s before the fault; in recovery "
            "also if one fault has null.",
            column="Late",
            over_faults=total,
            backlogged=True,
        ),
    ]
    throughput_back_s: Annotated[
        Positive | None,
        in_s(
            "Seconds from the fault until deliveries a second were at least nine tenths of their median in the 10"
            " s before it, for 3 s in a row; 0 if they never were less, null if they did not come back. Of "
            "several faults the slowest.",
            title="time until throughput is back",
            column="Throughput back after",
            decimals=1,
            better=LOWER,
            over_faults=slowest,
            compared=True,
            shown=True,
            backlogged=True,
        ),
    ]
    p99_back_s: Annotated[
        Positive | None,
        in_s(
            "The same of p99 from due to received, by the second in which messages were due: at most twice its "
            "median before, or 10 ms more.",
            title="time until p99 is back",
            column="p99 back after",
            decimals=1,
            better=LOWER,
            over_faults=slowest,
            compared=True,
            backlogged=True,
        ),
    ]
    backlog_highest: Annotated[
        int | None,
        of_messages(
            "The most messages that were due and not yet received, at the end of a second after the fault began.",
            title="highest backlog",
            column="Highest backlog",
            better=LOWER,
            over_faults=most,
            compared=True,
            backlogged=True,
        ),
    ]
    backlog_drained_s: Annotated[
        float | None,
        in_s(
            "Seconds from the fault until no more messages were due and not received than before it. 0: there "
            "never were more. Null: there always were, or there were not 3 s before the fault.",
            title="time until the backlog is drained",
            column="Drained after",
            decimals=1,
            better=LOWER,
            over_faults=slowest,
            compared=True,
            backlogged=True,
        ),
    ]
    drain_per_s: Annotated[
        float | None,
        per_s(
            "Deliveries a second from the highest backlog until it had drained; of several faults the lowest. "
            "Null if there was none, or it did not drain.",
            column="Drained",
            better=HIGHER,
            over_faults=least,
            backlogged=True,
        ),
    ]


class StrandedAt(TypedDict):
    """Messages that were left on one broker's queues."""

    broker: str
    messages: Annotated[AtLeastOne, of_messages("How many there are.")]
    oldest_s: Annotated[
        float | None, in_s("How long the oldest of them had been there; null if the broker does not say.")
    ]


class FaultRecovery(Outages):
    """What one fault did."""

    fault: Annotated[str, figure("F1, F2 and so on, as in the report.", column="Fault")]
    kind: Annotated[str, means("What was done, by its name in --fault, such as kill or full-store.")]
    target: Annotated[str, means("The broker.")]
    began_s: Annotated[
        float, in_s("When it was applied, in seconds from the start of the load.", column="At", decimals=1)
    ]
    effective_s: Annotated[
        float | None, in_s("When its effect was measured; null if it was not.", column="Effective", decimals=2)
    ]
    restored_s: Annotated[
        float | None,
        in_s("When its broker was measured to take logins again; null if it was not.", column="Back", decimals=1),
    ]
    clients: Annotated[Count, of_clients("Connections of clients before it.", column="Clients")]
    stranded_at: Annotated[list[StrandedAt], means("Its stranded messages by the broker that they were found on.")]


class Recovery(Outages):
    """What the faults of the run did together."""

    faults: Annotated[list[FaultRecovery], means("Each fault that had an effect, in the order of their beginnings.")]


class Unplanned(TypedDict):
    """An outage that no fault of the run was meant to bring about."""

    broker: str
    what: Annotated[
        str,
        means(
            "silent: for two seconds or more the broker confirmed and delivered nothing, while clients waited. "
            "lost connections: clients lost their connections to it."
        ),
    ]
    from_s: Annotated[float, in_s("Seconds from the start of the load.")]
    until_s: Annotated[
        float | None,
        in_s(
            "When the broker answered again, or when the last of these clients was connected again, in seconds of"
            " the load. Null if the broker was silent to the end of the load, or one of the clients never was connected"
            " again."
        ),
    ]
    clients: Annotated[int, of_clients("Clients that waited, or that lost their connections.")]


def back_ns(outage: Mapping[str, Any]) -> int | None:
    """When the user of a row of the result table ``outages`` was back; None: never.

    A user without messages is back when it is connected. One that had no success, and nothing due either, is back when
    it is ready: its subscriptions are restored, and no send of it waits for an answer.
    """
    if not outage["role"]:
        return _whole(outage["connected_ns"])
    idle = outage["first_success_ns"] is None and outage["due"] == 0 and outage["in_flight"] == 0
    return _whole(outage["ready_ns"] if idle else outage["first_success_ns"])


def outage_ms(outage: Mapping[str, Any]) -> float | None:
    """How long the user of a row of ``outages`` was cut off; None: it never came back."""
    at_ns = back_ns(outage)
    return None if at_ns is None else (at_ns - outage["began_ns"]) / NS_PER_MS


def _whole(time_ns: Any) -> int | None:
    return None if time_ns is None else int(time_ns)
