"""The keys, types and units of summary.json; docs/summary.schema.json is the same for other languages.

The analysis writes it. The report, checks and users' automation read it. Absent figures are null, never 0.
"""

from typing import TypedDict

SUMMARY_VERSION = 2

VERDICTS = ("pass", "fail", "unknown", "invalid", "interrupted")
EXIT_STATUS = {"pass": 0, "fail": 1, "invalid": 3, "unknown": 4, "interrupted": 130}
"""Exit status of a run by its verdict. 2 is a run that could not be made at all."""


class Messages(TypedDict):
    """Counts of messages (not of attempts) over all phases, warm-up included; of all subscriptions together.

    ``sent``: distinct messages attempted. ``acked``/``failed``/``in_doubt``/``unconfirmed``: by the best outcome of any
    attempt, so they add up to ``sent``. ``withheld``: due and never sent, as the brokers kept their producers waiting
    until the end; not in ``sent``. ``expected``: (message, subscription) pairs that the sends ask for: a queue's
    message has one, a topic's one for each of its subscriptions. ``received``: distinct (message, subscription) pairs
    seen at least once, corrupted ones included. ``lost``: acked, expected by a subscription, never received, nowhere
    found.
    ``stranded``/``dead_lettered``: acked, not received, found on a queue / on a dead-letter queue after the drain.
    ``expired``: acked or unconfirmed, not received, and their time to live was over, by what the brokers tell: found
    among the dead letters for that, found on a queue after it, or counted by the queue's broker.
    ``unselected``: acked, not received, found on a queue none of whose consumers has a selector that matches.
    ``duplicated``: deliveries beyond the first of a (message, subscription) that the broker did not mark as
    redelivered; ``duplicated_by_resend`` is the part of them where the copies carry different attempts.
    ``redelivered``: deliveries that carry the broker's redelivered flag; ``repeated`` is the part of them beyond the
    first of a (message, subscription). ``recovered``: in_doubt, yet received.
    ``reordered``: first deliveries that came after a later one of the same producer to the same consumer.
    ``unexpected``: received, but no send attempt is on record. ``foreign``: bodies that are not this run's.
    ``unaccounted``: never received, nowhere found, and not every place could be searched: lost or not, nobody knows.
    ``missed_away``: never received by a subscriber without a durable subscription that was away: nobody owed them.
    ``missing_unconfirmed``: unconfirmed, never received, nowhere found: nobody promised them.
    ``refused_yet_received``: failed, yet received: a broker refused the message and delivered it.
    ``expired_yet_received``: received for the first time after its time to live was over.
    ``unselected_yet_received``: received for the first time by a consumer whose selector does not match.
    """

    sent: int
    acked: int
    failed: int
    in_doubt: int
    unconfirmed: int
    withheld: int
    expected: int
    received: int
    lost: int
    stranded: int
    dead_lettered: int
    expired: int
    unselected: int
    duplicated: int
    duplicated_by_resend: int
    redelivered: int
    repeated: int
    recovered: int
    reordered: int
    corrupted: int
    unexpected: int
    foreign: int
    unaccounted: int
    missed_away: int
    missing_unconfirmed: int
    refused_yet_received: int
    expired_yet_received: int
    unselected_yet_received: int


class Latency(TypedDict):
    """Milliseconds, load phase. Percentiles from the log buckets: exact to 0.8 %. ``max`` and ``min`` are exact.

    A percentile with fewer than ten messages beyond it is null: p99 takes 1,000 messages.
    """

    count: int
    negative: int
    min: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    p99_9: float | None
    p99_99: float | None
    max: float | None


class Throughput(TypedDict):
    """Messages a second over the load phase (sent: by sent time; received: first deliveries, by received time).

    ``held_per_s``: of a load in steps, the highest rate (mean of its step) that was held, with every lower one; null if
    none was, or without steps. ``core_wait_ms_per_message_…``: for how long threads were ready to run and waited for a
    core (`topologies.management.core_waits`), beside the CPU time that they used.
    """

    due_per_s: float | None
    sent_per_s: float | None
    acked_per_s: float | None
    received_per_s: float | None
    held_per_s: float | None
    cpu_ms_per_message_brokers: float | None
    cpu_ms_per_message_generator: float | None
    core_wait_ms_per_message_brokers: float | None
    core_wait_ms_per_message_generator: float | None


class Lag(TypedDict):
    """How late the generator was through its own fault: sent − ready of first attempts, load phase. Milliseconds."""

    p50: float | None
    p99: float | None
    p99_9: float | None
    max: float | None
    blocked_slots: int


class Timing(TypedDict):
    """The reliability of the latency figures. A figure is named as a check names it: ``latency_ms.<measure>.p99``.

    ``doubtful``: figure to reason. ``less_own_time_ms``: due to received, less the generator's own delay (lag of
    sends, lateness of reads). ``note``: one sentence for a reader on which figures not to rely; '' if all are sound.
    """

    sound: list[str]
    doubtful: dict[str, str]
    less_own_time_ms: dict[str, float | None]  # min, p50, p90, p99, p99_9, p99_99, max
    note: str


class WarmUpResult(TypedDict):
    """How the warm-up went, seconds. ``end``: ``fixed``, ``settled``, ``not_settled`` or ``no_latency``.

    `records.run.WarmUp` says what each means.
    """

    end: str
    lasted_s: float
    at_most_s: float


class Blocked(TypedDict):
    """The time in which brokers took nothing from producers, in all phases: periods of a second or more, of each
    producer.

    ``total_ms``: of all producers together. ``brokers``: which ones, by name.
    """

    periods: int
    total_ms: float
    longest_ms: float
    brokers: list[str]


class OutageSpread(TypedDict):
    """Milliseconds over clients that were cut off, or over moves. ``p50`` is one of them. Null: never, or none."""

    p50: float | None
    max: float | None


class Outages(TypedDict):
    """How long clients were cut off. ``cut_off``: how many lost their connection to a broker with a fault; those that
    share a connection count one by one.

    ``never_back``: of these, without a confirmed send or a receipt until the end. ``in_flight``: sends of these without
    an answer at the loss. ``outage_ms``: from the last success before the loss (at the earliest the fault's beginning)
    to the first one on the next connection. ``reconnect_ms``: from the loss to the next connection. ``ready_ms``: from
    the loss until subscriptions and sends in doubt were restored there or later. ``nothing_due``: outages during which
    none of the client's messages was due. ``lost``, ``stranded``: acked messages sent before the fault was over.
    ``duplicated``: unmarked further deliveries after it began; ``redelivered``: deliveries with the broker's flag,
    ``reordered``: first deliveries after a later message, likewise. ``late``: first deliveries of messages due from its
    first second on that took longer than the p99 band of the seconds before it (`analysis.harm`); null without those.
    A message belongs to one fault at most. ``throughput_back_s``, ``p99_back_s``: from the fault until deliveries a
    second, and p99, were in their band again and stayed there (`analysis.disturbance`); null if they never were.
    ``backlog_highest``: the most messages that were due and not received, at the end of a second after the fault.
    ``backlog_drained_s``: from the fault until they were no more than before it (`analysis.backlog`); null likewise.
    ``drain_per_s``: deliveries a second from the highest backlog until then, of several faults the lowest.
    """

    cut_off: int
    never_back: int
    nothing_due: int
    in_flight: int
    outage_ms: OutageSpread
    producers_outage_ms: OutageSpread
    consumers_outage_ms: OutageSpread
    reconnect_ms: OutageSpread
    ready_ms: OutageSpread
    lost: int
    stranded: int
    duplicated: int
    redelivered: int
    reordered: int
    late: int | None
    throughput_back_s: float | None
    p99_back_s: float | None
    backlog_highest: int | None
    backlog_drained_s: float | None
    drain_per_s: float | None


class StrandedAt(TypedDict):
    """Messages that were left on one broker's queues. ``oldest_s``: how long the oldest was there; null: unknown."""

    broker: str
    messages: int
    oldest_s: float | None


class FaultRecovery(Outages):
    """What one fault did. ``fault``: F1, F2 … by their beginnings. Seconds count from the start of the load.

    ``effective_s``, ``restored_s``: when its effect was measured, and when its broker took logins again; null if not
    measured. ``clients``: those connected as it began. ``stranded_at``: its stranded messages by broker.
    """

    fault: str
    kind: str
    target: str
    began_s: float
    effective_s: float | None
    restored_s: float | None
    clients: int
    stranded_at: list[StrandedAt]


class Recovery(Outages):
    """What all faults of the run did together: counts added up, spreads over all outages."""

    faults: list[FaultRecovery]


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


class ConnectionCounts(TypedDict):
    """The brokers' own counts of client connections beside the clients', in the load (`analysis.connection_counts`).

    ``compared``: counts of a broker in a second, around which the clients' number did not change. ``differed``: those
    of them that were not the same; ``brokers``: which ones had any.
    """

    compared: int
    differed: int
    brokers: list[str]


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


class FirstReceiptSpread(TypedDict):
    """Over destinations: milliseconds from when the first message was due to the first receipt. Null: none."""

    p50: float | None
    max: float | None


class Destinations(TypedDict):
    """Destinations that messages were sent to, in all phases. ``reached``: those of which a message was received.

    ``all_flow_s``: from when the run's first message was due until each destination had its first receipt; null if
    one never had.
    """

    count: int
    reached: int
    all_flow_s: float | None
    first_ms: FirstReceiptSpread


class MirrorMessages(TypedDict):
    """Null without a mirror."""

    max: int | None


class MirrorSeconds(TypedDict):
    """Null without a mirror, or if it is not known how old one message was."""

    max: float | None


class MirrorAtKill(TypedDict):
    """How far a mirror lagged when its broker was killed, by the last sample before. ``sampled_s``: when that was, from
    the start of the load."""

    fault: str
    broker: str
    link: str
    sampled_s: float
    lag_messages: int
    lag_s: float | None


class Mirror(TypedDict):
    """How far Artemis mirrors lagged behind in the load and after it (`analysis.mirror_lag`), sampled once a second.

    ``lag_messages``: what a broker had queued for its copy: sends, acknowledgements, new queues. ``lag_s``: no message
    in that queue was older; the oldest is younger by the time between two samples at most. ``at_kill``: of each mirror
    of a killed broker.
    """

    lag_messages: MirrorMessages
    lag_s: MirrorSeconds
    at_kill: list[MirrorAtKill]


class KindCounts(TypedDict):
    """Messages of one kind, all phases; a topic's message counts once for each subscription.

    ``expected``: sent, whatever came of the send. ``acked``: confirmed by a broker; non-persistent messages are not.
    ``undelivered``: acked or unconfirmed, owed and not received: lost, missing_unconfirmed, stranded, and what is
    unaccounted for, expired or a dead letter. ``stranded``: found where it waits, acked or not. ``missed_away``: not
    owed. The others as in `Messages`.
    """

    subscriptions: int
    expected: int
    acked: int
    received: int
    undelivered: int
    lost: int
    missing_unconfirmed: int
    stranded: int
    unaccounted: int
    missed_away: int
    duplicated: int
    redelivered: int


class Unplanned(TypedDict):
    """An outage that no fault of the run was meant to bring about (`analysis.unplanned`). Seconds count from the load.

    ``what``: silent (for two seconds or more the broker confirmed and delivered nothing, while ``clients`` waited) or
    lost connections (so many ``clients`` lost theirs). ``until_s``: when it answered again, or when the last of these
    clients was connected again; null if one never was.
    """

    broker: str
    what: str
    from_s: float
    until_s: float | None
    clients: int


class Limit(TypedDict):
    """What limited a load in steps: of the lowest rate that was not held (`analysis.limits`). Null if every rate was.

    ``limited_by``: host (brokers and load generator share a machine, and its cores were used up), generator, link,
    consumers, brokers (they kept producers waiting), latency (only the p99 was too high) or unknown. ``why``: the same
    as a sentence. ``machine_busy_share``: of all cores, whoever used them. ``brokers_cores``, ``generator_cores``: how
    many cores each used.
    """

    not_held_per_s: float | None
    limited_by: str | None
    why: str
    machine_busy_share: float | None
    brokers_cores: float | None
    generator_cores: float | None


class StepResult(TypedDict):
    """What came of one step of a load whose rate changes (`analysis.steps`). Seconds count from the start of the load.

    ``from_per_s``, ``to_per_s``: the messages a second that were asked for, at the step's beginning and end.
    ``due_per_s`` … ``received_per_s``: what happened within the step, a second; received counts every delivery.
    ``backlog``: deliveries still to come at its end, of all that was sent by then. ``due_to_received_ms``: of the
    messages that were due in it. ``held``: of what was due after the step's first fifth, at least 99 % was sent, and
    received, until its end. Its backlog was then no more than a second's messages. Where a load searches for the
    highest rate, its p99 was within the search's limit too.
    """

    from_per_s: float
    to_per_s: float
    from_s: float
    until_s: float
    due_per_s: float
    sent_per_s: float
    acked_per_s: float
    received_per_s: float
    backlog: int
    due_to_received_ms: Latency
    held: bool


class CheckResult(TypedDict):
    name: str
    metric: str
    value: float | None
    rule: str  # "<= 0"
    outcome: str  # pass | fail | unknown


class Summary(TypedDict):
    summary_version: int
    run_id: str
    scenario: str
    topology: str
    runtime: str
    protocol: str
    verdict: str
    reasons: list[str]
    messages: Messages
    throughput: Throughput
    latency_ms: dict[str, Latency]  # due_to_received, sent_to_received, sent_to_settled
    timing: Timing
    warm_up: WarmUpResult
    lag_ms: Lag
    blocked: Blocked
    recovery: Recovery
    rebalance: Rebalance
    connection_counts: ConnectionCounts
    consumers: Consumers
    destinations: Destinations
    mirror: Mirror
    kinds: dict[str, KindCounts]  # by records.figures.KINDS, those that the run had
    unplanned: list[Unplanned]  # outages
    steps: list[StepResult]  # of a load whose rate changes: those that it went through to their ends
    limit: Limit  # of such a load
    clocks: dict[str, float]  # error_bound_ms
    checks: list[CheckResult]
    phases: dict[str, float]  # seconds: up, warm_up, load, drain, browse, down
    leftovers: int  # messages of this run on any queue, or held for durable subscriptions, after the drain
    foreign_leftovers: int  # others found there
    wall: str  # ISO 8601 start of the load
