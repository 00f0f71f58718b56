"""The keys of ``rebalance`` and ``consumers`` in summary.json: how evenly clients and messages are divided."""

from typing import TypedDict

from records.recovery import OutageSpread


class Evenness(TypedDict):
    """How evenly connected clients are spread over brokers. Null if none is connected.

    ``max_to_mean``: the fullest broker beside the mean; 1 is even. ``cv``: standard deviation over mean; 0 is even.
    ``jain``: Jain's index; 1 is even, and 1/n if one of n brokers has all clients.
    """

    max_to_mean: float | None
    cv: float | None
    jain: float | None


class Distribution(Evenness):
    """Where the clients of a group were at one moment. Of the pair of an active and a standby both are one broker.

    ``moment``: ``begin``, ``before F1``, ``after F1`` (applied, and settled), ``after F1 mended``, ``end``. If the
    clients did not settle, after is the last moment before the next fault. ``at_s``: from the start of the load.
    ``connected``: clients by broker. ``off``: clients connected to none. ``fair_share``: the mean of the brokers that
    were up or had clients.
    """

    moment: str
    at_s: float
    connected: dict[str, int]
    off: int
    fair_share: float


class GroupBalance(TypedDict):
    """``clients``: all that tried to connect in the run, so each moment adds up to them."""

    group: str
    clients: int
    moments: list[Distribution]


class FaultMoves(TypedDict):
    """The moves after a fault was applied, or mended, until the next fault is, or the load ends.

    ``effect``: ``applied`` or ``mended``. ``moves``: of ``moved`` clients. ``off_ms``: from the old connection's end to
    the new one. ``first_move_s``: until the first one; null without any. ``state``: ``settled`` or ``did not settle``.
    ``settled_s``: until no client had moved or been off for the 5 s that followed; null if that never was so.
    ``later_moves``: those after it had settled.
    """

    fault: str
    effect: str
    at_s: float
    moves: int
    moved: int
    off_ms: OutageSpread
    first_move_s: float | None
    state: str
    settled_s: float | None
    later_moves: int


class MoveSpread(TypedDict):
    """Moves of a client; those that never moved count as 0. Null without clients."""

    p50: int | None
    max: int | None


class BrokerAway(TypedDict):
    """From when to when a fault kept a broker away, in seconds of the load. ``until_s`` null: to the load's end."""

    broker: str
    from_s: float
    until_s: float | None


class Rebalance(TypedDict):
    """How clients moved between brokers within the load. A move is a connection to another broker than the one before.

    A client that closed its connection by itself begins anew. ``moved``: clients that moved at least once. ``off_ms``:
    from the old connection's end to the new one, of all moves; 0 if the new one was there before. ``flaps``:
    stays under a second that neither the client itself nor the load's limits ended. ``off_at_end``: clients connected
    to no broker. ``not_settled``: faults applied or mended after which the clients did not settle. ``settled_s``: the
    slowest; null if one did not settle, or without a fault. ``at_end``: of the least even group. ``away``: the brokers
    that faults kept away; one that joins is away from 0 on.
    """

    clients: int
    moved: int
    moves: int
    moves_per_client: MoveSpread
    off_ms: OutageSpread
    flaps: int
    off_at_end: int
    not_settled: int
    settled_s: float | None
    at_end: Evenness
    faults: list[FaultMoves]
    groups: list[GroupBalance]
    away: list[BrokerAway]


class Division(Evenness):
    """How the messages of one subscription were divided among its consumers: first deliveries, all phases.

    The evenness is of messages over consumers. ``least``, ``most``: the messages of those with the fewest and the most.
    ``idle``: consumers without any. ``brokers``: messages by the broker where they were received.
    """

    destination: str
    subscription: str
    consumers: int
    messages: int
    least: int
    most: int
    idle: int
    brokers: dict[str, int]


class Consumers(TypedDict):
    """How messages were divided among consumers. ``subscriptions``: with several consumers, all of one selector.

    ``share``: the evenness of the least even of them; null if none received anything. ``idle``: of those that received
    messages, consumers without any.
    """

    share: Evenness
    idle: int
    subscriptions: list[Division]
