"""Checks client stays: planted histories are found exactly, and random ones match plain Python."""

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.clients.balance import OFF, distribution
from analysis.clients.rebalance import EntryBrokers
from analysis.clients.stays import client_changes, group_sizes, moves, scheduled_absences, stays_of, unsettled
from analysis.events.run import as_table, first_stays
from analysis.events.timeline import FaultSpan
from records.tables.connection_events import Cause
from records.tables.results import STAYS
from tests.analysis import stay_oracle
from tests.analysis.client_parts import as_stays, rebalance_of_stays
from tests.analysis.histories import LOAD_BEGAN_NS, LOAD_ENDED_NS, LOAD_S, all_rows
from tests.analysis.rows import MS, Row, connection, frame, member, subscription

pytestmark = pytest.mark.spark
S = 1_000 * MS


SHARED = {1: [101, 102, 103], 50: [150, 151]}
"""Users that share connections, by the connection."""


def stay_rows(rows: list[Row], began_ns: int, ended_ns: int, *, shared: bool = False) -> list[Row]:
    sharing = [member(user, connection) for connection, users in SHARED.items() for user in users] if shared else []
    events = frame("connections", rows), frame("members", sharing)
    table = as_table(stays_of(*events, began_ns, ended_ns)).cast(STAYS)
    return table.sort_by([("user", "ascending"), ("from_ns", "ascending")]).to_pylist()


@pytest.fixture(scope="module")
def planted() -> pa.Table:
    """The stays of all planted histories."""
    return pa.Table.from_pylist(stay_rows(all_rows(), LOAD_BEGAN_NS, LOAD_ENDED_NS), STAYS)


def stays_of_group(planted: pa.Table, group: str) -> list[tuple[int, str, float, float, str]]:
    """Return (client, broker, from, to, cause), with times in seconds of the load."""
    rows = [row for row in planted.to_pylist() if row["group"] == group]
    return [(row["client"], row["broker"], row["from_ns"] / S, row["to_ns"] / S, row["cause"]) for row in rows]


def test_a_client_that_never_moves_has_one_stay_as_long_as_the_load(planted: pa.Table) -> None:
    expected = [(client, broker, 0, LOAD_S, "load_end") for client, broker in enumerate("aabbcc", 10)]
    assert stays_of_group(planted, "even") == expected


def test_a_client_of_a_killed_broker_is_at_none_until_it_is_at_the_next(planted: pa.Table) -> None:
    its = [stay for stay in stays_of_group(planted, "skewed") if stay[0] in (22, 23)]
    assert its == [
        (22, "b", 0, 10.005, "lost"),
        (22, "a", 10.3, LOAD_S, "load_end"),
        (23, "b", 0, 10.005, "lost"),
        (23, "a", 10.5, LOAD_S, "load_end"),
    ]


def test_an_oscillation_is_a_stay_for_each_half_second(planted: pa.Table) -> None:
    its = [stay for stay in stays_of_group(planted, "oscillating") if stay[0] == 30]
    assert [stay[1] for stay in its] == ["a", "b"] * 30 + ["a"]
    assert its[1] == (30, "b", 10.02, 10.5, "order")
    assert its[-1] == (30, "a", 39.52, LOAD_S, "load_end")


def test_clients_move_to_a_broker_that_joins(planted: pa.Table) -> None:
    assert [stay for stay in stays_of_group(planted, "joining") if stay[0] in (40, 43)] == [
        (40, "a", 0, 15.9, "order"),
        (40, "c", 16.0, LOAD_S, "load_end"),
        (43, "b", 0, 16.3, "order"),
        (43, "c", 16.4, LOAD_S, "load_end"),
    ]


def test_each_end_has_its_cause(planted: pa.Table) -> None:
    its = stays_of_group(planted, "causes")
    assert [stay[4] for stay in its if stay[0] == 50] == ["redirect", "priority", "order", "refused", "lost", "closed"]
    assert [stay[1:] for stay in its if stay[0] == 51] == [("a", 1, 2, "unrecorded"), ("b", 2, LOAD_S, "load_end")]
    assert [stay[1:] for stay in its if stay[0] == 52] == [("a", 1, 2, "order"), ("b", 2, LOAD_S, "load_end")]


CAUSES = st.sampled_from([*Cause])
KINDS = st.sampled_from(["attempt", "connected", "connected", "lost", "moved", "closed", "blocked"])


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    """Random client histories, plausible or not, without simultaneous events of a client."""
    rows: list[Row] = []
    for client in range(1, draw(st.integers(2, 16))):
        for at in draw(st.lists(st.integers(0, 40), unique=True, max_size=16)):
            broker = draw(st.sampled_from(["a", "b", "c", None]))
            rows.append(connection(draw(KINDS), at=at, client=client, broker=broker, cause=draw(CAUSES)))
    return rows


@settings(deadline=None)
@given(rows=histories())
def test_stays_of_any_history_are_those_of_plain_python(rows: list[Row]) -> None:
    began_ns, ended_ns = 10 * MS, 30 * MS
    expected = stay_oracle.stays(rows, began_ns, ended_ns, SHARED)
    assert stay_rows(rows, began_ns, ended_ns, shared=True) == expected


def test_users_that_share_a_connection_have_a_stay_each_and_count_one_by_one() -> None:
    rows = [connection("connected", at=0, client=1), connection("connected", at=0, client=2)]
    sharing = frame("members", [member(101, 1), member(102, 1), member(2, 2), member(103, None)])
    events = frame("connections", rows)
    its = stays_of(events, sharing, 0, 40 * MS).to_dicts()
    assert sorted((row["user"], row["client"], row["to_ns"]) for row in its) == [
        (2, 2, 40 * MS),
        (101, 1, 40 * MS),
        (102, 1, 40 * MS),
    ]
    assert group_sizes(events, sharing).to_dicts() == [{"client_group": "producers", "clients": 3}]


LOAD_MS = 40_000
SUBSCRIBER = [
    connection("attempt", at=-600, client=7, group="producers"),
    connection("connected", at=-500, client=7, group="producers"),
    connection("closed", at=9_500, client=7, group="producers"),
    connection("attempt", at=20_000, client=12, group="producers"),
    connection("connected", at=20_100, client=12, broker="b", group="producers"),
    connection("closed", at=30_500, client=12, broker="b", group="producers"),
    connection("connected", at=-500, client=1, broker="b", group="producers"),
    connection("closed", at=40_500, client=1, broker="b", group="producers"),
]
"""A durable subscriber is away from 9.5 s to 20 s and from 30.5 s on; another client stays."""
OWN_CONNECTION = [member(7, 7), member(12, 12), member(1, 1) | {"user_class": "Other"}]


def first_stays_of(kind: str) -> dict[int, int]:
    rows = [subscription("Orders-7", consumer=consumer, kind=kind) for consumer in (7, 12)]
    return first_stays(frame("subscriptions", [*rows, subscription("Other-1", consumer=1, kind=kind)]))


def test_a_durable_subscriber_that_comes_back_is_one_client_and_has_not_moved() -> None:
    firsts = first_stays_of("durable_topic")
    assert (firsts, first_stays_of("topic")) == ({12: 7}, {})
    members = frame("members", OWN_CONNECTION)
    events = frame("connections", SUBSCRIBER)
    parts = [events.filter(pl.col("client") % 2 == number) for number in (0, 1)]
    clients = sum(row["clients"] for part in parts for row in group_sizes(part, members, firsts).to_dicts())
    assert clients == 2
    its = stays_of(events, members, 0, LOAD_MS * MS, firsts)
    assert [tuple(row) for row in its.sort("user", "from_ns").select("user", "client").rows()] == [
        (1, 1),
        (7, 7),
        (7, 12),
    ]
    assert moves(its).is_empty()
    assert unsettled(its).is_empty()


def test_a_client_that_is_away_by_schedule_is_not_off() -> None:
    firsts = first_stays_of("durable_topic")
    events, members = frame("connections", SUBSCRIBER), frame("members", OWN_CONNECTION)
    away = scheduled_absences(events, members, ["Orders"], firsts, 0)
    its = as_table(stays_of(events, members, 0, LOAD_MS * MS, firsts)).cast(STAYS)
    off = [
        (row["second"], row["clients"])
        for row in distribution(client_changes(as_stays(its)), {"producers": 2}, LOAD_MS * MS, away).to_pylist()
        if row["broker"] == OFF and row["clients"]
    ]
    assert off == [], "it connects within the second in which it comes back"
    kills = [
        FaultSpan(n, "kill", "c", at_s * S, at_s * S + S, mended_ns=at_s * S + S) for n, at_s in ((1, 15), (2, 25))
    ]
    balance = rebalance_of_stays(its, {"producers": 2}, kills, EntryBrokers([], []), 0, LOAD_MS * MS, away)
    (group,) = balance["groups"]
    assert [moment["off"] for moment in group["moments"]] == [0] * len(group["moments"])
    connected = {moment["moment"]: sum(moment["connected"].values()) for moment in group["moments"]}
    assert (connected["begin"], connected["before F1"], connected["before F2"], connected["end"]) == (2, 1, 2, 1)
    assert (balance["clients"], balance["off_at_end"], balance["moves"]) == (2, 0, 0)


def test_a_client_that_lost_its_connection_or_closed_it_without_a_schedule_is_off() -> None:
    lost = [row | {"event": "lost", "cause": Cause.LOST} if row["event"] == "closed" else row for row in SUBSCRIBER]
    members = frame("members", OWN_CONNECTION)
    away = scheduled_absences(frame("connections", lost), members, ["Orders"], first_stays_of("durable_topic"), 0)
    assert [until_ns for _, until_ns in away["producers"]] == [-600 * MS], "before its first attempt only"
    assert scheduled_absences(frame("connections", SUBSCRIBER), members, [], {}, 0) == {}


def test_later_stays_of_clients_that_are_counted_apart_are_not_off_before_they_begin() -> None:
    events, members = frame("connections", SUBSCRIBER), frame("members", OWN_CONNECTION)
    away = scheduled_absences(events, members, ["Orders"], {}, 0)
    changes = client_changes(stays_of(events, members, 0, LOAD_MS * MS))
    rows = distribution(changes, {"producers": 3}, LOAD_MS * MS, away).to_pylist()
    assert {row["clients"] for row in rows if row["broker"] == OFF} == {0}
