"""Checks which messages a fault lost, and their position in each producer's sequence."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.events.timeline import FaultSpan
from analysis.faults.survival import Survival, at_risk, by_second, by_sequence, survivals
from analysis.tables import merged
from records.tables.merged_tables import MERGED_TABLES

MS, S = 1_000_000, 1_000_000_000
BEGAN_NS = 10 * S
SEQUENCES = MERGED_TABLES["sequences"]
FAULT = FaultSpan(1, "power-loss", "a", BEGAN_NS, BEGAN_NS + 20 * S, BEGAN_NS + 100 * MS, BEGAN_NS + 5 * S)
EXPECTED = {
    "producer": pl.Int32,
    "seq": pl.Int64,
    "subscription": pl.String,
    "from_broker": pl.String,
    "sent_ns": pl.Int64,
    "acked_ns": pl.Int64,
}


def rows_of(fates: Sequence[str], producer: int = 1, broker: str = "a") -> list[dict[str, Any]]:
    """One message per ms, the last one confirmed just before the fault. ``fates``: one letter per message.

    r: received before the fault. s: received after it. f: found on a queue. l: lost. u: unaccounted for,
    as not every place was searched. d: in doubt. c: received after it, and confirmed after it.
    """
    return [
        {
            "producer": producer,
            "seq": seq,
            "subscription": "q",
            "from_broker": broker,
            "sent_ns": (acked_ns := BEGAN_NS - (len(fates) - seq) * MS) - 1,
            "acked_ns": {"d": None, "c": BEGAN_NS + S}.get(fate, acked_ns),
            "fate": fate,
        }
        for seq, fate in enumerate(fates)
    ]


def found(rows: Sequence[dict[str, Any]], faults: Sequence[FaultSpan] = (FAULT,)) -> pl.DataFrame:
    key = {"producer": pl.Int32, "seq": pl.Int64, "subscription": pl.String}
    expected = pl.DataFrame([{name: row[name] for name in EXPECTED} for row in rows], EXPECTED)
    received = {"r": BEGAN_NS - 1, "s": BEGAN_NS + 8 * S, "c": BEGAN_NS + 8 * S}
    firsts = [{**row, "received_ns": received[row["fate"]]} for row in rows if row["fate"] in received]
    named = {"f": "stranded", "l": "lost", "u": "unaccounted"}
    outcomes = [{**row, "message_outcome": named[row["fate"]]} for row in rows if row["fate"] in named]
    return at_risk(
        expected,
        pl.DataFrame(firsts, {**key, "received_ns": pl.Int64}),
        pl.DataFrame(outcomes, {**key, "sent_ns": pl.Int64, "message_outcome": pl.String}),
        faults,
    )


def survival(rows: pl.DataFrame) -> Survival:
    return survivals(merged(SEQUENCES, by_sequence(rows)), [FAULT])[1]


@pytest.mark.parametrize(
    ("fates", "expected"),
    [
        ("rrss", Survival(at_risk=2)),
        ("rssll", Survival(at_risk=4, gone=2, lost_tails=1, oldest_lost_s=0.002)),
        ("rlll", Survival(at_risk=3, gone=3, lost_whole=1, oldest_lost_s=0.003)),
        ("slsl", Survival(at_risk=4, gone=2, lost_holes=1, oldest_lost_s=0.003)),
        ("lf", Survival(at_risk=2, gone=1, lost_holes=1, oldest_lost_s=0.002)),
        ("lud", Survival(at_risk=2, gone=2, lost_whole=1, oldest_lost_s=0.003)),
        ("slc", Survival(at_risk=2, gone=1, lost_tails=1, oldest_lost_s=0.002)),
        ("", Survival()),
    ],
)
def test_losses_are_placed_in_their_sequence(fates: str, expected: Survival) -> None:
    assert survival(found(rows_of(fates))) == expected


def test_messages_of_other_brokers_were_not_at_risk() -> None:
    assert survival(found([*rows_of("sl"), *rows_of("ll", producer=2, broker="b")])).at_risk == 2


def test_each_producer_has_a_sequence_of_its_own() -> None:
    """A surviving later message of another producer does not make a hole."""
    rows = found([*rows_of("sll", producer=1), *rows_of("sssss", producer=2), *rows_of("ll", producer=3)])
    assert survival(rows) == Survival(at_risk=10, gone=4, lost_tails=1, lost_whole=1, oldest_lost_s=0.002)


def test_a_lost_message_belongs_to_its_first_fault() -> None:
    """Messages that survived the first fault are at risk again at the second fault; lost messages are not."""
    later = FaultSpan(2, "power-loss", "a", BEGAN_NS + 30 * S, BEGAN_NS + 50 * S)
    rows = found(rows_of("fl"), (FAULT, later))
    assert rows.select("fault", "seq", "lost").rows() == [(1, 0, False), (1, 1, True), (2, 0, False)]


def test_faults_of_others_take_no_lost_message() -> None:
    """Consumers that were disconnected at the power loss did not lose the broker's messages."""
    away = FaultSpan(1, "away", "consumers", BEGAN_NS - 8 * S, BEGAN_NS + 25 * S, BEGAN_NS - 8 * S)
    rows = found(rows_of("fl"), (away, replace(FAULT, number=2)))
    assert rows.select("fault", "seq", "lost").rows() == [(2, 0, False), (2, 1, True)]


FATES = st.text("rsflud", max_size=12)


@given(st.lists(FATES, max_size=4), st.integers(1, 3))
def test_any_losses_are_counted_as_in_plain_python(all_fates: list[str], parts: int) -> None:
    """The same holds for a run with several parts."""
    rows = found([row for producer, fates in enumerate(all_fates) for row in rows_of(fates, producer)])
    of_parts = [by_sequence(rows.filter(pl.col("seq") % parts == part)) for part in range(parts)]
    kinds = [kind_of(fates) for fates in all_fates]
    counted = survivals(merged(SEQUENCES, pl.concat(of_parts)), [FAULT])[1]
    assert (counted.lost_tails, counted.lost_holes, counted.lost_whole) == tuple(
        kinds.count(kind) for kind in ("tail", "hole", "everything")
    )
    assert counted.at_risk == sum(fate in "sflu" for fates in all_fates for fate in fates)
    assert counted.gone == sum(fate in "lu" for fates in all_fates for fate in fates)
    ages_ms = [len(fates) - seq for fates in all_fates for seq, fate in enumerate(fates) if fate in "lu"]
    assert counted.oldest_lost_s == max(ages_ms, default=0) / 1_000


def kind_of(fates: str) -> str:
    """Return the position of the losses in one sequence; empty without losses."""
    there = [fate in "lu" for fate in fates if fate in "sflu"]
    if not any(there):
        return ""
    if all(there):
        return "everything"
    return "tail" if there == sorted(there) else "hole"


def test_losses_are_counted_by_second_of_confirmation() -> None:
    rows = found(rows_of("ssl" + "l" * 1_500))
    counted = by_second(rows, pl.col("acked_ns") // S).sort("second")
    assert counted.rows() == [(1, 8, 2, 501), (1, 9, 0, 1_000)]
