"""Checks the summary's rebalance section: planted histories have known figures, random stays match plain Python."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.clients.balance import evenness
from analysis.clients.rebalance import SETTLED_AFTER_NS, EntryBrokers, settled_ns
from analysis.events.timeline import FaultSpan
from records.figures.clients import Distribution, Rebalance
from records.run import BrokerInfo, GroupInfo
from records.tables.results import STAYS
from tests.analysis import rebalance_oracle, stay_oracle
from tests.analysis.client_parts import as_stays, distribution_of, flaps_of, moves_of, rebalance_of_stays
from tests.analysis.histories import LOAD_BEGAN_NS, LOAD_ENDED_NS, LOAD_S, all_rows
from tests.analysis.rows import MS, Row

S = 1_000 * MS
PLACES = EntryBrokers([BrokerInfo(name) for name in "abc"], [GroupInfo("even", ("a", "b", "c"))])
KILL = FaultSpan(1, "kill", "b", LOAD_BEGAN_NS + 10 * S, LOAD_BEGAN_NS + 25 * S, mended_ns=LOAD_BEGAN_NS + 20 * S)
STAYS_OF_ALL = pa.Table.from_pylist(stay_oracle.stays(all_rows(), LOAD_BEGAN_NS, LOAD_ENDED_NS), STAYS)
"""Stays computed in plain Python. test_stays.py checks that Spark finds the same."""


def rebalance_of(group: str, *faults: FaultSpan, clients: int = 6, places: EntryBrokers = PLACES) -> Rebalance:
    stays = STAYS_OF_ALL.filter(pa.compute.equal(STAYS_OF_ALL["group"], group))
    return rebalance_of_stays(stays, {group: clients}, faults, places, LOAD_BEGAN_NS, LOAD_S * S)


def moments(balance: Rebalance) -> dict[str, Distribution]:
    (group,) = balance["groups"]
    return {moment["moment"]: moment for moment in group["moments"]}


def test_clients_that_stay_where_they_are_are_even_and_have_settled_at_once() -> None:
    balance = rebalance_of("even", KILL)
    assert (balance["clients"], balance["moves"], balance["moved"], balance["flaps"], balance["off_at_end"]) == (
        6,
        0,
        0,
        0,
        0,
    )
    assert balance["moves_per_client"] == {"p50": 0, "max": 0}
    assert balance["off_ms"] == {"p50": None, "max": None}
    assert (balance["not_settled"], balance["settled_s"]) == (0, 0.0)
    assert balance["at_end"] == {"max_to_mean": 1.0, "cv": 0.0, "jain": 1.0}
    applied, mended = balance["faults"]
    assert (applied["effect"], applied["at_s"], applied["first_move_s"], applied["state"]) == (
        "applied",
        10.0,
        None,
        "settled",
    )
    assert (mended["effect"], mended["at_s"]) == ("mended", 20.0)


def test_a_skew_after_a_kill_that_never_goes_away_is_told_with_its_numbers() -> None:
    balance = rebalance_of("skewed", KILL)
    assert (balance["moves"], balance["moved"], balance["flaps"]) == (2, 2, 0)
    assert balance["moves_per_client"] == {"p50": 0, "max": 1}
    assert balance["off_ms"] == {"p50": 295.0, "max": 495.0}
    applied, mended = balance["faults"]
    assert (applied["first_move_s"], applied["settled_s"], applied["moves"]) == (0.3, 0.5, 2)
    assert (mended["first_move_s"], mended["settled_s"], mended["moves"]) == (None, 0.0, 0)
    at = moments(balance)
    assert list(at) == ["begin", "before F1", "after F1", "after F1 mended", "end"]
    assert at["before F1"]["connected"] == {"a": 2, "b": 2, "c": 2}
    killed, end = at["after F1"], at["end"]
    assert (killed["connected"], killed["off"], killed["fair_share"]) == ({"a": 4, "b": 0, "c": 2}, 0, 3.0)
    assert killed["jain"] == pytest.approx(36 / (2 * 20))  # without b, fair is 3/3
    assert (end["connected"], end["fair_share"]) == ({"a": 4, "b": 0, "c": 2}, 2.0)
    assert balance["at_end"]["jain"] == pytest.approx(36 / (3 * 20))
    assert balance["at_end"]["max_to_mean"] == 2.0
    assert balance["at_end"]["cv"] == pytest.approx((8 / 3) ** 0.5 / 2)


def test_an_oscillation_is_told_by_its_flaps_and_did_not_settle() -> None:
    balance = rebalance_of("oscillating", replace(KILL, target="c", mended_ns=None), clients=4)
    assert (balance["moves"], balance["moved"], balance["flaps"]) == (240, 4, 4 * 59)
    assert balance["moves_per_client"] == {"p50": 60, "max": 60}
    assert balance["off_ms"] == {"p50": pytest.approx(20), "max": pytest.approx(20)}
    (applied,) = balance["faults"]
    assert (applied["first_move_s"], applied["state"], applied["settled_s"]) == (0.02, "did not settle", None)
    assert (balance["not_settled"], balance["settled_s"]) == (1, None)
    assert moments(balance)["after F1"]["at_s"] == pytest.approx(LOAD_S)


def test_clients_that_move_to_a_broker_that_joins_are_even_again() -> None:
    joined = FaultSpan(1, "join", "c", LOAD_BEGAN_NS + 12 * S, 2**63 - 1, effective_ns=LOAD_BEGAN_NS + 15 * S)
    balance = rebalance_of("joining", joined)
    (applied,) = balance["faults"]
    assert (applied["at_s"], applied["first_move_s"], applied["settled_s"], applied["moved"]) == (12.0, 4.0, 1.4, 2)
    assert applied["off_ms"] == {"p50": pytest.approx(100), "max": pytest.approx(100)}
    at = moments(balance)
    assert (at["before F1"]["fair_share"], at["before F1"]["jain"]) == (3.0, 1.0)  # c had not joined yet
    assert (at["end"]["connected"], at["end"]["jain"]) == ({"a": 2, "b": 2, "c": 2}, 1.0)


def test_a_joining_broker_counts_before_its_links_are_up_until_it_leaves() -> None:
    at = {name: LOAD_BEGAN_NS + at_s * S for name, at_s in (("began", 12), ("effective", 18), ("ended", 30))}
    joined = FaultSpan(1, "join", "c", at["began"], 2**63 - 1, at["effective"], at["ended"] + S, None, at["ended"])
    again = FaultSpan(2, "join", "c", LOAD_BEGAN_NS + 38 * S, 2**63 - 1, LOAD_BEGAN_NS + 39 * S, None, None, 39 * S)
    balance = rebalance_of("joining", joined, again)
    assert [(row["fault"], row["effect"], row["at_s"]) for row in balance["faults"]] == [
        ("F1", "applied", 12.0),
        ("F1", "mended", 30.0),
        ("F2", "applied", 38.0),
    ]
    applied = balance["faults"][0]
    assert (applied["first_move_s"], applied["moves"], applied["settled_s"]) == (4.0, 2, 0.0)
    at_moment = moments(balance)
    assert at_moment["before F1"]["connected"] == {"a": 3, "b": 3, "c": 0}
    assert at_moment["after F1"]["fair_share"] == 2.0  # c is up, though it joins again later


def test_a_client_that_was_never_connected_is_off_and_no_broker_is_fair_to_it() -> None:
    balance = rebalance_of_stays(STAYS.empty_table(), {"even": 2}, (), PLACES, LOAD_BEGAN_NS, LOAD_S * S)
    assert (balance["clients"], balance["off_at_end"], balance["settled_s"]) == (2, 2, None)
    assert balance["at_end"] == {"max_to_mean": None, "cv": None, "jain": None}
    assert rebalance_of_stays(STAYS.empty_table(), {}, (), PLACES, 0, 0)["moves_per_client"] == {
        "p50": None,
        "max": None,
    }


def test_of_a_pair_the_active_and_its_standby_are_one_broker() -> None:
    pair = EntryBrokers([BrokerInfo("a"), BrokerInfo("c", standby_of="a"), BrokerInfo("b")], PLACES.groups)
    assert rebalance_of("skewed", places=pair)["at_end"]["jain"] == pytest.approx(36 / (2 * 36))


def test_evenness_is_what_its_books_say() -> None:
    assert evenness([15, 15, 0]) == {"max_to_mean": 1.5, "cv": pytest.approx(0.5**0.5), "jain": pytest.approx(2 / 3)}
    assert evenness([9]) == {"max_to_mean": 1.0, "cv": 0.0, "jain": 1.0}
    assert evenness([0, 0]) == evenness([]) == {"max_to_mean": None, "cv": None, "jain": None}


CAUSES = st.sampled_from(["lost", "order", "priority", "redirect", "closed", "unrecorded"])


@st.composite
def random_stays(draw: st.DrawFn) -> tuple[list[Row], dict[str, int], int]:
    """Stays of successive users in half seconds; the last user has none."""
    load_s = draw(st.integers(1, 30))
    rows: list[Row] = []
    count = draw(st.integers(0, 8))
    for client in range(count):
        times = sorted(draw(st.lists(st.integers(0, 2 * load_s), unique=True, max_size=10)))
        for from_, to in zip(times[::2], times[1::2], strict=False):
            ends = [*times, None][times.index(to) + 1] is None and to == 2 * load_s
            cause = "load_end" if ends else draw(CAUSES)
            where = {"group": "gh"[client % 2], "broker": draw(st.sampled_from("abc"))}
            numbers = {"client": client // 2, "user": client}  # two share a connection
            rows.append({**numbers, **where, "from_ns": from_ * S // 2, "to_ns": to * S // 2, "cause": cause})
    return rows, {"g": count - count // 2 + 1, "h": count // 2}, load_s * S - draw(st.integers(0, 1)) * (S // 4)


def cut(rows: list[Row], load_ns: int) -> list[Row]:
    """Return the parts of stays within the load."""
    ended = {True: {"to_ns": load_ns, "cause": "load_end"}, False: {}}
    return [row | ended[row["to_ns"] >= load_ns] for row in rows if row["from_ns"] < load_ns]


@settings(deadline=None)
@given(random_stays())
def test_every_client_is_at_one_broker_or_off_in_every_second(drawn: tuple[list[Row], dict[str, int], int]) -> None:
    rows, clients, load_ns = drawn
    rows = cut(rows, load_ns)
    counts_by_group: dict[tuple[int, str], Counter[str]] = {}
    for row in distribution_of(as_stays(pa.Table.from_pylist(rows, STAYS)), clients, load_ns).to_pylist():
        counts_by_group.setdefault((row["second"], row["group"]), Counter())[row["broker"]] += row["clients"]
        assert row["clients"] >= 0
    assert {key: +counts for key, counts in counts_by_group.items()} == rebalance_oracle.distribution(
        rows, clients, load_ns
    )
    assert all(counts.total() == clients[group] for (_, group), counts in counts_by_group.items())


@settings(deadline=None)
@given(random_stays(), st.integers(0, 30), st.integers(1, 30))
def test_moves_flaps_and_settling_are_those_of_plain_python(
    drawn: tuple[list[Row], dict[str, int], int], at_s: int, lasts_s: int
) -> None:
    rows, _, load_ns = drawn
    rows = cut(rows, load_ns)
    table = as_stays(pa.Table.from_pylist(rows, STAYS))
    moves: Any = moves_of(table)
    assert sorted(zip(moves.at_ns, moves.client, moves.off_ns, strict=True)) == rebalance_oracle.moves(rows)
    assert flaps_of(table) == rebalance_oracle.flaps(rows)
    span = (at_s * S, (at_s + lasts_s) * S)
    assert settled_ns(moves.unrest, *span) == rebalance_oracle.settled_ns(rows, *span, SETTLED_AFTER_NS)


def test_killed_and_joining_brokers_are_away_outside_their_uptime() -> None:
    """A killed broker is away until it is back; a joining broker before it joins and after it leaves."""
    began_ns = LOAD_BEGAN_NS
    join = FaultSpan(2, "join", "c", began_ns + 5 * S, began_ns + 9 * S, began_ns + 6 * S, None, None, None)
    leaving = replace(join, restored_ns=began_ns + 9 * S, ended_ns=began_ns + 8 * S)
    cut = FaultSpan(3, "cut", "a-to-b", began_ns + 1 * S, began_ns + 2 * S)
    assert rebalance_of("even", KILL, cut)["away"] == [{"broker": "b", "from_s": 10.0, "until_s": 20.0}]
    assert rebalance_of("even", join)["away"] == [{"broker": "c", "from_s": 0.0, "until_s": 5.0}]
    assert rebalance_of("even", leaving)["away"] == [
        {"broker": "c", "from_s": 0.0, "until_s": 5.0},
        {"broker": "c", "from_s": 8.0, "until_s": None},
    ]


def test_a_broker_whose_store_is_full_is_not_away() -> None:
    assert rebalance_of("even", replace(KILL, kind="full-store"))["away"] == []
