"""Figures of clients: where they were connected, how they moved, and how evenly messages were divided among them."""

from typing import Annotated, TypedDict

from records.figures.declaration import FAULTS, LOWER, Count, figure, in_ms, in_s, means, of_clients
from records.figures.faults import OutageSpread
from records.figures.latency import Latency


class Evenness(TypedDict):
    """The evenness of connected clients over brokers. Null if no client is connected."""

    max_to_mean: Annotated[
        float | None,
        figure(
            "Number of clients of the fullest broker, divided by the mean; 1 is even.",
            column="Max/mean",
            unit="times",
            decimals=2,
            better=LOWER,
        ),
    ]
    cv: Annotated[
        float | None,
        figure("Coefficient of variation: standard deviation divided by the mean; 0 is even.", column="CV", decimals=2),
    ]
    jain: Annotated[
        float | None,
        figure("Jain's index: 1 is even, 1/n if one of n brokers has all clients.", column="Jain's index", decimals=3),
    ]


class Distribution(Evenness):
    """The connected clients of a group by broker at one moment. An active broker and its standby count as one
    broker."""

    moment: Annotated[
        str,
        means(
            "begin, before F1, after F1 (it was applied, and the clients had settled), after F1 mended, end. If"
            " the clients did not settle, after is the last moment before the next fault."
        ),
    ]
    at_s: Annotated[float, figure("Seconds from the start of the load.", column="At", unit="s of load", decimals=1)]
    connected: Annotated[dict[str, int], means("Clients by broker.")]
    off: Annotated[Count, of_clients("Clients connected to no broker, except between their stays.", column="Off")]
    fair_share: Annotated[
        float,
        of_clients(
            "Connected clients divided by the number of brokers that were up or had clients.",
            column="Fair share",
            decimals=1,
        ),
    ]


class GroupBalance(TypedDict):
    """The distribution of a client group over the brokers that it enters at, and the brokers that its clients were
    connected to."""

    group: Annotated[str, means("The client group.")]
    clients: Annotated[
        Count,
        figure(
            "Clients in the group, connected or not. The clients of each moment add up to this number, with those that "
            "are away by the stays of their class."
        ),
    ]
    moments: Annotated[list[Distribution], means("The distribution at each moment.")]


class FaultMoves(TypedDict):
    """Moves after a fault was applied or mended, until the next fault was applied or mended, or the load ended."""

    fault: Annotated[str, figure("F1, F2 … in order of their beginning, as in the report.", column="Fault")]
    effect: Annotated[str, figure("applied or mended.", column="Effect")]
    at_s: Annotated[
        float,
        figure(
            "Seconds from the start of the load. For a join: when it was measured. For mended: when the broker "
            "accepted logins again, or else when mending began.",
            column="At",
            unit="s of load",
            decimals=1,
        ),
    ]
    moves: Annotated[Count, figure("Moves.", column="Moves")]
    moved: Annotated[Count, of_clients("Clients that moved.", column="Clients that moved")]
    off_ms: Annotated[
        OutageSpread, in_ms("From the end of the old connection to the new one, over these moves.", column="Off")
    ]
    first_move_s: Annotated[
        float | None,
        in_s("Seconds until the first move. Null if no client moved.", column="First move after", decimals=2),
    ]
    state: Annotated[str, means("settled, or did not settle.")]
    settled_s: Annotated[
        float | None,
        in_s(
            "Seconds until no client had moved or been off for the following 5 s. Null if that never happened.",
            column="Settled after",
            decimals=2,
        ),
    ]
    later_moves: Annotated[Count, figure("Moves after the clients had settled.", column="Later moves")]


class MoveSpread(TypedDict):
    """Number of moves of a client. Null without clients."""

    p50: Annotated[
        int | None,
        figure("The median client; of two, the lower. Clients that never moved count as 0.", column="p50"),
    ]
    max: Annotated[int | None, figure("The highest number of moves of one client.", column="max")]


class BrokerAway(TypedDict):
    """The time during which a fault kept a broker away."""

    broker: Annotated[str, means("The broker's name.")]
    from_s: Annotated[float, in_s("Seconds from the start of the load.")]
    until_s: Annotated[float | None, in_s("Seconds from the start of the load; null: until the end of the load.")]


class Rebalance(TypedDict):
    """The moves of clients between brokers during the load. A move is a connection to another broker than the previous
    one. A client that closed its connection itself starts over."""

    clients: Annotated[
        Count, of_clients("Clients, connected or not. A durable subscriber that comes back is one client.")
    ]
    moved: Annotated[Count, of_clients("Clients that moved at least once.")]
    moves: Annotated[Count, figure("Moves of all clients.")]
    moves_per_client: Annotated[MoveSpread, means("Number of moves per client.")]
    off_ms: Annotated[
        OutageSpread,
        in_ms(
            "From the end of the old connection to the new one, over all moves. 0 if a client opened the new one first."
        ),
    ]
    flaps: Annotated[
        Count, figure("Stays of less than a second that neither the client nor the load's limits ended.", better=LOWER)
    ]
    off_at_end: Annotated[
        Count,
        of_clients(
            "Clients connected to no broker at the end of the load, except after their last stay.", better=LOWER
        ),
    ]
    not_settled: Annotated[
        Count, figure("Faults applied or mended after which the clients did not settle.", needs=FAULTS, better=LOWER)
    ]
    settled_s: Annotated[
        float | None,
        in_s(
            "The longest time that the clients took to settle. Null if they did not settle after one of the "
            "faults, or without a fault.",
            title="time until clients settled",
            better=LOWER,
            needs=FAULTS,
            compared=True,
            shown=True,
        ),
    ]
    at_end: Annotated[
        Evenness,
        figure(
            "For the least even group at the end of the load.",
            compared={"max_to_mean": "fullest broker / mean at the end"},
            compared_with=FAULTS,
            shown=True,
        ),
    ]
    faults: Annotated[list[FaultMoves], means("The effect of each fault, in order.")]
    groups: Annotated[list[GroupBalance], means("Each client group.")]
    away: Annotated[list[BrokerAway], means("Brokers that faults kept away; a broker that joins is away from 0 on.")]


class MessageEvenness(TypedDict):
    """The evenness of messages over the consumers of a subscription. Null if no message was received."""

    max_to_mean: Annotated[
        float | None, figure("Messages of the consumer with the most, divided by the mean; 1 is even.", unit="times")
    ]
    cv: Annotated[float | None, figure("Coefficient of variation: standard deviation divided by the mean; 0 is even.")]
    jain: Annotated[float | None, figure("Jain's index: 1 is even, 1/n if one of n consumers has all messages.")]


class Division(MessageEvenness):
    """The division of one subscription's messages among its consumers: first deliveries, all phases."""

    destination: Annotated[str, means("queue://NAME or topic://NAME.")]
    subscription: Annotated[str, means("As in the events; for a queue, its name.")]
    consumers: Annotated[Count, figure("Consumers that held the subscription.")]
    messages: Annotated[Count, figure("Messages that they received.")]
    least: Annotated[Count, figure("Messages of the consumer with the fewest.")]
    most: Annotated[Count, figure("Messages of the consumer with the most.")]
    idle: Annotated[Count, figure("Consumers that received no message.")]
    brokers: Annotated[dict[str, int], means("Messages by the broker where they were received.")]


class Consumers(TypedDict):
    """The division of messages among consumers. The result table consumers lists each consumer."""

    share: Annotated[MessageEvenness, figure("For the least even subscription.")]
    idle: Annotated[
        Count,
        figure("Consumers that received nothing, in subscriptions that received messages and have several consumers."),
    ]
    subscriptions: Annotated[list[Division], means("The subscriptions with several consumers.")]


class ConnectionCounts(TypedDict):
    """The brokers' own counts of client connections compared with the clients' counts, during the load.

    Nothing is compared if each message has a separate connection.
    """

    compared: Annotated[Count, figure("Broker counts at a second around which the clients' count did not change.")]
    differed: Annotated[Count, figure("Compared counts that were not equal.")]
    brokers: Annotated[list[str], means("Brokers with a count that was not equal.")]


class ConnectSpread(TypedDict):
    """Milliseconds from a client's first attempt to its first connection, over the clients that first tried in the
    step. Null: none of them connected."""

    p50: Annotated[float | None, figure("The median client.", column="p50")]
    max: Annotated[float | None, figure("The slowest client.", column="max")]


class ConnectionStep(TypedDict):
    """The result of one step of a load with a growing number of clients."""

    clients: Annotated[Count, of_clients("Clients that should be connected at the end of the step.", column="Clients")]
    from_s: Annotated[float, in_s("Seconds from the start of the load.", column="From", decimals=0)]
    until_s: Annotated[float, in_s("Seconds from the start of the load.", column="To", decimals=0)]
    begun: Annotated[Count, of_clients("Clients that had tried to connect by the end of the step.")]
    connected: Annotated[
        Count, of_clients("Clients that were connected at the end of the step.", column="Connected at its end")
    ]
    refused: Annotated[
        Count,
        of_clients(
            "Clients with a failed attempt in the step: a broker rejected it, hung up or did not answer.",
            column="Refused",
        ),
    ]
    refused_by: Annotated[dict[str, int], means("Number of these clients by broker.")]
    connect_ms: Annotated[
        ConnectSpread,
        in_ms(
            "From a client's first attempt to its first connection, over the clients that first tried in the "
            "step; for the first step, in it or before it.",
            column="Connecting,",
            decimals=1,
        ),
    ]
    due_to_received_ms: Annotated[
        Latency, in_ms("Latency of the messages that were due in the step.", column="Latency,", decimals=2)
    ]
    held: Annotated[
        bool | None,
        means(
            "All clients were connected at the end of the step, no client that first tried in it took longer to"
            " connect than the limit, and the p99 from due to received was within its limit. Null if the events"
            " say so, but the load ended because the opposite was found while it ran."
        ),
    ]
    why: Annotated[str, means("Why it was not held, or is unknown; empty if it was held.")]


class Connections(TypedDict):
    """Connections as a capacity, in a load with a growing number of clients."""

    held: Annotated[
        int | None,
        figure(
            "The most clients that were connected at the end of a step, with both times within their limits. "
            "Null if the number of clients did not grow."
        ),
    ]
    not_held: Annotated[
        int | None, figure("Number of clients in the first step that was not held; null if every step was held.")
    ]
    limited_by: Annotated[
        str | None,
        means(
            "What limited the load: refused (by brokers), host (its cores were used up), generator (it started "
            "too late, or sent late), connecting (clients were not connected at the end of the step, or took "
            "too long) or latency; null if every step was held."
        ),
    ]
    brokers: Annotated[list[str], means("Brokers that rejected connections.")]
    why: Annotated[str, means("The limit as a sentence; empty if every step was held.")]
    steps: Annotated[list[ConnectionStep], means("The steps that the load completed.")]
