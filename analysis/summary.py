"""Makes summary.json out of the results of a run. Plain values and Arrow in, a `Summary` out; no Spark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

from analysis import figures
from analysis.checks import evaluate
from analysis.client_steps import client_steps
from analysis.disturbance import by_second
from analysis.fault_spans import FaultSpan
from analysis.limits import limit
from analysis.message_outcomes import NOBODY
from analysis.offered_rate import Judged, Tables, offered_rate
from analysis.premises import unmet
from analysis.regions import by_region
from analysis.steps import held_per_s, step_results
from analysis.timing import Clocks, doubtful_recovery, doubtful_regions, judge_timing
from analysis.verdict import Evidence, FailedFault, judge
from records.clients import ConnectionCounts, Consumers, Rebalance
from records.faults import Recovery, Unplanned
from records.load import Blocked, StepResult, Throughput, WarmUpResult
from records.messages import Destinations, KindCounts, LeftBehind, Messages
from records.network import Mirror
from records.run import Phases, ProcessInfo, RunInfo
from records.summary import SUMMARY_VERSION, Summary
from records.units import NS_PER_MS, NS_PER_S

OUTCOMES = ("acked", "failed", "in_doubt", "unconfirmed")


@dataclass(frozen=True)
class Findings:
    """What Spark computed. Tables are Arrow.

    outcomes: messages by best outcome. accounting: with the columns beyond the result table. latency: with min_ns,
    max_ns and impossible. rates, resources: the result tables. by_consumer: the result table consumers. load: messages
    due, sent, acked, received within the load, and blocked_slots.
    leftovers: messages found on queues, foreign_leftovers included.
    cores: cpu_ns and core_wait_ns within the load, as analysis.resources.cores_in_load has them. blocked: as
    analysis.blocked has it.
    recovery, rebalance, connection_counts, consumers, kinds, unplanned: as the modules of these names have them.
    refused: messages by broker, as analysis.refused has it. left_behind: rows of analysis.left_behind.
    destinations: as analysis.first_receipts has it, mirror: as analysis.mirror_lag has it.
    unsearched: why messages are unaccounted for, beside what the run itself tells.
    attempts: of a load whose clients become more, the events that analysis.client_steps reads.
    faults: those that had an effect.
    """

    outcomes: Mapping[str, int]
    accounting: pa.Table
    latency: pa.Table
    rates: pa.Table
    resources: pa.Table
    by_consumer: pa.Table
    load: Mapping[str, int]
    cores: Mapping[str, Mapping[str, Any]]
    blocked: Mapping[str, Any]
    recovery: Recovery
    rebalance: Rebalance
    connection_counts: ConnectionCounts
    consumers: Consumers
    destinations: Destinations
    mirror: Mirror
    kinds: Mapping[str, KindCounts]
    unplanned: list[Unplanned]
    refused: Mapping[str, int]
    left_behind: list[LeftBehind]
    leftovers: int
    foreign_leftovers: int
    load_s: float | None
    clock_error_ns: int
    problems: tuple[str, ...] = ()
    failed_faults: tuple[FailedFault, ...] = ()
    unsearched: tuple[str, ...] = ()
    attempts: Sequence[Mapping[str, Any]] = ()
    faults: Sequence[FaultSpan] = ()


def summarise(info: RunInfo, found: Findings) -> Summary:
    """The whole summary, verdict included."""
    latency_ms, of_steps = figures.latency_ms(found.latency), steps(info, found)
    judged = of_offered_rate(info, found)
    less_own_ms = figures.less_own_ms(found.latency)
    summary = Summary(
        summary_version=SUMMARY_VERSION,
        run_id=info.run_id,
        scenario=info.scenario,
        topology=info.topology,
        runtime=info.runtime,
        protocol=info.protocol,
        verdict="",
        reasons=[],
        messages=messages(found, info.withheld),
        throughput=throughput(found, held_per_s(of_steps)),
        offered_rate=judged.rate,
        latency_ms=latency_ms,
        timing=judge_timing(latency_ms, less_own_ms, clocks(info, found), judged.doubts),
        warm_up=WarmUpResult(end=info.warm_up.end, lasted_s=info.warm_up.lasted_s, at_most_s=info.warm_up.at_most_s),
        lag_ms=figures.lag_ms(found.latency, found.load["blocked_slots"]),
        blocked=blocked(found),
        recovery=found.recovery,
        rebalance=found.rebalance,
        connection_counts=found.connection_counts,
        connections=client_steps(info, found.attempts, found.load_s, found.latency, found.resources),
        consumers=found.consumers,
        destinations=found.destinations,
        regions=by_region(found.latency, info.brokers, found.load_s),
        mirror=found.mirror,
        kinds=dict(found.kinds),
        unplanned=found.unplanned,
        refused=dict(found.refused),
        left_behind=found.left_behind,
        steps=of_steps,
        limit=limit(info, of_steps, found.resources, found.latency, found.by_consumer),
        clocks={"error_bound_ms": found.clock_error_ns / NS_PER_MS},
        checks=[],
        phases={**phases_s(info.phases), **info.durations_s},
        leftovers=found.leftovers - found.foreign_leftovers,
        foreign_leftovers=found.foreign_leftovers,
        wall=load_began_wall(info.phases, info.processes),
    )
    if judged.cause:
        doubts = doubtful_recovery(found.recovery, judged.cause) if found.recovery["faults"] else {}
        summary["timing"]["doubtful"] |= {**doubts, **doubtful_regions(summary["regions"], judged.cause)}
    summary["checks"] = evaluate(info.checks, summary)
    verdict = judge(evidence(info, found, summary))
    summary["verdict"], summary["reasons"] = verdict.verdict, list(verdict.reasons)
    return summary


def of_offered_rate(info: RunInfo, found: Findings) -> Judged:
    """Whether deliveries kept up with what was due."""
    tables = Tables(found.rates, found.latency, found.resources, found.by_consumer)
    return offered_rate(info, found.faults, found.load_s, copies_of_each(found.accounting, found.rates), tables)


def evidence(info: RunInfo, found: Findings, summary: Summary) -> Evidence:
    unaccounted = summary["messages"]["unaccounted"]
    return Evidence(
        state=info.state,
        problems=tuple(dict.fromkeys((*info.problems, *found.problems, *unmet(info.premises, summary)))),
        unknowns=tuple(text for text in info.unknowns if text not in info.unsearched or not unaccounted),
        unsearched=(*info.unsearched, *found.unsearched),
        messages=summary["messages"],
        lag=summary["lag_ms"],
        checks=summary["checks"],
        doubtful=summary["timing"]["doubtful"],
        failed_faults=found.failed_faults,
    )


def clocks(info: RunInfo, found: Findings) -> Clocks:
    return Clocks(found.clock_error_ns / NS_PER_MS, figures.impossible(found.latency), info.clock_doubts)


def messages(found: Findings, withheld: int) -> Messages:
    """Messages by outcome, and what the subscriptions together made of them."""
    of_outcome = {name: found.outcomes.get(name, 0) for name in OUTCOMES}
    known = of_outcome | {
        "sent": sum(of_outcome.values()),
        "withheld": withheld,
        "expected": expected(found.accounting),
    }

    def total(column: str) -> int:
        return int(pc.sum(found.accounting[column]).as_py() or 0)

    names = get_type_hints(Messages)
    return cast(Messages, {name: known[name] if name in known else total(name) for name in names})


def steps(info: RunInfo, found: Findings) -> list[StepResult]:
    """What came of each step, where the rate of the load changes."""
    copies = copies_of_each(found.accounting, found.rates)
    return step_results(info.rate_steps, found.rates, found.latency, found.load_s, copies, info.held_p99_ms)


def copies_of_each(accounting: pa.Table, rates: pa.Table) -> float:
    """How many deliveries a message should have: as many as its destination has subscriptions, on average.

    A queue's message that no consumer's selector matches should have none.
    """
    due = sum(by_second(rates, "due").values())
    owed = expected(accounting) - int(pc.sum(accounting["unselected"]).as_py() or 0)
    return owed / due if due else 1.0


def expected(accounting: pa.Table) -> int:
    """(message, subscription) pairs: a topic's message that nobody was subscribed for has none."""
    subscribed = accounting.filter(pc.not_equal(accounting["subscription"], NOBODY))
    return int(pc.sum(subscribed["sent"]).as_py() or 0)


def throughput(found: Findings, held: float | None) -> Throughput:
    """Null where the load's length is unknown, or CPU was not sampled, or nothing was received."""

    def per_s(event: str) -> float | None:
        return found.load[event] / found.load_s if found.load_s else None

    def ms_per_message(metric: str, of: str) -> float | None:
        used_ns, received = found.cores.get(metric, {}).get(of), found.load["received"]
        return used_ns / NS_PER_MS / received if used_ns is not None and received else None

    return Throughput(
        due_per_s=per_s("due"),
        sent_per_s=per_s("sent"),
        acked_per_s=per_s("acked"),
        received_per_s=per_s("received"),
        held_per_s=held,
        cpu_ms_per_message_brokers=ms_per_message("cpu_ns", "brokers_ns"),
        cpu_ms_per_message_generator=ms_per_message("cpu_ns", "generator_ns"),
        core_wait_ms_per_message_brokers=ms_per_message("core_wait_ns", "brokers_ns"),
        core_wait_ms_per_message_generator=ms_per_message("core_wait_ns", "generator_ns"),
    )


def blocked(found: Findings) -> Blocked:
    return Blocked(
        periods=found.blocked["periods"],
        total_ms=found.blocked["total_ns"] / NS_PER_MS,
        longest_ms=found.blocked["longest_ns"] / NS_PER_MS,
        brokers=list(found.blocked["brokers"]),
    )


def phases_s(phases: Phases) -> dict[str, float]:
    """Lengths in seconds of the phases with both ends reached."""
    ends_ns = {
        "warm_up": (phases.warm_up_began_ns, phases.load_began_ns),
        "load": (phases.load_began_ns, phases.load_ended_ns),
        "drain": (phases.load_ended_ns, phases.drain_ended_ns),
        "browse": (phases.drain_ended_ns, phases.browse_ended_ns),
    }
    return {
        name: (ended - began) / NS_PER_S
        for name, (began, ended) in ends_ns.items()
        if began is not None and ended is not None
    }


def load_began_wall(phases: Phases, processes: tuple[ProcessInfo, ...]) -> str:
    """ISO 8601 UTC, by the master's one reading of both clocks; '' when the load never began."""
    if phases.load_began_ns is None or not processes:
        return ""
    master = min(processes, key=lambda process: process.index)
    wall_ns = master.wall_ns + phases.load_began_ns - master.monotonic_ns
    return datetime.fromtimestamp(wall_ns / NS_PER_S, UTC).isoformat(timespec="milliseconds")
