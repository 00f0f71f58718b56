"""Checks the named limit of a load in steps: planted samples of each cause give the expected limit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from analysis.latency.seconds import LatencyBySecond
from analysis.load.limits import NOTHING, limit
from records.figures.load import Limit, StepResult
from records.run import GroupInfo, RunInfo, UserInfo
from records.tables.results import CONSUMERS, RESOURCES
from tests.analysis.rows import latency_by_second, latency_row, resource_row

NS_PER_S = 1_000_000_000
JUDGED = range(2, 10)
AT_SINK = {"queue://q": "sink", "queue://another": "sink"}
INFO = RunInfo(
    run_id="",
    scenario="capacity",
    topology="source-and-sink",
    runtime="processes",
    protocol="stomp",
    groups=(GroupInfo("producers", ("source",)), GroupInfo("consumers", ("sink",))),
    users=(
        UserInfo("P", "producer", "producers", "queue://q", 6),
        UserInfo("C", "consumer", "consumers", "queue://q", 6),
    ),
    machine={"cores": 4},
    held_p99_ms=500.0,
)


SLOW = "100.0% of the due messages were received; p99 was 600 ms, and at most 500 ms is allowed"


def step(
    per_s: float,
    *,
    held: bool | None = False,
    sent: float = 1.0,
    broken: str | None = "received",
    from_s: float = 0.0,
) -> StepResult:
    due_to_received_ms: Any = {}
    return StepResult(
        from_per_s=per_s,
        to_per_s=per_s,
        from_s=from_s,
        until_s=from_s + 10.0,
        due_per_s=per_s,
        sent_per_s=per_s * sent,
        acked_per_s=per_s * sent,
        received_per_s=per_s if held else per_s * 0.9,
        backlog=0 if held else int(per_s),
        due_to_received_ms=due_to_received_ms,
        held=held,
        why=SLOW,
        broken=broken,
    )


def resources(
    *,
    brokers: float = 0.5,
    generator: float = 0.4,
    busy: float = 1.0,
    waited: float | None = 0.2,
    grown: Mapping[str, int] | None = None,
    throttled: float | None = None,
) -> pa.Table:
    """Resources by cores. Outside the judged seconds, everything is used up, which does not count.

    ``throttled``: of the periods of the source's CPU quota, the share in which it was held back; None: no quota.
    """
    rows = []
    for at_s in range(-3, 14):
        times = 1 if at_s in JUDGED else 100
        cpu = {("machine", "", "cpu_busy_ns"): busy, ("process", "", "cpu_ns"): generator}
        cpu |= {("process", broker, "cpu_ns"): brokers / 2 for broker in ("source", "sink")}
        cpu |= {("process", "source", "core_wait_ns"): waited} if waited is not None else {}
        rows += [
            resource_row(metric, at_s, round(cores * NS_PER_S) * times, broker=broker, kind=kind)
            for (kind, broker, metric), cores in cpu.items()
        ]
        quota = {} if throttled is None else {"quota_periods": 10.0, "throttled_periods": 10 * throttled}
        rows += [resource_row(metric, at_s, count, broker="source") for metric, count in quota.items()]
        rows += [
            resource_row("depth", at_s, depth, broker=broker, kind="queue", object=queue)
            for broker, more_messages in (grown or {}).items()
            for queue in ("q", "another")
            for depth in (more_messages * (at_s - JUDGED.start) // (2 * (len(JUDGED) - 1)) + 50,)
        ]
    return pa.Table.from_pylist(rows, RESOURCES)


def lag(own_ms: float) -> LatencyBySecond:
    return latency_by_second(latency_row("ready_to_sent", at_s, own_ms, 100, ends=("source", "")) for at_s in JUDGED)


def consumers(at: Mapping[str, str]) -> pa.Table:
    """``at``: the broker of each destination's only consumer."""
    row = {"subscription": "", "consumer": 0, "messages": 1}
    return pa.Table.from_pylist([row | {"destination": to, "broker": broker} for to, broker in at.items()], CONSUMERS)


def limit_of(
    *steps: StepResult, own_lag_ms: float = 0.1, consumed_at: Mapping[str, str] = AT_SINK, **used: Any
) -> Limit:
    return limit(INFO, steps, resources(**used), lag(own_lag_ms), consumers(consumed_at))


@pytest.mark.parametrize(
    ("consumed_at", "limited_by"),
    [
        ({"queue://q": "source", "queue://another": "source"}, "consumers"),
        ({"queue://q": "sink", "queue://another": "sink", "queue://third": "source"}, "link"),
        ({"queue://unlike.either": "source"}, "consumers"),  # both queues belong to durable subscriptions
        ({}, "link"),
    ],
)
def test_messages_wait_for_a_link_if_their_own_consumers_are_elsewhere(
    consumed_at: Mapping[str, str], limited_by: str
) -> None:
    measured = limit_of(step(1_000), grown={"source": 800}, consumed_at=consumed_at)
    assert measured["limited_by"] == limited_by
    assert "piled up on source" in measured["why"]
    assert "(800 more)" in measured["why"]


@pytest.mark.parametrize(
    ("used", "of_step", "own_lag_ms", "limited_by", "why"),
    [
        ({"brokers": 2.2, "generator": 1.3, "busy": 3.9}, {}, 900, "host", "used up the 4 cores of their one machine"),
        ({}, {}, 60, "generator", "half of the sends were late by 60 ms"),
        ({"grown": {"source": 800, "sink": 10}}, {}, 0.1, "link", "piled up on source, where no consumer takes them"),
        ({"grown": {"source": 10, "sink": 800}}, {}, 0.1, "consumers", "piled up on sink, where consumers take them"),
        ({"busy": 3.9, "waited": None}, {"sent": 0.9}, 0.1, "host", "by other programs too"),
        ({"busy": 3.9}, {"sent": 0.9}, 0.1, "brokers", "kept producers waiting"),  # no process waited long for a core
        ({"busy": 3.9, "waited": 0.7}, {"sent": 0.9}, 900, "host", "waited for 0.7 of them while it ran on 0.2"),
        ({"busy": 3.9, "waited": 0.6, "grown": {"sink": 800}}, {}, 0.1, "consumers", "piled up on sink"),
        ({"busy": 3.9, "brokers": 2.4, "waited": 0.5, "grown": {"sink": 800}}, {}, 0.1, "consumers", "piled up on"),
        ({"busy": 3.0, "waited": 1.1, "grown": {"sink": 800}}, {}, 0.1, "consumers", "piled up on sink"),
        ({"generator": 0.95, "grown": {"sink": 800}}, {}, 0.1, "generator", "used up the one core that it can use"),
        ({}, {"sent": 0.9}, 0.1, "brokers", "brokers kept producers waiting"),
        ({}, {"broken": "p99"}, 0.1, "latency", "p99 was 600 ms, and at most 500 ms is allowed"),
        (
            {"busy": 3.9},
            {"broken": "p99"},
            0.1,
            "host",
            "by other programs too (brokers 0.5, load generator 0.4), while",
        ),
        ({"grown": {"sink": 10}}, {}, 0.1, "unknown", "no sampled resource was used up"),
    ],
)
def test_each_cause_is_named(
    used: dict[str, Any], of_step: dict[str, Any], own_lag_ms: float, limited_by: str, why: str
) -> None:
    measured = limit_of(step(100, held=True), step(1_000, **of_step), own_lag_ms=own_lag_ms, **used)
    assert (measured["limited_by"], measured["not_held_per_s"]) == (limited_by, 1_000)
    assert why in measured["why"]


LIMITED = replace(INFO, options={"broker_cpus": 0.5})


@pytest.mark.parametrize(
    ("used", "own_lag_ms", "limited_by", "why"),
    [
        (
            {"brokers": 0.98, "throttled": 0.9, "grown": {"sink": 800}},
            0.1,
            "brokers",
            "used up its share of the cores: it used 0.49 of 0.5, and its quota held it back in 90% of the periods",
        ),
        ({"brokers": 0.98, "throttled": 0.9, "busy": 3.9, "waited": 3.0}, 0.1, "brokers", "used up its share"),
        ({"brokers": 0.98, "throttled": 0.4, "grown": {"sink": 800}}, 0.1, "consumers", "piled up on sink"),
        ({"brokers": 0.70, "throttled": 0.9, "grown": {"sink": 800}}, 0.1, "consumers", "piled up on sink"),
        ({"brokers": 0.98, "grown": {"sink": 800}}, 0.1, "consumers", "piled up on sink"),  # containers elsewhere
        ({"brokers": 0.98, "throttled": 0.9}, 60, "generator", "half of the sends were late by 60 ms"),
        ({"brokers": 0.98, "throttled": 0.9, "generator": 0.95}, 0.1, "generator", "used up the one core"),
        ({"brokers": 0.70, "throttled": 0.4, "busy": 3.9, "waited": 3.0}, 0.1, "host", "by other programs too"),
    ],
)
def test_a_broker_that_used_up_its_share_is_the_limit(
    used: dict[str, Any], own_lag_ms: float, limited_by: str, why: str
) -> None:
    """Waits for a core include the time for which a quota held a broker back, so they show no other programs."""
    measured = limit(LIMITED, [step(1_000)], resources(**used), lag(own_lag_ms), consumers(AT_SINK))
    assert (measured["limited_by"], measured["not_held_per_s"]) == (limited_by, 1_000)
    assert why in measured["why"]


def test_cores_that_are_used_up_limit_brokers_without_a_quota_only() -> None:
    """A machine with more cores would not help brokers that may not use them."""
    used = resources(brokers=2.9, generator=0.6, busy=4.0, throttled=0.9)
    free, held = (replace(INFO, options={"broker_cpus": cpus}) for cpus in (None, 1.5))
    named = [limit(info, [step(1_000)], used, lag(0.1), consumers(AT_SINK))["limited_by"] for info in (free, held)]
    assert named == ["host", "brokers"]


@pytest.mark.parametrize(("own_ms", "limited_by"), [(0, "latency"), (150, "generator")])
def test_a_p99_that_only_our_own_delay_broke_limits_the_generator(own_ms: int, limited_by: str) -> None:
    """Messages took 600 ms, including the load generator's stall; 500 ms are allowed."""
    timed = [
        row
        for at_s in JUDGED
        for row in (
            latency_row("due_to_received", at_s, 600, 200) | {"count_less_own": 0},
            latency_row("due_to_received", at_s, 600 - own_ms, 0) | {"count_less_own": 200},
        )
    ]
    measured = limit(INFO, [step(200, broken="p99")], resources(), latency_by_second(timed), consumers(AT_SINK))
    assert measured["limited_by"] == limited_by


def test_a_few_messages_more_on_a_queue_are_no_pile() -> None:
    """At 12.5 per second, a queue has one message more or less in each sample."""
    assert limit_of(step(12.5, broken="p99"), grown={"sink": 4})["limited_by"] == "latency"


def test_a_java_virtual_machine_may_use_more_than_a_core() -> None:
    used, lagged = resources(generator=0.95, grown={"sink": 800}), lag(0.1)
    measured = limit(replace(INFO, protocol="openwire"), [step(1_000)], used, lagged, consumers(AT_SINK))
    assert measured["limited_by"] == "consumers"


def test_the_cores_are_those_of_the_judged_seconds() -> None:
    measured = limit_of(step(100), brokers=1.5, generator=0.25, busy=3.0)
    assert (measured["brokers_cores"], measured["generator_cores"], measured["machine_busy_share"]) == (1.5, 0.25, 0.75)


def test_a_machine_is_never_more_than_all_in_use() -> None:
    """Samples are not taken exactly at the ends of seconds, so a second may include a bit of the next one."""
    assert limit_of(step(100), brokers=1.5, generator=0.25, busy=4.1)["machine_busy_share"] == 1.0


def test_without_samples_nothing_is_known_of_the_machine() -> None:
    measured = limit(INFO, [step(100)], RESOURCES.empty_table(), lag(0.1), consumers(AT_SINK))
    assert (measured["brokers_cores"], measured["machine_busy_share"], measured["limited_by"]) == (
        None,
        None,
        "unknown",
    )


def test_a_load_whose_every_step_was_held_has_no_limit() -> None:
    assert limit_of(step(100, held=True), step(200, held=True)) == NOTHING
    assert limit_of(step(100, held=True), step(200, held=None)) == NOTHING
    assert limit_of() == NOTHING


def test_of_a_rate_that_failed_and_was_held_the_second_time_nothing_is_told() -> None:
    spoilt = [step(100, held=True), step(200), step(150, held=True), step(200, held=True), step(400)]
    assert limit_of(*spoilt)["not_held_per_s"] == 400
