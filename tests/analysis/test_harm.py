"""Checks the messages attributed to a fault: planted messages are found exactly, each at one fault at most."""

from collections.abc import Mapping, Sequence

import polars as pl
import pytest

from analysis.events.timeline import FOREVER_NS, FaultSpan, last_begun
from analysis.faults.harm import by_fault, fault_of, harm, late, late_limits, reordered, stranded
from tests.analysis.rows import MS, table

S = 1_000 * MS
SPANS = (
    FaultSpan(1, "kill", "a", 5 * MS, 14 * MS),
    FaultSpan(3, "freeze", "b", 10 * MS, 30 * MS),
    FaultSpan(4, "kill", "a", 15 * MS, FOREVER_NS),
)
OUTCOMES = "sent_ns bigint, message_outcome string, left_at string, age_ns bigint, from_broker string"
COPIES = "received_ns bigint, duplicate boolean, redelivered boolean"


def test_each_message_belongs_to_one_fault_at_most() -> None:
    sent = [(3, "a"), (5, "a"), (14, "a"), (20, "b"), (9_000, "a")]  # the last fault is never over
    left_behind = [(6, "a", 40), (7, "a", None), (8, "b", 30), (20, "b", 20), (40, "c", None)]
    outcomes = table(
        [(at * MS, "lost", None, None, broker) for at, broker in sent]
        + [
            (at * MS, "stranded", broker, age and age * MS, "b" if at == 20 else "c") for at, broker, age in left_behind
        ],
        OUTCOMES,
    )
    came = [4, 5, 9, 10, 14, 15, 9_000]
    again = [(at * MS, True, False) for at in came] + [(6 * MS, False, False)]
    flagged = [(at * MS, False, True) for at in (3, 6, 12, 13)]
    deliveries = table(again + flagged, COPIES)
    received = table([(at * MS,) for at in (4, 5, 5, 20)], "received_ns bigint")
    out_of_order = received.select(last_begun(SPANS).alias("fault"), pl.lit(1).alias("alike"))
    rows = harm(outcomes, deliveries, SPANS).to_dicts()
    names = ("fault", "lost", "past_ttl", "stranded", "duplicated", "redelivered")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (1, 3, 0, 3, 2, 1),
        (3, 1, 0, 1, 2, 2),
        (4, 1, 0, 1, 2, 0),
    ]
    assert reordered(out_of_order) == {1: 2, 4: 1}
    left_at = {
        fault: [tuple(row.values()) for row in rows] for fault, rows in by_fault(stranded(outcomes, SPANS)).items()
    }
    assert left_at == {
        1: [(1, "a", 2, 40 * MS), (1, "b", 1, 30 * MS)],
        3: [(3, "b", 1, 20 * MS)],
        4: [(4, "c", 1, None)],
    }


AWAY = FaultSpan(1, "away", "consumers", 1 * S, 12 * S)
BY_HAND = FaultSpan(2, "start-link", "a-to-b", 3 * S, FOREVER_NS)
FULL = FaultSpan(3, "full-store", "a", 4 * S, 20 * S)
POWER = FaultSpan(4, "power-loss", "a", 6 * S, 9 * S)
KILL = FaultSpan(5, "kill", "b", 7 * S, FOREVER_NS)
RESTART = FaultSpan(6, "restart", "a", 8 * S, 16 * S)
MUCH_LATER = FaultSpan(7, "kill", "a", 60 * S, 70 * S)


@pytest.mark.parametrize(
    ("faults", "broker", "belongs_to"),
    [
        pytest.param((AWAY, POWER), "a", POWER, id="absent consumers lose nothing that a power failure may have lost"),
        pytest.param((BY_HAND, KILL), "b", KILL, id="nor does a link that was started"),
        pytest.param((FULL, POWER), "a", POWER, id="nor does a full store of the same broker"),
        pytest.param((POWER, KILL), "b", KILL, id="a message to b is lost at b, although a failed first"),
        pytest.param((POWER, KILL), "c", POWER, id="the first of two brokers that a message was not sent to"),
        pytest.param((POWER, KILL), None, POWER, id="the first, if it is not known where a message was sent"),
        pytest.param((AWAY, FULL), "b", FULL, id="a broker's fault before consumers that are away"),
        pytest.param((AWAY,), "a", AWAY, id="the only one"),
        pytest.param((RESTART, MUCH_LATER), "a", RESTART, id="the first of two that do not overlap"),
    ],
)
def test_a_lost_message_belongs_to_the_fault_that_may_have_lost_it(
    faults: Sequence[FaultSpan], broker: str | None, belongs_to: FaultSpan
) -> None:
    lost = table([(5 * S, "lost", None, None, broker)], OUTCOMES)
    assert lost.select(fault_of(faults)).item() == belongs_to.number


def test_a_message_belongs_to_no_fault_that_was_over_when_it_was_sent() -> None:
    lost = table([(12 * S + 1, "lost", None, None, "a")], OUTCOMES)
    assert lost.select(fault_of((AWAY, POWER))).item() is None
    assert lost.select(fault_of((AWAY, POWER, KILL))).item() == KILL.number


def late_messages(
    rows: Sequence[tuple[int, int, int]], p99_ns: Mapping[int, int], faults: Sequence[FaultSpan]
) -> dict[int, int]:
    """Return the late messages by fault. ``rows``: (second of the load, milliseconds from due to received, messages)"""
    limits = late_limits(p99_ns, faults, 100 * S)
    timed = [{"second": at_s, "took_ns": took_ms * MS} for at_s, took_ms, messages in rows for _ in range(messages)]
    frame = pl.DataFrame(timed, {"second": pl.Int32, "took_ns": pl.Int64})
    return dict(late(frame, pl.col("second"), limits).iter_rows()) if limits else {}


def test_messages_beyond_the_p99_band_are_late_until_the_next_fault() -> None:
    usual = [(at_s, 20, 100) for at_s in range(20)]  # the band ends at 40 ms
    slow = [(4, 100, 7), (5, 39, 8), (5, 60, 30), (6, 45, 5), (11, 900, 1), (12, 50, 11), (15, 41, 2)]
    faults = (
        FaultSpan(1, "kill", "a", 105 * S + 400 * MS, 109 * S),
        FaultSpan(2, "kill", "b", 112 * S, 114 * S),
    )
    p99_ns = dict.fromkeys(range(20), 20 * MS)
    assert late_messages([*usual, *slow], p99_ns, faults) == {1: 36, 2: 13}


def test_nobody_knows_what_is_late_if_too_little_came_before_the_fault() -> None:
    early = FaultSpan(1, "kill", "a", 102 * S, 109 * S)
    p99_ns = {0: 20 * MS, 1: 20 * MS, 2: 900 * MS}
    assert late_messages([(0, 20, 5), (1, 20, 5), (2, 900, 5)], p99_ns, (early,)) == {}
