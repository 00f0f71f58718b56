"""Tells how many messages waited for each link in each second, by the samples of the broker that sends.

What can be had depends on the link. A cluster connection of Artemis has a store-and-forward queue: all its messages
wait for that link. An AMQP broker connection reads the queues of the addresses: their messages may wait for consumers
of the broker too. A bridge of Classic has messages that it has taken and the other end has not confirmed; that is at
most its prefetch for each queue. Other messages still wait on the queue, together with those for other consumers.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.timeline import Timeline

LINK_QUEUE, QUEUES, BRIDGE = "link queue", "queues", "bridge"
_END = ["broker", "object"]


def link_backlog(samples: DataFrame, timeline: Timeline) -> DataFrame:
    """Rows of LINK_BACKLOG: the last sample of each second. A bridge's object is ``connector|remote broker``."""
    at_once = samples.where(F.col("kind") == "bridge").groupBy(*_END, "at_ns")
    sampled = at_once.agg(*[_value(name) for name in ("backlog", "queue_backlog", "unconfirmed")])
    messages = F.coalesce("backlog", "queue_backlog", "unconfirmed")
    waits_in = F.when(F.col("backlog").isNotNull(), LINK_QUEUE).when(F.col("queue_backlog").isNotNull(), QUEUES)
    told = F.struct("at_ns", messages.alias("messages"), waits_in.otherwise(BRIDGE).alias("waits_in"))
    return (
        sampled.where(messages.isNotNull())
        .groupBy(timeline.second(F.col("at_ns")).alias("second"), *_END)
        .agg(F.max(told).alias("last"))
        .select(
            "second",
            F.col("broker").alias("from_broker"),
            F.substring_index("object", "|", -1).alias("to_broker"),
            F.substring_index("object", "|", 1).alias("connector"),
            "last.waits_in",
            "last.messages",
        )
    )


def _value(metric: str) -> Column:
    return F.max(F.when(F.col("metric") == metric, F.col("value"))).alias(metric)
