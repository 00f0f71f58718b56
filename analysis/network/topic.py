"""The network topic: samples of brokers, links and machines, mirror lag, and latency between regions."""

from collections.abc import Iterable, Mapping
from functools import partial

import polars as pl

from analysis.events.run import MergedTables, RowsOfPart, Run, TopicResults, as_table
from analysis.latency.figures import distribution_ms
from analysis.latency.histogram import added_up
from analysis.latency.topic import histogram_of
from analysis.messages.deliveries import first
from analysis.messages.part import Part
from analysis.network.mirror_lag import METRICS, mirror_lag
from analysis.network.resources import link_backlog, links, resources
from records.figures.latency import Regions
from records.figures.network import LinkTraffic
from records.run import BrokerInfo, LinkInfo

ENDS = ("from_broker", "to_broker")


class NetworkTopic:
    """Tables: resources, links, link_backlog. Summary: links, mirror, regions. Requires the table latency."""

    step = "followed bridges and resources"

    def tables(self, run: Run) -> dict[str, RowsOfPart]:
        regions = {broker.name: broker.region for broker in run.info.brokers}
        return {"crossings": _crossings, "latency_by_region": partial(_by_region, regions=regions)}

    def conclude(self, run: Run, merged: MergedTables, results: TopicResults) -> None:
        traffic = links(run.samples, run.timeline)
        results.tables |= {
            "resources": as_table(resources(run.samples, run.timeline)),
            "links": as_table(traffic),
            "link_backlog": as_table(link_backlog(run.samples, run.timeline)),
        }
        of_mirrors = as_table(run.samples.filter(pl.col("metric").is_in(METRICS)))
        results.summary |= {
            "links": link_traffic(traffic, run.info.links, run.timeline.load_s),
            "mirror": mirror_lag(of_mirrors, run.faults, run.load_began_ns),
            "regions": by_region(
                merged["latency_by_region"], merged["crossings"], run.info.brokers, run.timeline.load_s
            ),
        }


def _crossings(part: Part) -> pl.DataFrame:
    """Count first deliveries by entry and exit broker. ``received``: deliveries received within the load."""
    received = part.run.timeline.in_load(pl.col("received_ns")).sum().cast(pl.Int64).alias("received")
    return first(part.deliveries).group_by(pl.col(ENDS).cast(pl.String)).agg(received)


def link_traffic(rows: pl.DataFrame, links: Iterable[LinkInfo], load_s: float | None) -> LinkTraffic:
    """Return the totals of all links; None if a direction of a link has no counters.

    ``rows``: rows of LINKS. The rows for the way back over one-way links are left out.
    """
    links = [*links]
    known = {direction for link in links for direction in link.directions}
    way_back_of = {link.name: _way_back(link) for link in links}
    never_used = {*way_back_of.values()} - known

    def is_used(from_broker: str, to_broker: str, connector: str) -> bool:
        direction = (from_broker, to_broker)
        return direction != way_back_of[connector] if connector in way_back_of else direction not in never_used

    used = [is_used(*row) for row in rows.select(*ENDS, "connector").rows()]
    rows = rows.filter(pl.Series(used, dtype=pl.Boolean))
    complete = known <= {*rows.select(ENDS).rows()}

    def total(column: str) -> int | None:
        return None if not complete or rows.is_empty() or rows[column].has_nulls() else int(rows[column].sum())

    def rate(column: str) -> float | None:
        count = total(column)
        return count / load_s if load_s and count is not None else None

    return LinkTraffic(
        messages_per_s=rate("forwarded_in_load"),
        advisories_per_s=rate("advisories_in_load"),
        advisories=total("advisories"),
    )


def _way_back(link: LinkInfo) -> tuple[str, str] | None:
    """Return the direction in which a one-way link carries no messages; None if it is duplex."""
    sender, receiver = link.directions[0]
    return None if link.duplex else (receiver, sender)


def _by_region(part: Part, regions: Mapping[str, str]) -> pl.DataFrame:
    return latency_by_region(part.compute_once(histogram_of), regions)


def latency_by_region(latency: pl.DataFrame, regions: Mapping[str, str]) -> pl.DataFrame:
    """Return latency from due to received in the load: ``crossed`` (between regions), bucket and figures.

    ``regions``: region by broker. Brokers outside the topology have no region.
    """
    in_load = (pl.col("measure") == "due_to_received") & (pl.col("phase") == "load")
    entered, left = (pl.col(end).cast(pl.String).replace_strict(regions, default=None) for end in ENDS)
    return added_up(
        latency.filter(in_load).with_columns(entered.ne_missing(left).alias("crossed")), ["crossed", "bucket"]
    )


def by_region(
    latency: pl.DataFrame, crossings: pl.DataFrame, brokers: Iterable[BrokerInfo], load_s: float | None
) -> Regions:
    """Return the summary's section. ``latency``: distributions by ``crossed``. ``crossings``: rows of `_crossings`.

    Messages due in the load and received after it have a latency, but do not count in the rate.
    """
    region = {broker.name: broker.region for broker in brokers}
    of_crossed = {row["crossed"]: row for row in latency.to_dicts()}
    received = sum(
        row["received"] for row in crossings.to_dicts() if region.get(row[ENDS[0]]) != region.get(row[ENDS[1]])
    )
    return Regions(
        within=distribution_ms(of_crossed.get(False)),
        across=distribution_ms(of_crossed.get(True)),
        across_per_s=received / load_s if load_s else None,
    )
