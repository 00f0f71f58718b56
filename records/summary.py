"""What does summary.json say? Its keys, types and units; docs/summary.schema.json is the same for other languages.

Written by the analysis, read by the report, by checks and by whoever automates. Absent figures are null, never 0.
"""

from typing import TypedDict

SUMMARY_VERSION = 1

VERDICTS = ("pass", "fail", "unknown", "invalid", "interrupted")
EXIT_STATUS = {"pass": 0, "fail": 1, "invalid": 3, "unknown": 4, "interrupted": 130}
"""Exit status of a run by its verdict. 2 is a run that could not be made at all."""


class Messages(TypedDict):
    """Counts of messages (not of attempts) over all phases, warm-up included; of all subscriptions together.

    ``sent``: distinct messages attempted. ``acked``/``failed``/``in_doubt``/``unconfirmed``: by the best outcome of
    any attempt, so that they add up to ``sent``. ``received``: distinct (message, subscription) pairs seen at least
    once, corrupted ones included. ``lost``: acked, expected by a subscription, never received, nowhere found.
    ``stranded``/``dead_lettered``: acked, not received, found on a queue / on a dead-letter queue after the drain.
    ``duplicated``: deliveries beyond the first of a (message, subscription) that the broker did not mark as
    redelivered; ``duplicated_by_resend`` is the part of them where the copies carry different attempts.
    ``redelivered``: deliveries that carry the broker's redelivered flag. ``recovered``: in_doubt, yet received.
    ``reordered``: first deliveries that came after a later one of the same producer to the same consumer.
    ``unexpected``: received, but no send attempt is on record. ``foreign``: bodies that are not this run's.
    ``missing_unconfirmed``: unconfirmed, never received, nowhere found: nobody promised them.
    """

    sent: int
    acked: int
    failed: int
    in_doubt: int
    unconfirmed: int
    received: int
    lost: int
    stranded: int
    dead_lettered: int
    duplicated: int
    duplicated_by_resend: int
    redelivered: int
    recovered: int
    reordered: int
    corrupted: int
    unexpected: int
    foreign: int
    missing_unconfirmed: int


class Latency(TypedDict):
    """Milliseconds, load phase. Percentiles from the log buckets: exact to 0.8 %. ``max`` and ``min`` are exact."""

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
    """Messages a second over the load phase (sent: by sent time; received: first deliveries, by received time)."""

    due_per_s: float | None
    sent_per_s: float | None
    acked_per_s: float | None
    received_per_s: float | None
    cpu_ms_per_message_brokers: float | None
    cpu_ms_per_message_generator: float | None


class Lag(TypedDict):
    """How late the generator was: sent − due of first attempts, load phase outside fault windows. Milliseconds."""

    p50: float | None
    p99: float | None
    p99_9: float | None
    max: float | None
    limit_p99: float
    blocked_slots: int


class Blocked(TypedDict):
    """For how long brokers took nothing from producers, all phases: periods of a second or more, of each producer.

    ``total_ms``: of all producers together. ``brokers``: which ones, by name.
    """

    periods: int
    total_ms: float
    longest_ms: float
    brokers: list[str]


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
    lag_ms: Lag
    blocked: Blocked
    clocks: dict[str, float]  # error_bound_ms
    checks: list[CheckResult]
    phases: dict[str, float]  # seconds: up, warm_up, load, drain, browse, down
    leftovers: int
    wall: str  # ISO 8601 start of the load
