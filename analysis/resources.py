"""Sums up the samples: what brokers, machine and load generator used in each second, and what each bridge carried.

Counters are totals since a start. If a counter went back, it was restarted: its value is the increase since then. A
bridge's ``dequeue_count`` counts the messages that it forwarded and the other side confirmed. Both ends of a duplex
link have a bridge. If only the opener's bridge was sampled, its ``received_count`` counts the other direction. So it
does for parallel duplex links, as the far ends do not know which link they belong to.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.timeline import FOREVER_NS, Timeline
from records.units import NS_PER_S

COUNTERS = (
    "cpu_ns",
    "core_wait_ns",
    "cpu_busy_ns",
    "steal_ns",
    "enqueue_count",
    "dequeue_count",
    "forward_count",
    "dispatch_count",
    "expired_count",
    "received_count",
)
EDGE_NS = 2 * NS_PER_S
FIGURE = ["broker", "kind", "object", "metric"]
_DIRECTION = ["from_broker", "to_broker"]
_LINK = [*_DIRECTION, "connector"]
NAMELESS = "#"
"""Begins what the far end of a duplex link is called, where several links come from the same broker."""


def resources(samples: DataFrame, timeline: Timeline) -> DataFrame:
    """Rows of RESOURCES: a gauge's last value in a second, a counter's growth since the second before.

    Where seconds have no sample, a counter's growth since the last one that has is spread over them. A counter that
    went back counts from a restart: it has grown in the second of its sample only, and the absence before stays empty.
    """
    last_of_second = (
        samples.withColumn("second", timeline.second(F.col("at_ns")))
        .groupBy("second", *FIGURE)
        .agg(F.max(F.struct("at_ns", "value")).alias("last"))
        .select("second", *FIGURE, "last.*")
    )
    is_counter = F.col("metric").isin(*COUNTERS)
    in_order = Window.partitionBy(*FIGURE).orderBy("at_ns")
    restarted = F.col("value") < F.lag("value").over(in_order)
    before = F.when(restarted, F.col("second") - F.lit(1)).otherwise(F.lag("second").over(in_order))
    gauges = last_of_second.where(~is_counter).drop("at_ns")
    grown = last_of_second.where(is_counter).withColumns({"growth": _growth(), "before": before})
    return gauges.unionByName(_spread(grown.where(F.col("growth").isNotNull())))


def _spread(grown: DataFrame) -> DataFrame:
    """A row for each second since the sample before, with its share of the growth; the last has the rest too."""
    seconds = F.col("second") - F.col("before")
    share = F.expr("growth div (second - before)")
    is_last = F.col("each") == F.col("second")
    value = share + F.when(is_last, F.col("growth") - share * seconds).otherwise(F.lit(0))
    each = F.explode(F.sequence(F.col("before") + F.lit(1), F.col("second")))
    return grown.withColumn("each", each).select(F.col("each").alias("second"), *FIGURE, value.alias("value"))


def growth_of_counters(samples: DataFrame) -> DataFrame:
    """One row a counter of FIGURE: growth between its first and its last sample, restarts included."""
    grown = samples.where(F.col("metric").isin(*COUNTERS)).withColumn("growth", _growth())
    return grown.groupBy(*FIGURE).agg(F.coalesce(F.sum("growth"), F.lit(0)).alias("growth"))


def cores_in_load(samples: DataFrame, timeline: Timeline) -> DataFrame:
    """Rows of metric, brokers_ns and generator_ns: CPU time (``cpu_ns``) and waits for a core (``core_wait_ns``) within
    the load; no row, or null, where it was not sampled twice.

    What a process used between two samples is spread evenly over the time between them. If the samples begin or end up
    to EDGE_NS within the load, the rest of the load counts at the process's mean.
    """
    of_cores = samples.where((F.col("kind") == "process") & F.col("metric").isin("cpu_ns", "core_wait_ns"))
    within = (
        _within_load(of_cores, timeline)
        .groupBy(*FIGURE)
        .agg(F.sum("used_ns").alias("used_ns"), F.min("from_ns").alias("from_ns"), F.max("until_ns").alias("until_ns"))
    )
    covered_ns = F.col("until_ns") - F.col("from_ns")
    used_ns = F.col("used_ns") * (F.lit(1) + _uncovered_ns(timeline) / covered_ns)
    of_generator = F.col("broker") == ""
    return within.groupBy("metric").agg(
        F.round(F.sum(F.when(~of_generator, used_ns))).cast("bigint").alias("brokers_ns"),
        F.round(F.sum(F.when(of_generator, used_ns))).cast("bigint").alias("generator_ns"),
    )


def _within_load(counter: DataFrame, timeline: Timeline) -> DataFrame:
    """One row for each two successive samples: the part of the time between them within the load, and used_ns in it."""
    ends_ns = FOREVER_NS if timeline.load_ended_ns is None else timeline.load_ended_ns
    before_ns = F.lag("at_ns").over(Window.partitionBy(*FIGURE).orderBy("at_ns"))
    from_ns, until_ns = (
        F.greatest(F.col("before_ns"), F.lit(timeline.load_began_ns)),
        F.least(F.col("at_ns"), F.lit(ends_ns)),
    )
    share = (until_ns - from_ns) / (F.col("at_ns") - F.col("before_ns"))
    return (
        counter.withColumns({"growth": _growth(), "before_ns": before_ns})
        .where((F.col("before_ns") < F.col("at_ns")) & (from_ns < until_ns))
        .select(
            *FIGURE, from_ns.alias("from_ns"), until_ns.alias("until_ns"), (F.col("growth") * share).alias("used_ns")
        )
    )


def _uncovered_ns(timeline: Timeline) -> Column:
    """The load's time before the first and after the last sample of a process."""
    ends_ns = F.col("until_ns") if timeline.load_ended_ns is None else F.lit(timeline.load_ended_ns)
    edges = (F.col("from_ns") - F.lit(timeline.load_began_ns), ends_ns - F.col("until_ns"))
    before, after = (F.when(edge <= F.lit(EDGE_NS), edge).otherwise(F.lit(0)) for edge in edges)
    return before + after


def links(samples: DataFrame) -> DataFrame:
    """Rows of LINKS. A bridge's object is ``connector|remote broker``."""
    bridges = growth_of_counters(samples.where(F.col("kind") == "bridge")).select(
        "metric",
        F.col("broker").alias("here"),
        F.substring_index("object", "|", -1).alias("remote"),
        F.substring_index("object", "|", 1).alias("connector"),
        F.col("growth").alias("forwarded"),
    )
    forwarded = _direction(bridges, "dequeue_count", "here", "remote")
    nameless = F.col("connector").startswith(NAMELESS)
    named, of_no_name = forwarded.where(~nameless), forwarded.where(nameless)
    brought_back = _direction(bridges, "received_count", "remote", "here").join(named, _LINK, "left_anti")
    return named.unionByName(brought_back).unionByName(of_no_name.join(brought_back, _DIRECTION, "left_anti"))


def _direction(bridges: DataFrame, metric: str, from_broker: str, to_broker: str) -> DataFrame:
    return bridges.where(F.col("metric") == metric).select(
        F.col(from_broker).alias("from_broker"), F.col(to_broker).alias("to_broker"), "connector", "forwarded"
    )


def _growth() -> Column:
    """A counter's growth since its sample before; null for its first."""
    before = F.lag("value").over(Window.partitionBy(*FIGURE).orderBy("at_ns"))
    return F.when(F.col("value") < before, F.col("value")).otherwise(F.col("value") - before)
