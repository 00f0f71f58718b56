"""Checks the summary's recovery: counts and spreads of the outages of each fault and of all."""

from typing import Any

import pyarrow as pa
import pytest

from analysis.events.timeline import FaultSpan
from analysis.faults.disturbance import Backlog, TimeToNormal
from analysis.faults.recovery import AfterFault, FaultMessageCounts, recovery, spread
from analysis.run.checks import unmet
from records.figures.checks import Check
from records.tables.results import OUTAGES
from reports.faults import outage_rows

MS, S = 1_000_000, 1_000_000_000
LOAD_NS = 100 * S
FAULTS = (
    FaultSpan(1, "kill", "a", LOAD_NS + 10 * S, LOAD_NS + 20 * S, LOAD_NS + 10 * S + 50 * MS, LOAD_NS + 15 * S),
    FaultSpan(3, "freeze", "b", LOAD_NS + 30 * S, LOAD_NS + 40 * S),
)
COUNTS = {"lost": (0, 1), "stranded": (0, 5), "duplicated": (12, 0), "redelivered": (3, 2), "reordered": (4, 0)}
HARM = FaultMessageCounts(
    {number: {name: counts[at] for name, counts in COUNTS.items()} for at, number in enumerate((1, 3))},
    late={1: 40, 3: None},
    stranded={
        3: [
            {"broker": "b", "messages": 4, "age_ns": 31 * S},
            {"broker": "c", "messages": 1, "age_ns": None},
        ]
    },
)


def outage(fault: int, client: int, role: str, *, lasted_ms: int | None, reconnected_ms: int | None) -> dict[str, Any]:
    """The fault began 10 s into the load; the connection was lost 5 ms later."""
    began_ns, lost_ns = 10 * S, 10 * S + 5 * MS
    return {
        "fault": fault,
        "kind": "kill",
        "target": "a",
        "client": client,
        "user": client,
        "group": "clients",
        "role": role,
        "began_ns": began_ns,
        "last_success_ns": None,
        "lost_ns": lost_ns,
        "connected_ns": None if reconnected_ms is None else lost_ns + reconnected_ms * MS,
        "ready_ns": None if reconnected_ms is None else lost_ns + (reconnected_ms + 10) * MS,
        "to_broker": None if reconnected_ms is None else "b",
        "first_success_ns": None if lasted_ms is None else began_ns + lasted_ms * MS,
        "attempts": 1,
        "in_flight": 2 if role == "producer" else 0,
        "due": None if lasted_ms is None else max(0, lasted_ms - 100),
    }


def recovery_of(rows: list[dict[str, Any]]) -> Any:
    """Nine users are connected at the start of each fault."""
    connected = {10 * S: 9, 30 * S: 9}
    back = {1: TimeToNormal(2.5, 4.0), 3: TimeToNormal(0.0, None)}
    backlog = {1: Backlog(240, 3.5), 3: Backlog(1_200, None)}
    return recovery(pa.Table.from_pylist(rows, OUTAGES), FAULTS, AfterFault(HARM, back, backlog), connected, LOAD_NS)


def test_each_fault_has_its_own_figures_and_all_together_have_theirs() -> None:
    rows = [
        outage(1, 1, "producer", lasted_ms=100, reconnected_ms=80),
        outage(1, 2, "producer", lasted_ms=300, reconnected_ms=90),
        outage(1, 7, "consumer", lasted_ms=200, reconnected_ms=70),
        outage(3, 7, "consumer", lasted_ms=400, reconnected_ms=60),
    ]
    whole = recovery_of(rows)
    kill, freeze = whole["faults"]
    assert (kill["fault"], freeze["fault"]) == ("F1", "F3")
    assert [(part["throughput_back_s"], part["p99_back_s"]) for part in (kill, freeze)] == [(2.5, 4.0), (0.0, None)]
    assert (whole["throughput_back_s"], whole["p99_back_s"]) == (2.5, None)  # the slowest; never is slower
    assert [(part["backlog_highest"], part["backlog_drained_s"]) for part in (kill, freeze)] == [
        (240, 3.5),
        (1_200, None),
    ]
    assert (whole["backlog_highest"], whole["backlog_drained_s"]) == (1_200, None)
    assert (kill["began_s"], kill["effective_s"], kill["restored_s"]) == (10.0, 10.05, 15.0)
    assert (freeze["effective_s"], freeze["restored_s"]) == (None, None)
    assert (kill["clients"], kill["cut_off"], kill["in_flight"], kill["never_back"]) == (9, 3, 4, 0)
    assert kill["outage_ms"] == {"p50": 200, "max": 300}
    assert kill["producers_outage_ms"] == {"p50": 100, "max": 300}
    assert kill["consumers_outage_ms"] == {"p50": 200, "max": 200}
    assert kill["reconnect_ms"] == {"p50": 80, "max": 90}
    assert kill["ready_ms"] == {"p50": 90, "max": 100}
    assert freeze["producers_outage_ms"] == {"p50": None, "max": None}
    assert (kill["lost"], kill["duplicated"], freeze["lost"], freeze["duplicated"]) == (0, 12, 1, 0)
    assert whole["outage_ms"] == {"p50": 200, "max": 400}
    assert (whole["cut_off"], whole["in_flight"], whole["lost"], whole["duplicated"]) == (4, 4, 1, 12)
    assert [part["nothing_due"] for part in (kill, freeze, whole)] == [1, 0, 1]  # the outage of 100 ms
    names = ("stranded", "redelivered", "reordered", "late")
    assert [[part[name] for name in names] for part in (kill, freeze)] == [[0, 3, 4, 40], [5, 2, 0, None]]
    assert [whole[name] for name in names] == [5, 5, 4, None]
    assert (kill["stranded_at"], freeze["stranded_at"]) == (
        [],
        [{"broker": "b", "messages": 4, "oldest_s": 31.0}, {"broker": "c", "messages": 1, "oldest_s": None}],
    )


def test_a_client_that_never_came_back_is_the_slowest_and_has_no_number() -> None:
    rows = [
        outage(1, 1, "producer", lasted_ms=100, reconnected_ms=80),
        outage(1, 2, "producer", lasted_ms=None, reconnected_ms=90),
    ]
    whole = recovery_of(rows)
    assert (whole["never_back"], whole["outage_ms"]) == (1, {"p50": 100, "max": None})
    assert whole["reconnect_ms"] == {"p50": 80, "max": 90}


def test_a_connection_without_messages_is_back_when_it_is_connected_again() -> None:
    whole = recovery_of([outage(1, 5, "", lasted_ms=None, reconnected_ms=90)])
    assert (whole["never_back"], whole["outage_ms"]) == (0, {"p50": 95, "max": 95})


@pytest.mark.parametrize(
    ("role", "due", "in_flight", "reconnected_ms", "never_back"),
    [
        pytest.param("consumer", 0, 0, 90, 0, id="nothing was due"),
        pytest.param("consumer", 3, 0, 90, 1, id="messages were due"),
        pytest.param("consumer", None, 0, None, 1, id="it was not connected again"),
        pytest.param("producer", 0, 0, 90, 0, id="it had nothing to send"),
        pytest.param("producer", 0, 1, 90, 1, id="a send of it was never answered"),
        pytest.param("producer", 0, 0, None, 1, id="it was not connected again and had nothing to send"),
    ],
)
def test_a_client_with_nothing_due_is_back_when_it_is_ready(
    role: str, due: int | None, in_flight: int, reconnected_ms: int | None, never_back: int
) -> None:
    row = outage(1, 1, role, lasted_ms=None, reconnected_ms=reconnected_ms) | {"due": due, "in_flight": in_flight}
    whole = recovery_of([row])
    longest = None if never_back else 5 + 90 + 10  # to the loss, to the connection, until it was ready
    assert (whole["never_back"], whole["outage_ms"]) == (never_back, {"p50": longest, "max": longest})
    (drawn,) = outage_rows(pa.Table.from_pylist([row], OUTAGES))
    assert (drawn.never, list(drawn.outages_ms)) == (never_back, [] if never_back else [longest])


@pytest.mark.parametrize(
    ("values", "p50", "largest"),
    [([], None, None), ([3.0], 3.0, 3.0), ([4.0, 1.0], 1.0, 4.0), ([None, 1.0, None], None, None)],
)
def test_the_middle_of_outages_is_one_of_them(values: list[float], p50: float | None, largest: float | None) -> None:
    assert spread(values) == {"p50": p50, "max": largest}


def test_a_premise_that_does_not_hold_or_is_not_known_says_so() -> None:
    premises = (
        Check("a send in flight", "recovery.in_flight", at_least=1),
        Check("a client", "recovery.cut_off", at_least=1),
        Check("an outage", "recovery.outage_ms.max", above=0),
    )
    summary = {"recovery": {"in_flight": 0, "cut_off": 3, "outage_ms": {"max": None}}}
    needs = "the run did not test its question, as it needs"
    assert unmet(premises, summary) == (
        f"{needs} a send in flight: recovery.in_flight is 0, it must be >= 1",
        f"{needs} an outage: recovery.outage_ms.max is not known, it must be > 0",
    )
