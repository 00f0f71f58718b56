"""Counts the messages of each consumer, and measures how evenly each subscription was divided."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa

from analysis.clients.balance import evenness
from analysis.messages.deliveries import first
from records.figures.clients import Consumers, Division, Evenness
from records.tables.results import CONSUMERS

SUBSCRIPTION = ["destination", "subscription"]
CONSUMER = [*SUBSCRIPTION, "consumer"]


def received(deliveries: pl.DataFrame) -> pl.DataFrame:
    """Return the number of first deliveries per consumer and broker."""
    there = first(deliveries).group_by(*CONSUMER, pl.col("to_broker").alias("broker"))
    return there.agg(pl.len().cast(pl.Int64).alias("messages"))


def with_subscribers(
    received: pl.DataFrame, subscriptions: pl.DataFrame, first_stays: Mapping[int, int]
) -> pl.DataFrame:
    """Return one row per consumer and broker: messages, 0 if it only subscribed, and selector, '' if it has none.

    ``first_stays``: of durable subscribers that came back, as in `analysis.events.run.Run`: one consumer each.
    """
    subscribed = subscriptions.select(*CONSUMER, "broker", pl.lit(0, pl.Int64).alias("messages"), "selector")
    every = pl.concat([received.with_columns(pl.lit("").alias("selector")).select(subscribed.columns), subscribed])
    return (
        every.with_columns(pl.col("consumer").replace(dict(first_stays)))
        .group_by(*CONSUMER, "broker")
        .agg(pl.sum("messages"), pl.max("selector"))
    )


@dataclass
class _Subscription:
    """Messages by consumer and by broker. ``at``, ``selectors``: the broker and the selector of each consumer."""

    consumers: Counter[int] = field(default_factory=Counter)
    brokers: Counter[str] = field(default_factory=Counter)
    at: dict[int, str] = field(default_factory=dict)
    selectors: dict[int, str] = field(default_factory=dict)

    @property
    def is_shared(self) -> bool:
        """Whether any of several consumers could receive each message."""
        return len(self.consumers) > 1 and len({*self.selectors.values()}) == 1


def divided(received: pa.Table) -> tuple[pa.Table, Consumers]:
    """Return sorted rows of CONSUMERS, and the summary's section. ``received``: rows of `with_subscribers`."""
    subscriptions: dict[tuple[str, str], _Subscription] = {}
    for row in sorted(received.to_pylist(), key=lambda row: (-row["messages"], row["broker"])):
        subscription = subscriptions.setdefault((row["destination"], row["subscription"]), _Subscription())
        subscription.consumers[row["consumer"]] += row["messages"]
        subscription.brokers[row["broker"]] += row["messages"]
        subscription.at.setdefault(row["consumer"], row["broker"])
        subscription.selectors[row["consumer"]] = max(row["selector"], subscription.selectors.get(row["consumer"], ""))
    rows = [row for name, subscription in sorted(subscriptions.items()) for row in _rows(name, subscription)]
    shared = [
        _division(name, subscription) for name, subscription in sorted(subscriptions.items()) if subscription.is_shared
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * len(CONSUMERS)
    return pa.table(columns, schema=CONSUMERS), _summary(shared)


def _rows(name: tuple[str, str], subscription: _Subscription) -> list[tuple[str, str, int, str, int]]:
    return [
        (*name, consumer, subscription.at[consumer], messages)
        for consumer, messages in sorted(subscription.consumers.items())
    ]


def _division(name: tuple[str, str], subscription: _Subscription) -> Division:
    counts = [*subscription.consumers.values()]
    return Division(
        **evenness(counts),
        destination=name[0],
        subscription=name[1],
        consumers=len(counts),
        messages=sum(counts),
        least=min(counts),
        most=max(counts),
        idle=counts.count(0),
        brokers=dict(sorted(subscription.brokers.items())),
    )


def _summary(shared: Sequence[Division]) -> Consumers:
    with_messages = [division for division in shared if division["jain"] is not None]
    least: Evenness = (
        min(with_messages, key=lambda division: division["jain"] or 0.0) if with_messages else evenness([])
    )
    return Consumers(
        share=Evenness(max_to_mean=least["max_to_mean"], cv=least["cv"], jain=least["jain"]),
        idle=sum(division["idle"] for division in with_messages),
        subscriptions=list(shared),
    )
