"""What did brokers, machine and load generator use in each second, and what did a message cost in CPU?

Counters are totals since a start. A counter that went back was started again: what it shows is what was added since.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.timeline import Timeline

COUNTERS = (
    "cpu_ns",
    "cpu_busy_ns",
    "steal_ns",
    "enqueue_count",
    "dequeue_count",
    "forward_count",
    "dispatch_count",
    "expired_count",
    "received_count",
    "forth_bytes",
    "back_bytes",
)
FIGURE = ["broker", "kind", "object", "metric"]


def resources(samples: DataFrame, timeline: Timeline) -> DataFrame:
    """Rows of RESOURCES: a gauge's last value in a second, a counter's growth since the last second that has one."""
    last_of_second = (
        samples.withColumn("second", timeline.second(F.col("at_ns")))
        .groupBy("second", *FIGURE)
        .agg(F.max(F.struct("at_ns", "value")).alias("last"))
        .select("second", *FIGURE, "last.*")
    )
    value = F.when(F.col("metric").isin(*COUNTERS), _growth()).otherwise(F.col("value"))
    return last_of_second.withColumn("value", value).where(F.col("value").isNotNull()).drop("at_ns")


def carried(samples: DataFrame) -> DataFrame:
    """One row a counter of FIGURE: growth between its first and its last sample, restarts included."""
    grown = samples.where(F.col("metric").isin(*COUNTERS)).withColumn("growth", _growth())
    return grown.groupBy(*FIGURE).agg(F.coalesce(F.sum("growth"), F.lit(0)).alias("growth"))


def cpu_in_load(samples: DataFrame, timeline: Timeline) -> DataFrame:
    """One row: CPU time within the load, brokers_ns and generator_ns; null where it was not sampled twice."""
    cpu = samples.where((F.col("kind") == "process") & (F.col("metric") == "cpu_ns"))
    grown = cpu.where(timeline.in_load(F.col("at_ns"))).withColumn("growth", _growth())
    of_generator = F.col("broker") == ""
    return grown.agg(
        F.sum(F.when(~of_generator, F.col("growth"))).alias("brokers_ns"),
        F.sum(F.when(of_generator, F.col("growth"))).alias("generator_ns"),
    )


def _growth() -> Column:
    """A counter's growth since its sample before; null for its first."""
    before = F.lag("value").over(Window.partitionBy(*FIGURE).orderBy("at_ns"))
    return F.when(F.col("value") < before, F.col("value")).otherwise(F.col("value") - before)
