"""Tells what it costs a message to cross from one region to another. Plain values and Arrow in and out; no Spark."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from analysis.latency.figures import in_load, latency_of
from records.latency import Regions
from records.run import BrokerInfo


def by_region(latency: pa.Table, brokers: Iterable[BrokerInfo], load_s: float | None) -> Regions:
    """Of the latencies by path: messages whose two brokers are of one region, and the others."""
    region = {broker.name: broker.region for broker in brokers}
    timed = in_load(latency, "due_to_received")
    ends = zip(timed["from_broker"].to_pylist(), timed["to_broker"].to_pylist(), strict=True)
    crossed = pa.array([region.get(taken) != region.get(given) for taken, given in ends], pa.bool_())
    across = latency_of(timed.filter(crossed))
    return Regions(
        within=latency_of(timed.filter(pc.invert(crossed))),
        across=across,
        across_per_s=across["count"] / load_s if load_s else None,
    )
