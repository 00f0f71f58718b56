"""What brokers, links and machines did, by their samples, and what it costs a message to cross between regions."""

from collections.abc import Iterable

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.events.run import MergedTables, Results, RowsOfPart, Run, as_table
from analysis.latency.figures import in_load, latency_of
from analysis.messages.deliveries import first
from analysis.messages.part import Part
from analysis.network.mirror_lag import METRICS, mirror_lag
from analysis.network.resources import link_backlog, links, resources
from records.latency import Regions
from records.run import BrokerInfo

ENDS = ("from_broker", "to_broker")


class Network:
    """Tables: resources, links, link_backlog. Summary: mirror and regions. It takes the table latency."""

    step = "followed bridges and resources"

    def tables(self, run: Run) -> dict[str, RowsOfPart]:
        return {"crossings": _crossings}

    def conclude(self, run: Run, merged: MergedTables, results: Results) -> None:
        results.tables |= {
            "resources": as_table(resources(run.samples, run.timeline)),
            "links": as_table(links(run.samples, run.timeline)),
            "link_backlog": as_table(link_backlog(run.samples, run.timeline)),
        }
        of_mirrors = as_table(run.samples.filter(pl.col("metric").is_in(METRICS)))
        results.summary |= {
            "mirror": mirror_lag(of_mirrors, run.faults, run.load_began_ns),
            "regions": by_region(results.latency_by_path, merged["crossings"], run.info.brokers, run.timeline.load_s),
        }


def _crossings(part: Part) -> pl.DataFrame:
    """First deliveries by where they entered and left; ``received``: those that were received within the load."""
    received = part.run.timeline.in_load(pl.col("received_ns")).sum().cast(pl.Int64).alias("received")
    return first(part.deliveries).group_by(pl.col(ENDS).cast(pl.String)).agg(received)


def by_region(
    latency: pa.Table, crossings: pl.DataFrame, brokers: Iterable[BrokerInfo], load_s: float | None
) -> Regions:
    """Of the latencies by path: messages whose two brokers are of one region, and the others.

    ``crossings``: rows of `_crossings`. A message that was due in the load and received after it has a latency, and
    does not count in the rate.
    """
    region = {broker.name: broker.region for broker in brokers}
    timed = in_load(latency, "due_to_received")
    ends = zip(timed["from_broker"].to_pylist(), timed["to_broker"].to_pylist(), strict=True)
    crossed = pa.array([region.get(entered_at) != region.get(left_at) for entered_at, left_at in ends], pa.bool_())
    across = latency_of(timed.filter(crossed))
    received = sum(
        row["received"] for row in crossings.to_dicts() if region.get(row[ENDS[0]]) != region.get(row[ENDS[1]])
    )
    return Regions(
        within=latency_of(timed.filter(pc.invert(crossed))),
        across=across,
        across_per_s=received / load_s if load_s else None,
    )
