"""Summarizes the samples: resource use of brokers, machine and load generator per second, and traffic per bridge.

Counters are totals since a start. If a counter decreased, its process was restarted, and its value is the increase
since then. A bridge's ``dequeue_count`` counts the messages that it forwarded and the other side confirmed. Both ends
of a duplex link have a bridge. If only the opener's bridge was sampled, its ``received_count`` counts the other
direction. The same applies to parallel duplex links, as the far ends do not know which link they belong to.
Advisories go against the direction of the messages: ``advisory_count`` is sampled at the receiving end.
"""

import polars as pl

from analysis.events.timeline import FOREVER_NS, Timeline
from records.units import NS_PER_S

COUNTERS = (
    "cpu_ns",
    "core_wait_ns",
    "quota_periods",
    "throttled_periods",
    "throttled_ns",
    "cpu_busy_ns",
    "steal_ns",
    "enqueue_count",
    "dequeue_count",
    "forward_count",
    "dispatch_count",
    "expired_count",
    "received_count",
    "advisory_count",
)
EDGE_NS = 2 * NS_PER_S
BROKER, BRIDGE = "broker", "bridge"
"""Kinds of samples; BRIDGE also names the place of messages that wait in a bridge."""
FIGURE = ["broker", "kind", "object", "metric"]
_DIRECTION = ["from_broker", "to_broker"]
_LINK = [*_DIRECTION, "connector"]
NAMELESS = "#"
"""Prefix of the far end's name on a duplex link, if several links come from the same broker."""


def resources(samples: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Return rows of RESOURCES: a gauge's last value in a second, a counter's growth since the previous second.

    If seconds have no sample, a counter's growth since the last sample is spread over them. A counter that decreased
    was restarted: its growth belongs to the second of its sample only, and the seconds before stay empty.
    """
    last_of_second = (
        samples.with_columns(timeline.second_of(pl.col("at_ns")).alias("second"))
        .sort("at_ns", "value")
        .group_by("second", *FIGURE)
        .agg(pl.last("at_ns"), pl.last("value"))
    )
    is_counter = pl.col("metric").is_in(COUNTERS)
    gauges = last_of_second.filter(~is_counter).select("second", *FIGURE, "value")
    value, at_s = pl.col("value"), pl.col("second")
    restarted = value < value.shift(1).over(FIGURE)
    before = pl.when(restarted).then(at_s - 1).otherwise(at_s.shift(1).over(FIGURE))
    grown = last_of_second.filter(is_counter).sort("at_ns").with_columns(_growth(), before.alias("before"))
    return pl.concat([gauges, _spread(grown.filter(pl.col("growth").is_not_null()))])


def _spread(grown: pl.DataFrame) -> pl.DataFrame:
    """Spread the growth over the seconds since the previous sample. The last second also gets the remainder."""
    seconds = pl.col("second") - pl.col("before")
    share = pl.col("growth") // seconds
    remainder = pl.when(pl.col("each") == pl.col("second")).then(pl.col("growth") - share * seconds).otherwise(0)
    every = grown.with_columns(pl.int_ranges(pl.col("before") + 1, pl.col("second") + 1, dtype=pl.Int32).alias("each"))
    spread = every.explode("each")
    return spread.select(pl.col("each").alias("second"), *FIGURE, (share + remainder).alias("value"))


def growth_of_counters(counters: pl.DataFrame) -> pl.DataFrame:
    """Return one row per counter of FIGURE: growth between its first and last sample, including restarts."""
    grown = counters.sort("at_ns").with_columns(_growth())
    return grown.group_by(FIGURE).agg(pl.sum("growth"))


def _counters_of_bridges(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the samples of bridges' counters.

    A bridge that came up after a sample of its broker has a value of 0 at the time of that sample.
    """
    of_bridges = samples.filter((pl.col("kind") == BRIDGE) & pl.col("metric").is_in(COUNTERS))
    samples_of_brokers = samples.filter(pl.col("kind") == BROKER).select("broker", "at_ns").unique()
    beginnings = (
        of_bridges.group_by(FIGURE)
        .agg(pl.min("at_ns"))
        .sort("at_ns")
        .join_asof(
            samples_of_brokers.with_columns(pl.col("at_ns").alias("before_ns")).sort("at_ns"),
            on="at_ns",
            by="broker",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("before_ns").is_not_null())
        .select(*FIGURE, pl.col("before_ns").alias("at_ns"), pl.lit(0, pl.Int64).alias("value"))
    )
    return pl.concat([of_bridges, beginnings.select(of_bridges.columns)])


def growth_in_load(counters: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Return one row per counter of FIGURE with ``in_load``, its growth within the load. Requires two samples.

    Growth between two samples is spread evenly over the time between them. If the samples begin or end up to EDGE_NS
    within the load, the rest of the load counts at the counter's mean rate.
    """
    within = (
        _within_load(counters, timeline)
        .sort(*FIGURE, "until_ns")
        .group_by(FIGURE, maintain_order=True)
        .agg(pl.sum("growth"), pl.min("from_ns"), pl.max("until_ns"))
    )
    covered_ns = pl.col("until_ns") - pl.col("from_ns")
    in_load = pl.col("growth") * (1 + _uncovered_ns(timeline) / covered_ns)
    return within.select(*FIGURE, in_load.alias("in_load"))


def cores_in_load(samples: pl.DataFrame, timeline: Timeline) -> dict[str, dict[str, int | None]]:
    """Return brokers_ns and generator_ns by metric: CPU time (``cpu_ns``), core waits (``core_wait_ns``) in the load.

    Computed as in `growth_in_load`. Missing or None if a counter was not sampled twice.
    """
    of_cores = samples.filter((pl.col("kind") == "process") & pl.col("metric").is_in(["cpu_ns", "core_wait_ns"]))
    used_ns, of_generator = pl.col("in_load"), pl.col("broker") == ""
    counted = (
        growth_in_load(of_cores, timeline)
        .group_by("metric")
        .agg(
            _whole(used_ns.filter(~of_generator)).alias("brokers_ns"),
            _whole(used_ns.filter(of_generator)).alias("generator_ns"),
        )
    )
    return {row.pop("metric"): row for row in counted.to_dicts()}


def _whole(used_ns: pl.Expr) -> pl.Expr:
    """Return the sum; null without values."""
    total = used_ns.sum().round(mode="half_away_from_zero").cast(pl.Int64)
    return pl.when(used_ns.count() > 0).then(total)


def _within_load(counter: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Return one row per pair of successive samples: their time span within the load, and the growth in that span."""
    ends_ns = FOREVER_NS if timeline.load_ended_ns is None else timeline.load_ended_ns
    from_ns, until_ns = pl.col("before_ns").clip(timeline.load_began_ns), pl.col("at_ns").clip(upper_bound=ends_ns)
    share = (until_ns - from_ns) / (pl.col("at_ns") - pl.col("before_ns"))
    return (
        counter.sort("at_ns")
        .with_columns(_growth(), pl.col("at_ns").shift(1).over(FIGURE).alias("before_ns"))
        .filter((pl.col("before_ns") < pl.col("at_ns")) & (from_ns < until_ns))
        .select(
            *FIGURE, from_ns.alias("from_ns"), until_ns.alias("until_ns"), (pl.col("growth") * share).alias("growth")
        )
    )


def _uncovered_ns(timeline: Timeline) -> pl.Expr:
    """Return the time of the load before the first and after the last sample of a process."""
    ends_ns = pl.col("until_ns") if timeline.load_ended_ns is None else pl.lit(timeline.load_ended_ns)
    edges_ns = (pl.col("from_ns") - timeline.load_began_ns, ends_ns - pl.col("until_ns"))
    before_ns, after_ns = (pl.when(edge_ns <= EDGE_NS).then(edge_ns).otherwise(0) for edge_ns in edges_ns)
    return before_ns + after_ns


def links(samples: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Return rows of LINKS. A bridge's object is ``connector|remote broker``."""
    of_bridges = _counters_of_bridges(samples)
    in_load = growth_in_load(of_bridges, timeline)
    bridges = (
        growth_of_counters(of_bridges)
        .join(in_load, FIGURE, how="left")
        .select(
            "metric",
            pl.col("broker").alias("here"),
            remote_broker().alias("remote"),
            connector().alias("connector"),
            pl.col("growth").alias("forwarded"),
            pl.col("in_load").round(mode="half_away_from_zero").cast(pl.Int64).alias("forwarded_in_load"),
        )
    )
    forwarded = _direction(bridges, "dequeue_count", "here", "remote")
    nameless = pl.col("connector").str.starts_with(NAMELESS)
    named, of_no_name = forwarded.filter(~nameless), forwarded.filter(nameless)
    brought_back = _direction(bridges, "received_count", "remote", "here").join(named, _LINK, how="anti")
    carried = pl.concat([named, brought_back, of_no_name.join(brought_back, _DIRECTION, how="anti")])
    advisories = _direction(bridges, "advisory_count", "remote", "here")
    counted = {"forwarded": "advisories", "forwarded_in_load": "advisories_in_load"}
    return carried.join(advisories.rename(counted), _LINK, how="left")


def remote_broker() -> pl.Expr:
    """Extract this part of a bridge's object."""
    return pl.col("object").str.split("|").list.last()


def connector() -> pl.Expr:
    """Extract this part of a bridge's object."""
    return pl.col("object").str.split("|").list.first()


def _direction(bridges: pl.DataFrame, metric: str, from_broker: str, to_broker: str) -> pl.DataFrame:
    return bridges.filter(pl.col("metric") == metric).select(
        pl.col(from_broker).alias("from_broker"),
        pl.col(to_broker).alias("to_broker"),
        *("connector", "forwarded", "forwarded_in_load"),
    )


def _growth() -> pl.Expr:
    """Return ``growth``, a counter's growth since its previous sample; null for the first. Requires sorted samples."""
    value, before = pl.col("value"), pl.col("value").shift(1).over(FIGURE)
    return pl.when(value < before).then(value).otherwise(value - before).alias("growth")


LINK_QUEUE, QUEUES = "link queue", "queues"
_END = ["broker", "object"]


def link_backlog(samples: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Return rows of LINK_BACKLOG: the last sample of each second. A bridge's object is ``connector|remote broker``."""
    metric = pl.col("metric")
    at_once = samples.filter(pl.col("kind") == BRIDGE).group_by(*_END, "at_ns")
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
        .group_by(timeline.second_of(pl.col("at_ns")).alias("second"), *_END)
        .agg(pl.last("waits_in"), pl.last("messages"))
        .select(
            "second",
            pl.col("broker").alias("from_broker"),
            remote_broker().alias("to_broker"),
            connector().alias("connector"),
            *("waits_in", "messages"),
        )
    )
