"""The keys, types and units of summary.json; docs/summary.schema.json is the same for other languages.

The analysis writes it. The report, checks and users' automation read it. Absent figures are null, never 0.
"""

from typing import TypedDict

from records.balance import Consumers, Rebalance
from records.recovery import Recovery

SUMMARY_VERSION = 3

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
    ``left_unconfirmed``: unconfirmed, not received, found on a queue. ``failed_not_received``,
    ``in_doubt_not_received``: failed, and in_doubt, and not received, by (message, subscription).
    ``unowed_yet_received``: received by a subscription that it was not expected of: no send attempt is on record, it
    was sent before the subscription began, or the selector of the topic's subscription does not match.

    ``received`` less ``unowed_yet_received``, and all of NOT_RECEIVED, add up to ``expected``.
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
    left_unconfirmed: int
    failed_not_received: int
    in_doubt_not_received: int
    unowed_yet_received: int


NOT_RECEIVED = {
    "failed_not_received": "refused by a broker, or never written to one",
    "lost": "lost",
    "unaccounted": "unaccounted for",
    "missed_away": "missed by subscribers that were away",
    "stranded": "left on a queue",
    "left_unconfirmed": "unconfirmed and left on a queue",
    "dead_lettered": "sent to a dead-letter queue",
    "expired": "expired",
    "unselected": "left on a queue as no selector matches",
    "missing_unconfirmed": "unconfirmed and missing",
    "in_doubt_not_received": "in doubt and not received",
}
"""What becomes of a (message, subscription) of ``expected`` that is not received: one of these counts of `Messages`, in
words."""


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

    ``doubtful``: figure to reason; outages, times of recovery and latencies by region too, if a backlog made them that
    was not the brokers' (`OfferedRate`). ``less_own_time_ms``: due to received, less the generator's own delay (lag of
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


class ConnectionCounts(TypedDict):
    """The brokers' own counts of client connections beside the clients', in the load (`analysis.connection_counts`).

    ``compared``: counts of a broker in a second, around which the clients' number did not change. ``differed``: those
    of them that were not the same; ``brokers``: which ones had any.
    """

    compared: int
    differed: int
    brokers: list[str]


class ConnectSpread(TypedDict):
    """Milliseconds from a client's first attempt to its first connection. Null: none was connected."""

    p50: float | None
    max: float | None


class ConnectionStep(TypedDict):
    """The result of one step of a load whose clients become more (`analysis.client_steps`). Seconds count from the
    start of the load.

    ``clients``: so many were to be connected at its end, ``begun``: had tried by then, ``connected``: were.
    ``refused``: clients with a failed attempt in the step: a broker refused, hung up or did not answer.
    ``refused_by``: how many by each broker. ``connect_ms``: of the clients that first tried in the step, or before it
    if it is the first. ``due_to_received_ms``: of the messages that were due in it. ``held``: all were connected at its
    end, and both times were within the limits.
    """

    clients: int
    from_s: float
    until_s: float
    begun: int
    connected: int
    refused: int
    refused_by: dict[str, int]
    connect_ms: ConnectSpread
    due_to_received_ms: Latency
    held: bool


class Connections(TypedDict):
    """Connections as a capacity: of a load whose clients become more. Null without one.

    ``held``: the most clients that were connected at the end of a step, with both times within their limits.
    ``not_held``: the clients of the first step that was not held; null if every step was. ``limited_by``: refused (by
    ``brokers``), host, generator (it did not begin in time, or sent late), connecting (clients were not connected at
    the end, or took too long) or latency. ``why``: the same as a sentence.
    """

    held: int | None
    not_held: int | None
    limited_by: str | None
    brokers: list[str]
    why: str
    steps: list[ConnectionStep]


class Regions(TypedDict):
    """Latency from due to received, load phase, by regions (`analysis.regions`): of messages that were received in the
    region of the broker that took them, and of those that crossed. ``across_per_s``: how many of these a second."""

    within: Latency
    across: Latency
    across_per_s: float | None


class FirstReceiptSpread(TypedDict):
    """Over destinations: milliseconds from when the first message was due to the first receipt. Null: none."""

    p50: float | None
    max: float | None


class Destinations(TypedDict):
    """Destinations that messages were sent to, in all phases. ``reached``: those with a received message.

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
    ``undelivered``: acked or unconfirmed, owed and not received: lost, missing_unconfirmed, pending, and what is
    unaccounted for, expired or a dead letter. ``pending``: on a queue, or held for a durable subscription, acked
    (`Messages.stranded`) or not (`Messages.left_unconfirmed`). ``missed_away``: not owed. The others as in `Messages`.

    ``received`` less ``unowed_yet_received``, ``undelivered``, ``missed_away``, ``unselected``, ``failed_not_received``
    and ``in_doubt_not_received`` add up to ``expected``.
    """

    subscriptions: int
    expected: int
    acked: int
    received: int
    undelivered: int
    lost: int
    missing_unconfirmed: int
    pending: int
    unaccounted: int
    missed_away: int
    unselected: int
    failed_not_received: int
    in_doubt_not_received: int
    unowed_yet_received: int
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


class LeftBehind(TypedDict):
    """Messages of this run that were on a queue of a broker after the drain, or held for a durable subscription.

    ``outcome``: stranded, unselected, dead_lettered, expired (as in `Messages`), left_unconfirmed, in_doubt (neither
    was received), failed, or copy (it was received, or found elsewhere too).
    """

    queue: str
    broker: str
    outcome: str
    messages: int


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


class OfferedRate(TypedDict):
    """Whether deliveries kept up with what was due, faults aside (`analysis.offered_rate`). Seconds count from the
    start of the load.

    ``held``: false if a backlog grew without a fault, or messages were never sent. Null: not judged; ``why`` says the
    reason. ``from_s``, ``until_s``: the seconds that tell, of a rate that was held the longest that were judged; null
    if none were. ``owed_per_s``, ``received_per_s``: deliveries a second within them that were due, and that came.
    ``backlog``: how many still waited at their end. ``limited_by``: as in `Limit`; null unless the rate was not held.
    ``why``: the same as a sentence. ``note``: sentences for a reader; '' unless the rate was not held.
    """

    held: bool | None
    from_s: float | None
    until_s: float | None
    owed_per_s: float | None
    received_per_s: float | None
    backlog: int | None
    limited_by: str | None
    why: str
    note: str


class StepResult(TypedDict):
    """The result of one step of a load whose rate changes (`analysis.steps`). Seconds count from the start of the load.

    ``from_per_s``, ``to_per_s``: the messages a second that were asked for, at the step's beginning and end.
    ``due_per_s`` … ``received_per_s``: what happened within the step, a second; received counts every delivery.
    ``backlog``: deliveries still to come at its end, of all that was sent by then. ``due_to_received_ms``: of the
    messages that were due in it. ``held``: of the messages that were due after the step's first fifth, at least 99 %
    were sent, and received, until its end. Its backlog was then no more than a second's messages. Where a load searches
    for the highest rate, its p99 was within the search's limit too.
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
    offered_rate: OfferedRate
    latency_ms: dict[str, Latency]  # due_to_received, sent_to_received, sent_to_settled; round_trip, if replies came
    timing: Timing
    warm_up: WarmUpResult
    lag_ms: Lag
    blocked: Blocked
    recovery: Recovery
    rebalance: Rebalance
    connection_counts: ConnectionCounts
    connections: Connections  # of a load whose clients become more
    consumers: Consumers
    destinations: Destinations
    regions: Regions
    mirror: Mirror
    kinds: dict[str, KindCounts]  # by records.figures.KINDS, those that the run had
    unplanned: list[Unplanned]  # outages
    refused: dict[str, int]  # messages, by the broker that refused their last attempt; in messages.failed
    left_behind: list[LeftBehind]  # with most messages first; they add up to leftovers
    steps: list[StepResult]  # of a load whose rate changes: those that it went through to their ends
    limit: Limit  # of such a load
    clocks: dict[str, float]  # error_bound_ms
    checks: list[CheckResult]
    phases: dict[str, float]  # seconds: up, warm_up, load, drain, browse, down
    leftovers: int  # messages of this run on any queue, or held for durable subscriptions, after the drain
    foreign_leftovers: int  # others found there
    wall: str  # ISO 8601 start of the load
