"""The tables that every part of a run computes, and how the rows of several parts are merged.

Rows with equal keys become one row. Each figure of that row is the sum, the minimum or the maximum of the merged
values. A table without figures is a set of rows. Topics of the analysis provide the rows (`analysis.events.run.Topic`),
and Spark merges them (`analysis.pipeline`).

A histogram has a row for each bucket (`records.figures.buckets`). Between processes, one row holds all buckets of a
histogram as arrays. For a distribution, only figures of the merged histogram are kept, such as percentiles.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa

Merge = Literal["sum", "min", "max"]
TEXT, NUMBER, INTEGER, FLAG = pa.string(), pa.int32(), pa.int64(), pa.bool_()
BUCKET = "bucket"
HISTOGRAM = "histogram"
"""The name of the column that holds the buckets and figures of a packed histogram."""


@dataclass(frozen=True)
class FirstRows:
    """Of all rows with the same ``of``, only the first ``rows`` are needed, sorted by the columns ``by``."""

    of: str
    by: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class MergedTable:
    """Keys with their types, and figures with their merges. Figures are 64-bit integers; a sum is never null.

    ``is_distinct``: all rows of all parts have different keys, so nothing has to be merged. ``kept``: the rows that a
    task has to return; None: all.
    """

    name: str
    keys: Mapping[str, pa.DataType]
    figures: Mapping[str, Merge]
    is_distribution: bool = False
    is_distinct: bool = False
    kept: FirstRows | None = None

    @property
    def schema(self) -> pa.Schema:
        """The schema of each part's rows, and of merged rows except distributions."""
        return pa.schema([*self.keys.items(), *((name, INTEGER) for name in self.figures)])

    @property
    def is_histogram(self) -> bool:
        return BUCKET in self.keys


MERGED_TABLES: dict[str, MergedTable] = {}
"""All tables by name."""
BLOCKS = "blocks"
"""When the messages of each block of a stream arrived. Spark computes after_ns, the earliest first_ns of the higher
blocks, and keeps the blocks whose last_ns is later."""
OVERTAKEN, OVERTAKEN_IN_OVERLAPS = "overtaken", "overtaken_in_overlaps"
"""First deliveries that were overtaken within their part, and those that arrived before the end of an overlap of
blocks. ``alike`` is 1 for a delivery that Spark may keep.

Spark keeps the overtaken deliveries that are not in the other table. Of these it keeps only the earliest
`MOST_OVERTAKEN` of each stream, and the first of each stream and fault. That one has the number of all deliveries of
the stream and fault as ``alike``; the others have 0. ``furthest``: the largest distance to the seq that overtook.
"""
MOST_OVERTAKEN = 100
EXAMPLES_KEPT = FirstRows("anomaly", ("at_ns", "producer", "seq", "subscription", "detail"), 100)
"""The messages of each anomaly that a run lists."""
DISTRIBUTION = "distribution"
"""The name of the column that holds the figures of a distribution."""
LESS_OWN = "less_own_"
"""The prefix of the figures of the durations less the generator's own delay."""
DISTRIBUTION_TYPE = pa.struct(
    [
        pa.field(f"{prefix}{name}", kind)
        for prefix in ("", LESS_OWN)
        for name, kind in {
            "count": INTEGER,
            "negative": INTEGER,
            "min_ns": INTEGER,
            "max_ns": INTEGER,
            "quantiles_ns": pa.list_(INTEGER),
        }.items()
    ]
)
"""quantiles_ns: for the shares `records.figures.percentiles.SHARES`, in that order; empty without durations."""
_KEY_TYPES: dict[str, pa.DataType] = {}


def _table(name: str, keys: Mapping[str, pa.DataType], **figures: Merge) -> MergedTable:
    for key, kind in keys.items():
        assert _KEY_TYPES.setdefault(key, kind) == kind, f"{name}: {key} has another type in another table"
    MERGED_TABLES[name] = MergedTable(name, keys, figures)
    return MERGED_TABLES[name]


def _distinct(name: str, keys: Mapping[str, pa.DataType], **figures: Merge) -> None:
    MERGED_TABLES[name] = replace(_table(name, keys, **figures), is_distinct=True)


_SUBSCRIPTION = {"destination": TEXT, "subscription": TEXT}
STREAM = {"consumer": NUMBER, "producer": NUMBER, **_SUBSCRIPTION}
_ARRIVAL = {
    **{**STREAM, "block": INTEGER, "seq": INTEGER, "fault": NUMBER},
    **{"from_broker": TEXT, "due_ns": INTEGER, "received_ns": INTEGER},
}
"""fault: the last fault that had begun when the message was received, or null."""

# Messages: one row per count of a subscription (analysis.messages.accounting) or of the whole run.
_table("counts", {**_SUBSCRIPTION, "counted": TEXT}, count="sum")
_table("outcomes", {"outcome": TEXT}, messages="sum")
MERGED_TABLES["examples"] = replace(
    _table(
        "examples",
        {
            **{"anomaly": TEXT, **_SUBSCRIPTION, "producer": NUMBER, "seq": INTEGER},
            **{"from_broker": TEXT, "at_ns": INTEGER, "detail": TEXT},
        },
        copies="sum",
    ),
    kept=EXAMPLES_KEPT,
)
_table("left_behind", {"queue": TEXT, "broker": TEXT, "outcome": TEXT}, messages="sum")
_table("refused", {"broker": TEXT}, messages="sum")
_table("foreign_leftovers", {}, messages="sum")
_table("foreign", {"destination": TEXT, "broker": TEXT, "found": FLAG}, messages="sum")
_table("first_receipts", {"destination": TEXT}, due_ns="min", received_ns="min")

# The order of first deliveries (analysis.messages.order).
_table(BLOCKS, {**STREAM, "block": INTEGER}, first_ns="min", last_ns="max", after_ns="min")
for _name in (OVERTAKEN, OVERTAKEN_IN_OVERLAPS):
    _distinct(_name, _ARRIVAL, overtaken_by="max", alike="sum", furthest="max")

# Latencies: histograms and distributions.
LATENCY_FIGURES: dict[str, Merge] = {
    "count": "sum",
    "count_less_own": "sum",
    "impossible": "sum",
    "min_ns": "min",
    "max_ns": "max",
    "less_own_min_ns": "min",
    "less_own_max_ns": "max",
}


def _distribution(name: str, keys: Mapping[str, pa.DataType]) -> None:
    table = _table(name, {**keys, BUCKET: NUMBER}, **LATENCY_FIGURES)
    MERGED_TABLES[name] = replace(table, is_distribution=True)


_table("latency_of_spans", {"measure": TEXT, "from_s": NUMBER, "until_s": NUMBER, BUCKET: NUMBER}, **LATENCY_FIGURES)
_table("waits", {"measure": TEXT, "second": NUMBER, "waited_s": NUMBER}, messages="sum", rest_ns="sum")
_table("impossible", {"measure": TEXT}, impossible="sum")
_distribution("latency_in_load", {"measure": TEXT})
_distribution("latency_by_due_second", {"second": NUMBER})
_distribution("latency_by_region", {"crossed": FLAG})
_distribution("latency_by_label", {"label_kind": TEXT, "label": TEXT})
_table("paths", {"from_broker": TEXT, "to_broker": TEXT, "hops": NUMBER}, messages="sum")

# Load, clients, network.
_table("rates", {"second": NUMBER, "phase": TEXT, "event": TEXT, "broker": TEXT}, count="sum")
_table("totals", {"event": TEXT}, count="sum")
_table(
    "deliveries",
    {"second": NUMBER},
    expected="sum",
    in_doubt="sum",
    missed_away="sum",
    recovered="sum",
    pending="sum",
)
_table("sent", {"producer": NUMBER}, sent="sum", first_due_ns="min")
_table("received", {**_SUBSCRIPTION, "consumer": NUMBER, "broker": TEXT}, messages="sum")
_table("group_sizes", {"client_group": TEXT}, clients="sum")
_table("connection_changes", {"second": NUMBER, "client_group": TEXT, "broker": TEXT}, change="sum")
_table("connection_seconds", {}, first="min", last="max")
_table("client_changes", {"second": NUMBER, "client_group": TEXT, "broker": TEXT}, change="sum")
_table("connected_clients", {"at_ns": INTEGER, "client_group": TEXT, "broker": TEXT}, clients="sum")
_table("moves", {"user": NUMBER, "at_ns": INTEGER, "off_ns": INTEGER})
_table("unsettled", {"from_ns": INTEGER, "until_ns": INTEGER})
_table("flaps", {}, flaps="sum")
_table("crossings", {"from_broker": TEXT, "to_broker": TEXT}, received="sum")

# Faults and outages. A user or broker is identified by the fault's number; `number` counts the quiet times.
_OUTAGE = {"fault": NUMBER, "user": NUMBER}
_table("harm", {"fault": NUMBER}, lost="sum", past_ttl="sum", stranded="sum", duplicated="sum", redelivered="sum")
_table("stranded", {"fault": NUMBER, "broker": TEXT}, messages="sum", age_ns="max")
_table(
    "sequences",
    {"fault": NUMBER, "producer": NUMBER, "subscription": TEXT},
    at_risk="sum",
    gone="sum",
    first_lost="min",
    last_survived="max",
    oldest_lost_ns="min",
)
_table("late", {"fault": NUMBER}, late="sum")
_table("survival", {"fault": NUMBER, "second": NUMBER}, survived="sum", lost="sum")
_table("successes", _OUTAGE, last_success_ns="max", first_success_ns="min", in_flight="sum")
_table("senders", {"user": NUMBER})
_table("due", _OUTAGE, due="sum")
_table("owed", _OUTAGE, owed="sum")
_table("bounds", {"number": NUMBER}, last_ns="max", first_ns="min")
_table("waiting", {"number": NUMBER, "role": TEXT, "client": NUMBER})
_table("undelivered", {"number": NUMBER, "destination": TEXT})

# Event rows that no recorder can have written (analysis.events.recorded).
_table("left_out", {"file": TEXT, "group": NUMBER, "groups": NUMBER})
_table("repeated_sends", {"file": TEXT}, rows="sum")
