"""Finds what limited a load: a resource that was used up, or a place where messages waited.

Looks only at seconds when the rate was not held. For a load in steps, these are the judged seconds
(`records.loads.rate_steps`) of the lowest step that was not held. For other loads, `analysis.load.offered_rate` selects
the seconds. Runs on the driver, on few rows.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from analysis.latency.figures import LAG
from analysis.latency.seconds import LatencyBySecond
from analysis.latency.timing import FROM_DUE
from analysis.load.steps import held_per_s, mean_per_s, within_seconds
from records.figures.load import Limit, StepResult
from records.figures.step_judgement import TAIL, p99_violation
from records.loads.rate_steps import LEAST_SHARE, judged_seconds
from records.run import CONSUMER, PRODUCER, RunInfo
from records.units import NS_PER_S

ALL_USED = 0.85
"""A machine is used up if at least this share of all cores is in use. The rest is lost to waits between threads."""
LATE_MS = 50.0
"""The load generator is the limit if it delayed half of the sends by more than this, not counting broker delays."""
ONE_CORE = 0.9
"""A process with Python clients runs on one core. It has used up the core at this share."""
IN_PYTHON = ("stomp", "amqp", "memory")
"""Protocols whose clients are written in Python."""
STARVED_SHARE = 0.5
"""A process lacks CPU if its threads waited for a core for this share of their running time.

It can only be the limit if its threads ran or waited for nearly a whole core. Otherwise, even a single thread had time
to spare.
"""
SHARE_USED, THROTTLED_SHARE = 0.85, 0.5
"""With a CPU quota, a broker is the limit if it used at least this share of its quota, and was throttled in at least
this share of the quota's periods. Short bursts of several threads are throttled too, far below the quota."""
MOST_OF_BACKLOG, LEAST_GROWN_S, LEAST_GROWN = 0.5, 0.05, 10
"""Messages pile up on a broker if its queues grew by at least this share of the backlog, by the messages due in this
many seconds, and by this many messages."""

NOTHING = Limit(
    not_held_per_s=None,
    limited_by=None,
    why="",
    machine_busy_share=None,
    brokers_cores=None,
    generator_cores=None,
)


@dataclass(frozen=True)
class ThrottledBroker:
    """A broker with a CPU quota. ``throttled_share``: share of the quota's periods in which it was used up."""

    cores: float
    throttled_share: float


@dataclass(frozen=True)
class ResourceUse:
    """CPU use in cores; None if not sampled. ``grown``: increase of messages by (broker, queue).

    ``busiest``: cores used by the busiest load generator process. ``demands``: for each process, the cores that its
    threads used and the cores that they waited for; empty if not sampled. ``throttled``: by broker with a CPU quota.
    """

    cores: int
    busy: float | None
    brokers: float | None
    generator: float | None
    grown: Mapping[tuple[str, str], int]
    busiest: float = 0.0
    demands: tuple[tuple[float, float], ...] = ()
    throttled: Mapping[str, ThrottledBroker] = field(default_factory=dict)

    @property
    def ours(self) -> float:
        return (self.brokers or 0.0) + (self.generator or 0.0)

    @property
    def all_in_use(self) -> bool:
        """Whether the machine's cores were in use by any programs."""
        return bool(self.cores) and self.busy is not None and self.busy >= ALL_USED * self.cores

    @property
    def split(self) -> str:
        """Cores used by brokers and load generator, in words."""
        return f"brokers {self.brokers or 0.0:.1f}, load generator {self.generator or 0.0:.1f}"


@dataclass(frozen=True)
class Overload:
    """Seconds of the load when a rate was not held. ``backlog``: deliveries that waited at the end of them.

    ``slow``: why p99 was too high; empty if p99 was not the reason. ``slow_by_us``: whether p99 would have been within
    its limit without the load generator's own delay.
    """

    seconds: range
    due_per_s: float
    sent_per_s: float
    backlog: int
    slow: str = ""
    slow_by_us: bool = False


def limit(
    info: RunInfo, steps: Sequence[StepResult], resources: pa.Table, latency: LatencyBySecond, consumers: pa.Table
) -> Limit:
    """Return the limit at the lowest rate that was not held; `NOTHING` if all rates were held or are unknown.

    ``consumers``: the result table.
    """
    held = held_per_s(steps) or 0.0
    lost = [step for step in steps if step["held"] is False and mean_per_s(step) > held]
    if not lost:
        return NOTHING
    step = min(reversed(lost), key=mean_per_s)  # the last attempt at the lowest rate
    seconds = judged_seconds(round(step["from_s"]), round(step["until_s"]))
    slow = step["why"] if step["broken"] == TAIL else ""
    slow_by_us = bool(slow) and _in_time_without_us(latency, seconds, info.held_p99_ms)
    overload = Overload(seconds, step["due_per_s"], step["sent_per_s"], step["backlog"], slow, slow_by_us)
    use, limited_by, why = what_limited(info, overload, resources, latency, consumers)
    return Limit(
        not_held_per_s=mean_per_s(step),
        limited_by=limited_by,
        why=why,
        machine_busy_share=None if use.busy is None or not use.cores else min(1.0, use.busy / use.cores),
        brokers_cores=use.brokers,
        generator_cores=use.generator,
    )


def _in_time_without_us(latency: LatencyBySecond, seconds: range, most_ms: float | None) -> bool:
    """Return whether p99 from due to received, less the load generator's own delay, is known to be within a limit."""
    less_own = latency.counts(FROM_DUE, seconds, "count_less_own")
    return bool(less_own) and most_ms is not None and not p99_violation(less_own, most_ms)


def check_generator_p99(use: ResourceUse, overload: Overload) -> tuple[str, str] | None:
    """Return (limit, reason) if p99 was too high, and the load generator or other programs may have caused it."""
    if overload.slow and use.all_in_use:
        return "host", (
            f"the {use.cores} cores of the machine were in use, by other programs too ({use.split}), while "
            f"{overload.slow}"
        )
    if overload.slow_by_us:
        return "generator", f"{overload.slow}; without the load generator's own delay p99 would be within the limit"
    return None


def check_cores_exhausted(use: ResourceUse) -> tuple[str, str] | None:
    """Return (limit, reason) if brokers and load generator used up the cores of the machine."""
    if not use.cores or use.ours < ALL_USED * use.cores:
        return None
    return "host", f"brokers and load generator used up the {use.cores} cores of their one machine ({use.split})"


def check_broker_quota(use: ResourceUse, broker_cpus: float | None) -> tuple[str, str] | None:
    """Return (limit, reason) if a broker used up its share of the cores. ``broker_cpus``: the share; None: no quota."""
    used_up = {
        broker: throttled
        for broker, throttled in use.throttled.items()
        if broker_cpus and throttled.cores >= SHARE_USED * broker_cpus and throttled.throttled_share >= THROTTLED_SHARE
    }
    if not used_up:
        return None
    broker, most = max(used_up.items(), key=lambda item: item[1].throttled_share)
    others = f", as did {len(used_up) - 1} more" if len(used_up) > 1 else ""
    return "brokers", (
        f"{broker} used up its share of the cores{others}: it used {most.cores:.2f} of {broker_cpus:g}, and its quota "
        f"held it back in {most.throttled_share:.0%} of the periods"
    )


def check_starvation(use: ResourceUse) -> tuple[str, str] | None:
    """Return (limit, reason) if other programs took the cores that a broker or the load generator needed."""
    if not use.all_in_use:
        return None
    starved_processes = [
        (ran, waited) for ran, waited in use.demands if ran + waited >= ONE_CORE and waited >= STARVED_SHARE * ran
    ]
    if not starved_processes:
        return None
    ran, waited = max(starved_processes, key=sum)
    return "host", (
        f"the {use.cores} cores of the machine were in use, by other programs too, and a broker or the load generator "
        f"waited for {waited:.1f} of them while it ran on {ran:.1f} ({use.split})"
    )


def check_one_core(use: ResourceUse, protocols: Collection[str]) -> tuple[str, str] | None:
    """Return (limit, reason) if a process whose clients share one core used it up."""
    if use.busiest < ONE_CORE or not {*protocols} <= {*IN_PYTHON}:
        return None
    return "generator", f"a process of the load generator used up the one core that it can use ({use.busiest:.2f})"


def check_send_lag(own_lag_ms: float | None) -> tuple[str, str] | None:
    """Return (limit, reason) if the load generator itself was late."""
    if own_lag_ms is None or own_lag_ms <= LATE_MS:
        return None
    return (
        "generator",
        f"half of the sends were late by {own_lag_ms:.0f} ms or more, not because of the brokers",
    )


def what_limited(
    info: RunInfo, overload: Overload, resources: pa.Table, latency: LatencyBySecond, consumers: pa.Table
) -> tuple[ResourceUse, str, str]:
    """Return (use, limit, reason). Tables as in `limit`."""
    use = resource_use(resources, overload.seconds, int(info.machine.get("cores", 0)))
    limited_by, why = _named(info, overload, use, own_lag_ms(latency, overload.seconds), consumers)
    return use, limited_by, why


def _named(
    info: RunInfo, overload: Overload, use: ResourceUse, own_lag_ms: float | None, consumers: pa.Table
) -> tuple[str, str]:
    """Return (limit, reason)."""
    protocols = info.protocols_of(PRODUCER) | info.protocols_of(CONSUMER)
    ours = check_send_lag(own_lag_ms) or check_one_core(use, protocols)
    quota = info.options.get("broker_cpus")
    if not ours and isinstance(quota, int | float) and (limit_and_why := check_broker_quota(use, quota)):
        return limit_and_why  # more cores would not help a broker that may not use them
    if limit_and_why := check_cores_exhausted(use) or check_starvation(use) or ours:
        return limit_and_why
    if limit_and_why := check_generator_p99(use, overload):
        return limit_and_why
    at_least = max(MOST_OF_BACKLOG * overload.backlog, LEAST_GROWN_S * overload.due_per_s, LEAST_GROWN)
    if limit_and_why := _check_queue_growth(use, consumers, at_least):
        return limit_and_why
    if use.all_in_use and not use.demands:
        return "host", f"the {use.cores} cores of the machine were in use, by other programs too ({use.split})"
    if overload.sent_per_s < LEAST_SHARE * overload.due_per_s:
        return "brokers", "brokers kept producers waiting: they took fewer messages than were due"
    if overload.slow:
        return "latency", overload.slow
    return "unknown", "no sampled resource was used up, and messages piled up on no broker"


def _check_queue_growth(use: ResourceUse, consumers: pa.Table, at_least: float) -> tuple[str, str] | None:
    """Return (limit, reason) if one broker's queues grew by that many messages, with or without consumers there."""
    grown: Counter[str] = Counter()
    for (broker, _), growth in use.grown.items():
        grown[broker] += growth
    broker, growth = max(grown.items(), key=lambda item: item[1], default=("", 0))
    if growth < at_least:
        return None
    consumed = _consumed(use, consumers, broker)
    if 2 * sum(use.grown[broker, queue] for queue in consumed) >= growth:
        return "consumers", f"messages piled up on {broker}, where consumers take them ({growth:,} more)"
    return "link", f"messages piled up on {broker}, where no consumer takes them, for its links ({growth:,} more)"


def _consumed(use: ResourceUse, consumers: pa.Table, broker: str) -> set[str]:
    """Return the queues of a broker that have consumers there.

    A queue that is not a destination (of a durable subscription on Artemis) has consumers if any consumer is there.
    """
    at: dict[str, set[str]] = {}  # by destination
    for row in consumers.to_pylist():
        for name in {row["destination"], f"queue://{row['subscription']}"}:  # names may differ by route
            at.setdefault(name, set()).add(row["broker"])
    anywhere = set().union(*at.values())
    queues = {queue for holder, queue in use.grown if holder == broker}
    return {queue for queue in queues if broker in at.get(f"queue://{queue}", anywhere)}


def own_lag_ms(latency: LatencyBySecond, seconds: range) -> float | None:
    """Return the load generator's own median delay of sends in these seconds."""
    return latency.figures(LAG, seconds)["p50"]


def resource_use(resources: pa.Table, seconds: range, cores: int) -> ResourceUse:
    """Return the resources used in these seconds. ``cores``: number of cores of the machine, 0 if unknown."""
    rows = within_seconds(resources, seconds).to_pylist()
    processes = [row for row in rows if row["kind"] == "process"]
    cpu = [row for row in processes if row["metric"] == "cpu_ns"]
    of_generator = [row for row in cpu if not row["broker"]]
    names = {row["object"] for row in of_generator}
    return ResourceUse(
        cores,
        _cores([row for row in rows if (row["kind"], row["metric"]) == ("machine", "cpu_busy_ns")]),
        _cores([row for row in cpu if row["broker"]]),
        _cores(of_generator),
        _grown([row for row in rows if (row["kind"], row["metric"]) == ("queue", "depth")]),
        max((_cores([row for row in of_generator if row["object"] == name]) or 0.0 for name in names), default=0.0),
        _demands(processes),
        _throttled(processes),
    )


def _throttled(processes: Sequence[Mapping[str, Any]]) -> dict[str, ThrottledBroker]:
    """Return the brokers with a quota whose periods were sampled."""
    throttled = {}
    for broker in sorted({row["broker"] for row in processes if row["metric"] == "quota_periods"}):
        its = [row for row in processes if row["broker"] == broker]
        periods, of_them = (
            sum(row["value"] for row in its if row["metric"] == metric)
            for metric in ("quota_periods", "throttled_periods")
        )
        cores = _cores([row for row in its if row["metric"] == "cpu_ns"])
        if periods and cores is not None:
            throttled[broker] = ThrottledBroker(cores, of_them / periods)
    return throttled


def _demands(processes: Sequence[Mapping[str, Any]]) -> tuple[tuple[float, float], ...]:
    """Return (cores used, cores waited for) for each process whose waits were sampled.

    Brokers with a CPU quota are left out, as their waits include the time for which the quota held them back.
    """
    demands = []
    for process in sorted({(row["broker"], row["object"]) for row in processes}):
        its = [row for row in processes if (row["broker"], row["object"]) == process]
        if any(row["metric"] == "quota_periods" for row in its):
            continue
        ran, waited = (_cores([row for row in its if row["metric"] == metric]) for metric in ("cpu_ns", "core_wait_ns"))
        if waited is not None:
            demands.append((ran or 0.0, waited))
    return tuple(demands)


def _cores(rows: Sequence[Mapping[str, int]]) -> float | None:
    seconds = {row["second"] for row in rows}
    return sum(row["value"] for row in rows) / NS_PER_S / len(seconds) if seconds else None


def _grown(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """Return the growth of each broker's queues from the first to the last second with a sample."""
    depth: dict[tuple[str, str], dict[int, int]] = {}
    for row in rows:
        depth.setdefault((row["broker"], row["object"]), {})[row["second"]] = row["value"]
    return {
        queue: depth_by_second[max(depth_by_second)] - depth_by_second[min(depth_by_second)]
        for queue, depth_by_second in depth.items()
    }
