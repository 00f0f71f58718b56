"""Figures of faults: how long clients were cut off, and what happened to messages. Also the traits of fault kinds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from records.figures.declaration import (
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
    """The properties of a fault kind that analysis and reports need.

    ``said``: the predicate of a sentence about the target: "broker-2 was killed". ``joins``: the target is absent
    before the fault, and again once it is mended. ``keeps_clients_off``: no client is expected at the target during the
    fault. ``explains_outages``: it accounts for silent brokers and lost connections during the fault.
    ``ends_abruptly``: the target's process ends without notice. ``is_a_span``: sentences mention its end too, as its
    effect is that it lasts. ``stayed``: the predicate for a target that was never mended.
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
    "start-link": FaultTraits("was started by management", stayed="stayed up"),
    "command": FaultTraits("was taken down by a command"),
    "away": FaultTraits("were away", keeps_clients_off=False, explains_outages=False, is_a_span=True),
}
"""By the kind's name in ``--fault``. The exception is ``away``: consumers that are away are not injected by
``--fault``."""


def traits_of(kind: str) -> FaultTraits:
    """Return the traits of a fault kind; for an unknown kind, the defaults."""
    return TRAITS.get(kind) or FaultTraits(f"had the fault {kind}")


class OutageSpread(TypedDict):
    """Milliseconds over the clients that were cut off. Null: a client never came back, or none was cut off."""

    p50: Annotated[float | None, figure("The median client; of two, the lower.", column="p50")]
    max: Annotated[float | None, figure("The slowest client's.", column="max")]


class Outages(TypedDict):
    """The effects of faults on clients and messages."""

    cut_off: Annotated[
        Count,
        of_clients("Clients that lost their connection to a broker with a fault.", column="Cut off", better=LOWER),
    ]
    never_back: Annotated[
        Count,
        of_clients(
            "Cut-off clients without a success until the end of the run (a confirmed send, a written send that "
            "needs no confirmation, or a receipt), except clients that were ready again and had nothing due.",
            column="Never back",
            better=LOWER,
        ),
    ]
    nothing_due: Annotated[
        Count,
        of_clients(
            "Outages during which none of the client's messages was due, so they had no effect; for the consumers of "
            "a closed load: none was sent.",
            column="Nothing due",
        ),
    ]
    in_flight: Annotated[
        Count,
        of_messages("Sends of these clients that had no answer when the connection was lost.", column="In flight"),
    ]
    outage_ms: Annotated[
        OutageSpread,
        in_ms(
            "From a client's last success before the loss (at the earliest the beginning of the fault) to its "
            "first success on the next connection. A success is a confirmed send, a written send that needs no "
            "confirmation, or a receipt. For a client that was ready again and had nothing due: until it was "
            "ready.",
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
            "The same for producers.",
            better=LOWER,
            compared={"max": "longest outage of a producer"},
            backlogged=True,
        ),
    ]
    consumers_outage_ms: Annotated[
        OutageSpread,
        in_ms(
            "The same for consumers.",
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
            "From the loss until the client's subscriptions and in-doubt sends were restored, on that "
            "connection or a later one.",
            column="Ready",
            better=LOWER,
            compared={"max": "longest time until ready again"},
        ),
    ]
    lost: Annotated[
        Count,
        of_messages(
            "Acked messages that were sent before the fault was over, and lost. Each message is counted for at "
            "most one fault, if possible of the broker that it was first sent to. Of several, this is a fault that "
            "ends a broker abruptly, or else the first.",
            column="Lost",
            better=LOWER,
            over_faults=total,
        ),
    ]
    at_risk: Annotated[
        Count,
        of_messages(
            "Messages that the broker had confirmed and no consumer had received when the fault took effect, as"
            " far as their outcome is known. They were first sent to this broker; a message to a topic counts once"
            " for each subscription.",
            column="At risk",
            over_faults=total,
        ),
    ]
    gone: Annotated[
        Count,
        of_messages(
            "Messages at risk that were neither received nor found on a queue. If some places could not be "
            "searched, they still count here, while messages counts them as unaccounted, not lost.",
            column="Gone",
            better=LOWER,
            over_faults=total,
        ),
    ]
    lost_tails: Annotated[
        Count,
        figure(
            "Sequences whose last messages are gone: writes that were not synced. A sequence is the messages at"
            " risk from one producer to one subscription, in the order of sending.",
            column="Sequences without tail",
            unit="sequences",
            better=LOWER,
            over_faults=total,
        ),
    ]
    lost_holes: Annotated[
        Count,
        figure(
            "Sequences with a message that is gone and a later message that survived. In a network the later message"
            " may have moved on to another broker.",
            column="Sequences with holes",
            unit="sequences",
            better=LOWER,
            over_faults=total,
        ),
    ]
    lost_whole: Annotated[
        Count,
        figure(
            "Sequences that are gone completely.",
            column="Sequences lost",
            unit="sequences",
            better=LOWER,
            over_faults=total,
        ),
    ]
    oldest_lost_s: Annotated[
        Positive | None,
        in_s(
            "Time from the confirmation of the oldest message that is gone to the fault; 0 if none is gone. Null in "
            "recovery without a fault.",
            title="age of the oldest lost message",
            column="Age of the oldest lost message",
            decimals=3,
            better=LOWER,
            over_faults=slowest,
        ),
    ]
    start_s: Annotated[
        Positive | None,
        in_s(
            "From the time when the fault was undone, such as the start of a killed broker, until the broker accepted "
            "logins again. Null if it did not.",
            title="time until the broker accepts logins",
            column="Time to start",
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
            "Deliveries after the first, not marked as redelivered, that came after the fault began.",
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
            "First deliveries after the fault began that came after a later message from the same producer to "
            "the same consumer.",
            column="Reordered",
            over_faults=total,
        ),
    ]
    late: Annotated[
        Count | None,
        of_messages(
            "First deliveries of messages due from the fault's first second until the next fault that took "
            "longer than the band of p99_back_s allows. Null if there were not 3 s before the fault; in "
            "recovery also if one fault has null.",
            column="Late",
            from_due=True,
            over_faults=total,
            backlogged=True,
        ),
    ]
    throughput_back_s: Annotated[
        Positive | None,
        in_s(
            "Seconds from the fault until deliveries per second were at least nine tenths of the median in "
            "the 10 s before it, for 3 s in a row; 0 if they never dropped below, null if they did not come "
            "back. With several faults, the slowest.",
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
            "The same for the p99 from due to received, by the due second of messages: at most twice its median"
            " before the fault, or 10 ms more.",
            title="time until p99 is back",
            column="p99 back after",
            from_due=True,
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
            "The highest number of messages that were due and not yet received, at the end of a second after "
            "the fault began.",
            title="highest backlog",
            column="Highest backlog",
            from_due=True,
            better=LOWER,
            over_faults=most,
            compared=True,
            backlogged=True,
        ),
    ]
    backlog_drained_s: Annotated[
        float | None,
        in_s(
            "Seconds from the fault until at most as many messages were due and not received as before it. 0: "
            "there were never more. Null: there always were more, or there were not 3 s before the fault.",
            title="time until the backlog is drained",
            column="Drained after",
            from_due=True,
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
            "Deliveries per second from the highest backlog until it had drained; with several faults, the "
            "lowest rate. Null without a backlog, or if it did not drain.",
            column="Drained",
            from_due=True,
            better=HIGHER,
            over_faults=least,
            backlogged=True,
        ),
    ]


class StrandedAt(TypedDict):
    """Messages that were left on one broker's queues."""

    broker: str
    messages: Annotated[AtLeastOne, of_messages("Number of messages.")]
    oldest_s: Annotated[
        float | None, in_s("How long the oldest of them had been there; null if the broker does not report it.")
    ]


class FaultRecovery(Outages):
    """The effects of one fault."""

    fault: Annotated[str, figure("F1, F2 …, as in the report.", column="Fault")]
    kind: Annotated[str, means("The kind of fault, by its name in --fault, such as kill or full-store.")]
    target: Annotated[str, means("The broker.")]
    began_s: Annotated[
        float, in_s("When it was applied, in seconds from the start of the load.", column="At", decimals=1)
    ]
    effective_s: Annotated[
        float | None, in_s("When its effect was measured; null if it was not measured.", column="Effective", decimals=2)
    ]
    restored_s: Annotated[
        float | None,
        in_s("When its broker was measured to accept logins again; null if it was not.", column="Back", decimals=1),
    ]
    clients: Annotated[Count, of_clients("Client connections before the fault.", column="Clients")]
    stranded_at: Annotated[list[StrandedAt], means("Its stranded messages by the broker where they were found.")]


class Recovery(Outages):
    """The combined effects of all faults of the run."""

    faults: Annotated[list[FaultRecovery], means("Each fault that had an effect, in order of their beginning.")]


class Unplanned(TypedDict):
    """An outage that no fault of the run was meant to cause."""

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
            "When the broker answered again, or when the last of these clients was connected again, in seconds "
            "of the load. Null if the broker was silent until the end of the load, or one of the clients was "
            "never connected again."
        ),
    ]
    clients: Annotated[int, of_clients("Clients that waited, or that lost their connections.")]


def back_ns(outage: Mapping[str, Any]) -> int | None:
    """Return when the user in a row of the result table ``outages`` was back; None: never.

    A user without messages is back when it is connected. A user that had no success and nothing due is back when it is
    ready: all subscriptions are restored, and no send waits for an answer.
    """
    if not outage["role"]:
        return _whole(outage["connected_ns"])
    idle = outage["first_success_ns"] is None and outage["due"] == 0 and outage["in_flight"] == 0
    return _whole(outage["ready_ns"] if idle else outage["first_success_ns"])


def outage_ms(outage: Mapping[str, Any]) -> float | None:
    """Return the outage in a row of ``outages``, in milliseconds; None: the user never came back."""
    at_ns = back_ns(outage)
    return None if at_ns is None else (at_ns - outage["began_ns"]) / NS_PER_MS


def _whole(time_ns: Any) -> int | None:
    return None if time_ns is None else int(time_ns)
