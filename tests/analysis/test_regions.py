"""Checks figures of messages that cross between regions, with planted latencies."""

import polars as pl
import pytest

from analysis.network.topic import by_region, latency_by_region
from analysis.tables import MergedRows
from records.figures.latency import Regions
from records.run import BrokerInfo
from records.tables.merged_tables import LATENCY_FIGURES
from tests.analysis.rows import latency_row, latency_table
from tests.analysis.topics import merged_here

BROKERS = (BrokerInfo("a", "east"), BrokerInfo("b", "east"), BrokerInfo("c", "west"))


ROWS = (
    latency_row("due_to_received", 1, 1, 600, ends=("a", "a")),
    latency_row("due_to_received", 1, 3, 400, ends=("a", "b")),
    latency_row("due_to_received", 1, 41, 700, ends=("b", "c")),
    latency_row("due_to_received", 1, 80, 300, ends=("c", "a")),
    latency_row("due_to_received", 1, 999, 50, ends=("a", "c"), phase="warm_up"),
    latency_row("sent_to_received", 1, 999, 50, ends=("a", "c")),
)


CROSSINGS = pl.DataFrame(
    [("a", "a", 600), ("a", "b", 400), ("b", "c", 400), ("c", "a", 200)],
    schema=["from_broker", "to_broker", "received"],
    orient="row",
)
"""400 messages arrived after the load."""


def regions_of(load_s: float | None = 10.0, brokers: tuple[BrokerInfo, ...] = BROKERS) -> Regions:
    latency = pl.from_arrow(latency_table(ROWS))
    assert isinstance(latency, pl.DataFrame)
    absent = [pl.lit(None, pl.Int64).alias(name) for name in LATENCY_FIGURES if name not in latency.columns]
    by_bucket = latency_by_region(latency.with_columns(absent), {broker.name: broker.region for broker in brokers})
    rows = MergedRows({"latency_by_region": lambda _part: by_bucket})
    rows.add(None)  # type: ignore[arg-type]
    return by_region(merged_here(rows, ("latency_by_region",))["latency_by_region"], CROSSINGS, brokers, load_s)


def test_messages_that_cross_are_those_whose_brokers_are_of_two_regions() -> None:
    regions = regions_of()
    within, across = regions["within"], regions["across"]
    assert (within["count"], within["min"], within["max"]) == (1_000, 1, 3)
    assert (across["count"], across["min"], across["max"]) == (1_000, 41, 80)
    assert within["p50"] == pytest.approx(1, rel=0.01)
    assert across["p50"] == pytest.approx(41, rel=0.01)
    assert across["p90"] == pytest.approx(80, rel=0.01)
    assert regions["across_per_s"] == 60, "of the messages received in the load"


def test_brokers_without_regions_are_of_one() -> None:
    regions = regions_of(brokers=tuple(BrokerInfo(name) for name in "abc"))
    assert (regions["within"]["count"], regions["across"]["count"], regions["across_per_s"]) == (2_000, 0, 0)


def test_the_rate_is_not_known_if_the_length_of_the_load_is_not() -> None:
    assert regions_of(load_s=None)["across_per_s"] is None
