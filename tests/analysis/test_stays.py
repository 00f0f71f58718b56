"""Checks client stays: planted histories are found exactly, and random ones match plain Python."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.clients.stays import group_sizes, stays_of
from analysis.events.run import as_table
from records.tables.connection_events import Cause
from records.tables.results import STAYS
from tests.analysis import stay_oracle
from tests.analysis.histories import LOAD_BEGAN_NS, LOAD_ENDED_NS, LOAD_S, all_rows
from tests.analysis.rows import MS, Row, connection, frame, member

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
