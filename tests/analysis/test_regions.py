"""Checks what is told of messages that cross between regions: planted latencies give their figures back."""

import pyarrow as pa
import pytest

from analysis.network.topic import by_region
from records.buckets import bucket_of
from records.latency import Regions
from records.results import LATENCY
from records.run import BrokerInfo

MS = 1_000_000
BROKERS = (BrokerInfo("a", "east"), BrokerInfo("b", "east"), BrokerInfo("c", "west"))


def row(
    taken: str, given: str, took_ms: float, count: int, phase: str = "load", measure: str = "due_to_received"
) -> dict[str, object]:
    took_ns = round(took_ms * MS)
    found = {"measure": measure, "from_broker": taken, "to_broker": given, "hops": 0 if taken == given else 1}
    found |= {"phase": phase, "second": 1, "in_fault": False, "bucket": bucket_of(took_ns), "count": count}
    return found | {"count_less_own": count, "min_ns": took_ns, "max_ns": took_ns}


ROWS = (
    row("a", "a", 1, 600),
    row("a", "b", 3, 400),
    row("b", "c", 41, 700),
    row("c", "a", 80, 300),
    row("a", "c", 999, 50, phase="warm_up"),
    row("a", "c", 999, 50, measure="sent_to_received"),
)


def found(load_s: float | None = 10.0, brokers: tuple[BrokerInfo, ...] = BROKERS) -> Regions:
    ends = [pa.field("min_ns", pa.int64()), pa.field("max_ns", pa.int64())]
    return by_region(pa.Table.from_pylist(list(ROWS), pa.schema([*LATENCY, *ends])), brokers, load_s)


def test_messages_that_cross_are_those_whose_brokers_are_of_two_regions() -> None:
    regions = found()
    within, across = regions["within"], regions["across"]
    assert (within["count"], within["min"], within["max"]) == (1_000, 1, 3)
    assert (across["count"], across["min"], across["max"]) == (1_000, 41, 80)
    assert within["p50"] == pytest.approx(1, rel=0.01)
    assert across["p50"] == pytest.approx(41, rel=0.01)
    assert across["p90"] == pytest.approx(80, rel=0.01)
    assert regions["across_per_s"] == 100


def test_brokers_without_regions_are_of_one() -> None:
    regions = found(brokers=tuple(BrokerInfo(name) for name in "abc"))
    assert (regions["within"]["count"], regions["across"]["count"], regions["across_per_s"]) == (2_000, 0, 0)


def test_the_rate_is_not_known_if_the_length_of_the_load_is_not() -> None:
    assert found(load_s=None)["across_per_s"] is None
