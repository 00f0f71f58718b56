"""Latency from due to received by consumer class and by destination.

A run with one class or one destination does not have these rows: its distribution equals the whole run's.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from analysis.events.run import Run
from analysis.latency.figures import distribution_ms
from analysis.latency.histogram import added_up, bucketed, from_due
from analysis.messages.part import Part
from records.figures.latency import Latency, LatencyByLabel, labels_of
from records.run import CONSUMER
from records.tables.merged_tables import LESS_OWN

CLASS, DESTINATION = "consumer_class", "destination"
Rows = Mapping[tuple[str, str], Mapping[str, Any]]
"""Rows of distributions by kind of label (`CLASS`, `DESTINATION`) and label."""


@dataclass(frozen=True)
class Labels:
    """The labels of a run that has several. ``class_of``: the class of each consumer; empty if there is one class.

    ``destinations``: whether there are several.
    """

    class_of: Mapping[int, str]
    destinations: bool

    @classmethod
    def of(cls, run: Run) -> "Labels":
        classes, destinations = labels_of(run.info.users)
        consumers = run.members.filter(pl.col("role") == CONSUMER).select("user", "user_class").unique()
        return cls(dict(consumers.iter_rows()) if len(classes) > 1 else {}, len(destinations) > 1)

    def __bool__(self) -> bool:
        return bool(self.class_of) or self.destinations


def rows_of_part(part: Part, labels: Labels) -> pl.DataFrame:
    """Return the latencies of a part in the load by label: label_kind, label, bucket and figures."""
    timed = from_due(part.deliveries, part.run.stalls)
    in_load = timed.filter(part.run.timeline.phase(pl.col("due_ns")) == "load")
    return pl.concat([_counted(in_load, kind, label) for kind, label in _expressions(labels)])


def _expressions(labels: Labels) -> Iterator[tuple[str, pl.Expr]]:
    if labels.class_of:
        yield CLASS, pl.col("consumer").replace_strict(labels.class_of, default="", return_dtype=pl.String)
    if labels.destinations:
        yield DESTINATION, pl.col("destination").cast(pl.String)


def _counted(timed: pl.DataFrame, kind: str, label: pl.Expr) -> pl.DataFrame:
    rows = bucketed(timed.with_columns(label.alias("label")), ["label", "bucket"], clock_error_ns=0)
    return added_up(rows, ["label", "bucket"]).select(pl.lit(kind).alias("label_kind"), pl.all())


def by_label(run: Run, rows: Iterable[Mapping[str, Any]], whole: Mapping[str, Any] | None) -> Rows:
    """Return the distribution of each label of the run. ``whole``: the distribution of all messages."""
    found = {(row["label_kind"], row["label"]): row for row in rows}
    classes, destinations = labels_of(run.info.users)
    nothing: dict[str, Any] = {}
    return {
        (kind, name): found.get((kind, name), nothing) if len(names) > 1 else whole or nothing
        for kind, names in ((CLASS, classes), (DESTINATION, destinations))
        for name in names
    }


def latency_by_label(rows: Rows) -> LatencyByLabel:
    """Return the summary's ``latency_by``."""
    return LatencyByLabel(
        consumer_classes={name: distribution_ms(row or None) for (kind, name), row in rows.items() if kind == CLASS},
        destinations={name: distribution_ms(row or None) for (kind, name), row in rows.items() if kind == DESTINATION},
    )


def with_less_own(rows: Rows) -> dict[str, tuple[Latency, Latency]]:
    """Return, by label, the latencies as they were and less the generator's own delay."""
    return {
        name: (distribution_ms(row or None), distribution_ms(row or None, LESS_OWN)) for (_, name), row in rows.items()
    }
