"""Snapshots for tests: a run during its load, changed field by field."""

from collections import Counter
from dataclasses import replace
from typing import Any

from drivers.users.session import Tally, Window
from harness.run.snapshot import Snapshot
from records.figures.buckets import bucket_of
from records.units import NS_PER_S
from topologies.management.sampling import CounterReadings, Row, Series

NOW_NS = 1_000 * NS_PER_S
MS = 1_000_000
MIB = 1 << 20

IN_THE_LOAD = Snapshot(
    run_id="20261121-120000-steady-mesh-abcdef",
    scenario="steady",
    topology="mesh",
    runtime="processes",
    state="running",
    began_ns=NOW_NS - 24 * NS_PER_S,
    step_ends_ns={step: NOW_NS - ago_s * NS_PER_S for step, ago_s in (("up", 18), ("prove", 15), ("clients", 12))},
    step_s=12.0,
    now_ns=NOW_NS,
    over=False,
    window=Window(NOW_NS - 12 * NS_PER_S, NOW_NS - 7 * NS_PER_S, NOW_NS + 23 * NS_PER_S),
    load_s=30.0,
    tally=Tally(sent=1_200, settled=1_190, received=1_180, lag=Counter({bucket_of(MS): 99, bucket_of(50 * MS): 1})),
    brokers={"b1": "up", "b2": "up"},
)


def snapshot(**changes: Any) -> Snapshot:
    return replace(IN_THE_LOAD, **changes)


def readings(
    *rows: tuple[str, str, str, str, int], then: dict[Series, int] | None = None
) -> dict[Series, CounterReadings]:
    """Rows (broker, kind, object, metric, value) read now. ``then``: values of some series two seconds earlier."""
    readings_by_series: dict[Series, CounterReadings] = {}
    for broker, kind, name, metric, value in rows:
        series = (broker, kind, name, metric)
        before = (then or {}).get(series)
        earlier = None if before is None else Row(broker, NOW_NS - 2 * NS_PER_S, kind, name, metric, before)
        readings_by_series[series] = CounterReadings(Row(broker, NOW_NS, kind, name, metric, value), earlier)
    return readings_by_series
