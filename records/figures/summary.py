"""Declares summary.json: the verdict of a run, its checks, and the parts that its topics declare.

The analysis writes it. The report, checks and users' automation read it. Absent figures are null, never 0.
docs/summary.schema.json and docs/figures.md are made from it (`records.documents`).
"""

from typing import Annotated, TypedDict

from records.figures.clients import ConnectionCounts, Connections, Consumers, Rebalance
from records.figures.declaration import (
    FAULTS,
    MIRROR,
    MORE_CLIENTS,
    REGIONS,
    STEPS,
    figure,
    figures_of,
    in_ms,
    in_s,
    means,
    of_messages,
)
from records.figures.faults import Recovery, Unplanned
from records.figures.latency import MEASURES, Lag, Latency, LatencyByLabel, Regions, Timing
from records.figures.load import Blocked, Limit, OfferedRate, StepResult, Throughput, WarmUpResult
from records.figures.messages import KINDS, Destinations, KindCounts, LeftBehind, Messages
from records.figures.network import LinkTraffic, MirrorResult
from records.verdicts import VERDICTS

SUMMARY_VERSION = 3

OUTCOMES = ("pass", "fail", "unknown")
PHASES = ("up", "prove", "clients", "warm_up", "load", "drain", "browse", "down")


class CheckResult(TypedDict):
    """One of the scenario's checks: metric is a dotted path into this file, rule is the condition for its value."""

    name: str
    metric: str
    value: float | None
    rule: str
    outcome: Annotated[str, means("Whether the check holds.", enum=OUTCOMES)]


class AbortResult(TypedDict):
    """A condition of --abort-on that ended the load, and whether the analysis of all events confirms it."""

    condition: Annotated[str, means("As on the command line.")]
    figure: Annotated[str, means("The figure of the condition: a dotted path into this file.")]
    value: Annotated[float, means("The value of the figure when the load was ended, as counted live.")]
    rule: Annotated[str, means("The rule that the value met, such as > 500.")]
    at_s: Annotated[float, in_s("When the load was ended, in seconds since the load began, or the warm-up.")]
    in_warm_up: Annotated[bool, means("Whether the warm-up was still going on.")]
    analysed: Annotated[float | None, means("The value of the figure by the analysis.")]
    confirmed: Annotated[
        bool | None,
        means("Whether the analyzed value meets the rule too. Null if the live figures included the warm-up."),
    ]


class Summary(TypedDict):
    """The results of a run. Figures that could not be measured are null, never 0."""

    summary_version: Annotated[int, means("Version of this format.", const=SUMMARY_VERSION)]
    run_id: Annotated[str, means("Name of the run's folder.")]
    scenario: Annotated[str, means("The locustfile's name.")]
    topology: Annotated[str, means("As on the command line, such as mesh(brokers=3).")]
    runtime: Annotated[str, means("Where the brokers ran: processes, containers, external, memory.")]
    protocol: Annotated[str, means("The protocols of the clients.")]
    verdict: Annotated[
        str,
        means(
            "Only pass is a pass. Exit statuses: pass 0, fail 1, invalid 3, unknown 4, interrupted 130; 2: "
            "the run could not be completed.",
            enum=VERDICTS,
        ),
    ]
    reasons: Annotated[list[str], means("The reasons for the verdict, one sentence each.")]
    messages: Messages
    throughput: Throughput
    offered_rate: OfferedRate
    latency_ms: Annotated[dict[str, Latency], figure("By measure.", keys=MEASURES)]
    latency_by: Annotated[LatencyByLabel, means("Latency from due to received by consumer class and destination.")]
    timing: Timing
    warm_up: WarmUpResult
    lag_ms: Lag
    blocked: Blocked
    recovery: Annotated[Recovery, figure(needs=FAULTS)]
    rebalance: Rebalance
    connection_counts: ConnectionCounts
    connections: Annotated[Connections, figure(needs=MORE_CLIENTS)]
    consumers: Consumers
    destinations: Destinations
    regions: Annotated[Regions, figure(needs=REGIONS)]
    links: LinkTraffic
    mirror: Annotated[MirrorResult, figure(needs=MIRROR)]
    kinds: Annotated[dict[str, KindCounts], figure("Messages by kind. Only kinds that the run had.", keys=KINDS)]
    unplanned: Annotated[list[Unplanned], means("Outages that no fault of the run was meant to cause.")]
    refused: Annotated[
        dict[str, int],
        means(
            "Messages that a broker rejected, by the broker of the last attempt. The rest of messages.failed "
            "was never written."
        ),
    ]
    left_behind: Annotated[
        list[LeftBehind],
        means(
            "Messages of this run on queues after the drain, or held for durable subscriptions, by queue, broker "
            "and outcome. They add up to leftovers."
        ),
    ]
    steps: Annotated[
        list[StepResult],
        means("The completed steps of a load whose rate changes. Empty if the rate is constant."),
    ]
    limit: Annotated[Limit, figure(needs=STEPS)]
    clocks: Annotated[
        dict[str, float],
        in_ms(
            "Largest possible disagreement between the clocks of the recording hosts; 0 on one host.",
            keys=("error_bound_ms",),
        ),
    ]
    checks: list[CheckResult]
    aborted: Annotated[
        list[AbortResult],
        means("The conditions of --abort-on that ended the load. Empty if the load was not aborted."),
    ]
    phases: Annotated[dict[str, float], in_s("Duration of each phase in seconds.", keys=PHASES)]
    leftovers: Annotated[
        int,
        of_messages(
            "Messages of this run found on any queue after the drain, including dead-letter queues, or held for"
            " durable subscriptions that no client used any longer."
        ),
    ]
    unsent_leftovers: Annotated[
        int, of_messages("Leftovers without a recorded send: rows of the run's events are missing.")
    ]
    foreign_leftovers: Annotated[
        int,
        of_messages(
            "Messages found on these queues that are not of this run, or cannot be attributed to it. They do "
            "not affect the verdict."
        ),
    ]
    wall: Annotated[str, means("When the load began: ISO 8601.")]


FIGURES = {declared.path: declared for declared in figures_of(Summary)}
"""Every figure that a check can use, by its dotted path, in the order of the summary."""
RENAMED = {f"kinds.{kind}.stranded": f"kinds.{kind}.pending" for kind in KINDS}
"""Renamed figures: current names by former names."""
