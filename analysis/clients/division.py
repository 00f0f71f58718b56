"""Divides the messages of each subscription by consumer, beside an even split. Arrow in and out; no Spark."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from analysis.clients.distribution import evenness
from records.clients import Consumers, Division, Evenness
from records.results import CONSUMERS


@dataclass
class _Subscription:
    """Messages by consumer and by broker. ``at``: the broker of each consumer. ``selectors``: of each consumer."""

    consumers: Counter[int] = field(default_factory=Counter)
    brokers: Counter[str] = field(default_factory=Counter)
    at: dict[int, str] = field(default_factory=dict)
    selectors: dict[int, str] = field(default_factory=dict)

    @property
    def is_shared(self) -> bool:
        """Whether several consumers could get any of its messages, each as well as the others."""
        return len(self.consumers) > 1 and len({*self.selectors.values()}) == 1


def divided(received: pa.Table) -> tuple[pa.Table, Consumers]:
    """Rows of CONSUMERS in their order, and the summary's part of it. ``received``: of `analysis.clients.consumers`."""
    found: dict[tuple[str, str], _Subscription] = {}
    for row in sorted(received.to_pylist(), key=lambda row: (-row["messages"], row["broker"])):
        of = found.setdefault((row["destination"], row["subscription"]), _Subscription())
        of.consumers[row["consumer"]] += row["messages"]
        of.brokers[row["broker"]] += row["messages"]
        of.at.setdefault(row["consumer"], row["broker"])
        of.selectors[row["consumer"]] = max(row["selector"], of.selectors.get(row["consumer"], ""))
    rows = [row for name, of in sorted(found.items()) for row in _rows(name, of)]
    shared = [_division(name, of) for name, of in sorted(found.items()) if of.is_shared]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * len(CONSUMERS)
    return pa.table(columns, schema=CONSUMERS), _summary(shared)


def _rows(name: tuple[str, str], of: _Subscription) -> list[tuple[str, str, int, str, int]]:
    return [(*name, consumer, of.at[consumer], messages) for consumer, messages in sorted(of.consumers.items())]


def _division(name: tuple[str, str], of: _Subscription) -> Division:
    counts = [*of.consumers.values()]
    return Division(
        **evenness(counts),
        destination=name[0],
        subscription=name[1],
        consumers=len(counts),
        messages=sum(counts),
        least=min(counts),
        most=max(counts),
        idle=counts.count(0),
        brokers=dict(sorted(of.brokers.items())),
    )


def _summary(shared: Sequence[Division]) -> Consumers:
    known = [each for each in shared if each["jain"] is not None]
    least: Evenness = min(known, key=lambda each: each["jain"] or 0.0) if known else evenness([])
    return Consumers(
        share=Evenness(max_to_mean=least["max_to_mean"], cv=least["cv"], jain=least["jain"]),
        idle=sum(each["idle"] for each in known),
        subscriptions=list(shared),
    )
