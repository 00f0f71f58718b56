"""Counts the messages that each consumer received, by broker."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.accounting import SUBSCRIPTION
from analysis.deliveries import first

CONSUMER = [*SUBSCRIPTION, "consumer"]


def received(deliveries: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """One row a consumer and broker: first deliveries there; 0 where it only subscribed. selector: '' for none."""
    there = first(deliveries).select(*CONSUMER, F.col("to_broker").alias("broker"), F.lit(1).alias("messages"))
    subscribed = subscriptions.select(*CONSUMER, "broker", F.lit(0).alias("messages"), "selector")
    every = there.withColumn("selector", F.lit("")).unionByName(subscribed)
    counts = (F.sum("messages").alias("messages"), F.max("selector").alias("selector"))
    return every.groupBy(*CONSUMER, "broker").agg(*counts)
