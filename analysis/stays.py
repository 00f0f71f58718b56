"""Finds the stays of clients: who was connected to which broker, from when to when, and why that ended."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from records.move_reasons import AMQP_REDIRECT, BROKERS_ORDER, PRIORITY_BACK, PRIORITY_FOUND
from records.results import STAYS

OPENED, ENDED = "connected", ("lost", "closed")
_AT = ["client", "broker"]


def stays(connections: DataFrame, load_began_ns: int, load_ended_ns: int) -> DataFrame:
    """Rows of STAYS: the part of each within the load; times count from its start."""
    began_ns, ended_ns = F.lit(load_began_ns), F.lit(load_ended_ns)
    until_ns = F.coalesce(F.least("end.at_ns", "next_ns"), ended_ns)
    within = (F.col("at_ns") < ended_ns) & (until_ns > began_ns)
    return (
        _connected(connections)
        .where(within)
        .withColumn("from_ns", F.greatest("at_ns", began_ns) - began_ns)
        .withColumn("to_ns", F.least(until_ns, ended_ns) - began_ns)
        .withColumn("cause", F.when(until_ns >= ended_ns, "load_end").otherwise(_cause()))
        .select(*STAYS.names)
    )


def clients(connections: DataFrame) -> DataFrame:
    """One row a group: how many clients it has, connected or not."""
    return connections.groupBy("group").agg(F.count_distinct("client").alias("clients"))


def _connected(connections: DataFrame) -> DataFrame:
    """One row a connection: ``end`` is its own end (null: not on record), ``next_ns`` the client's next connection."""
    event, is_opened = F.col("event"), F.col("event") == OPENED
    of_client, of_broker = (Window.partitionBy(*who).orderBy("at_ns", is_opened) for who in (["client"], _AT))
    return (
        connections.where(event.isin(OPENED, *ENDED) & F.col("broker").isNotNull())
        .withColumn("following", F.lead(F.struct("event", "at_ns", "reason")).over(of_broker))
        .where(is_opened)
        .withColumn("end", F.when(F.col("following.event") != OPENED, F.col("following")))
        .withColumn("next_ns", F.lead("at_ns").over(of_client))
    )


def _cause() -> Column:
    event, reason = F.col("end.event"), F.col("end.reason")
    closed, lost = event == "closed", event == "lost"
    return (
        F.when(closed & (reason == BROKERS_ORDER), "order")
        .when(closed & (reason.startswith(PRIORITY_BACK) | (reason == PRIORITY_FOUND)), "priority")
        .when(lost & reason.contains(AMQP_REDIRECT), "redirect")
        .when(event.isNotNull(), event)
        .otherwise("unrecorded")
    )
