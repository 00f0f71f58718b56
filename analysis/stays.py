"""Finds the stays of users: who was connected to which broker, from when to when, and why that ended."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.members import of_users
from records.results import STAYS

OPENED, ENDED = "connected", ("lost", "closed")
_AT = ["client", "broker"]


def stays(connections: DataFrame, members: DataFrame, load_began_ns: int, load_ended_ns: int) -> DataFrame:
    """Rows of STAYS: the part of each within the load; times count from its start. Users of a connection have one
    each."""
    began_ns, ended_ns = F.lit(load_began_ns), F.lit(load_ended_ns)
    until_ns = F.coalesce(F.least("end.at_ns", "next_ns"), ended_ns)
    within = (F.col("at_ns") < ended_ns) & (until_ns > began_ns)
    return (
        of_users(_connected(connections).where(within), members)
        .withColumn("from_ns", F.greatest("at_ns", began_ns) - began_ns)
        .withColumn("to_ns", F.least(until_ns, ended_ns) - began_ns)
        .withColumn("cause", F.when(until_ns >= ended_ns, "load_end").otherwise(_why()))
        .select(*STAYS.names)
    )


def clients(connections: DataFrame, members: DataFrame) -> DataFrame:
    """One row a group: how many clients it has, connected or not. Users that share a connection count one by one."""
    each = of_users(connections.select("client", "group").distinct(), members)
    return each.groupBy("group").agg(F.count_distinct("user").alias("clients"))


def _connected(connections: DataFrame) -> DataFrame:
    """One row a connection: ``end`` is its own end (null: not on record), ``next_ns`` the client's next connection."""
    event, is_opened = F.col("event"), F.col("event") == OPENED
    of_client, of_broker = (Window.partitionBy(*who).orderBy("at_ns", is_opened) for who in (["client"], _AT))
    return (
        connections.where(event.isin(OPENED, *ENDED) & F.col("broker").isNotNull())
        .withColumn("following", F.lead(F.struct("event", "at_ns", "cause")).over(of_broker))
        .where(is_opened)
        .withColumn("end", F.when(F.col("following.event") != OPENED, F.col("following")))
        .withColumn("next_ns", F.lead("at_ns").over(of_client))
    )


def _why() -> Column:
    return F.coalesce("end.cause", "end.event", F.lit("unrecorded"))
