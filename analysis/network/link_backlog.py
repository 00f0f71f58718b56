"""Tells how many messages waited for each link in each second, by the samples of the broker that sends.

What can be had depends on the link. A cluster connection of Artemis has a store-and-forward queue: all its messages
wait for that link. An AMQP broker connection reads the queues of the addresses: their messages may wait for consumers
of the broker too. A bridge of Classic has messages that it has taken and the other end has not confirmed; that is at
most its prefetch for each queue. Other messages still wait on the queue, together with those for other consumers.
"""

import polars as pl

from analysis.events.timeline import Timeline
from analysis.network.resources import connector, remote_broker

LINK_QUEUE, QUEUES, BRIDGE = "link queue", "queues", "bridge"
_END = ["broker", "object"]


def link_backlog(samples: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Rows of LINK_BACKLOG: the last sample of each second. A bridge's object is ``connector|remote broker``."""
    metric = pl.col("metric")
    at_once = samples.filter(pl.col("kind") == "bridge").group_by(*_END, "at_ns")
    sampled = at_once.agg(
        pl.col("value").filter(metric == name).max().alias(name) for name in ("backlog", "queue_backlog", "unconfirmed")
    )
    messages = pl.coalesce("backlog", "queue_backlog", "unconfirmed")
    waits_in = (
        pl.when(pl.col("backlog").is_not_null())
        .then(pl.lit(LINK_QUEUE))
        .when(pl.col("queue_backlog").is_not_null())
        .then(pl.lit(QUEUES))
        .otherwise(pl.lit(BRIDGE))
    )
    return (
        sampled.with_columns(messages.alias("messages"), waits_in.alias("waits_in"))
        .filter(pl.col("messages").is_not_null())
        .sort("at_ns", "messages", "waits_in")
        .group_by(timeline.second(pl.col("at_ns")).alias("second"), *_END)
        .agg(pl.last("waits_in"), pl.last("messages"))
        .select(
            "second",
            pl.col("broker").alias("from_broker"),
            remote_broker().alias("to_broker"),
            connector().alias("connector"),
            *("waits_in", "messages"),
        )
    )
