"""Counts the messages that each consumer received, by broker."""

import polars as pl

from analysis.messages.deliveries import first

SUBSCRIPTION = ["destination", "subscription"]
CONSUMER = [*SUBSCRIPTION, "consumer"]


def received(deliveries: pl.DataFrame) -> pl.DataFrame:
    """One row a consumer and broker: first deliveries there. Parts of a run add up."""
    there = first(deliveries).group_by(*CONSUMER, pl.col("to_broker").alias("broker"))
    return there.agg(pl.len().cast(pl.Int64).alias("messages"))


def with_subscribers(received: pl.DataFrame, subscriptions: pl.DataFrame) -> pl.DataFrame:
    """One row a consumer and broker: messages, 0 where it only subscribed, and selector, '' for none."""
    subscribed = subscriptions.select(*CONSUMER, "broker", pl.lit(0, pl.Int64).alias("messages"), "selector")
    every = pl.concat([received.with_columns(pl.lit("").alias("selector")).select(subscribed.columns), subscribed])
    return every.group_by(*CONSUMER, "broker").agg(pl.sum("messages"), pl.max("selector"))
