"""Checks the report of a load with a growing number of clients."""

from records.figures.clients import Connections, ConnectionStep
from reports.load import connections_sentence, connections_table
from reports.run.headline import UNMEASURED


def step(clients: int, connected: int, refused_by: dict[str, int] | None = None) -> ConnectionStep:
    return ConnectionStep(
        clients=clients,
        from_s=0.0,
        until_s=10.0,
        begun=clients,
        connected=connected,
        refused=sum((refused_by or {}).values()),
        refused_by=refused_by or {},
        connect_ms={"p50": 2.0, "max": 9.0},
        due_to_received_ms={**UNMEASURED, "p50": 1.5, "p99": None},
        held=clients == connected,
        why="",
    )


def connections(held: int, not_held: int | None, *steps: ConnectionStep) -> Connections:
    return Connections(
        held=held, not_held=not_held, limited_by=None, brokers=[], why="refused: b-1 40", steps=list(steps)
    )


def test_the_sentence_has_the_number_held_the_step_that_was_not_and_why() -> None:
    assert connections_sentence(connections(0, None)) == ""
    assert connections_sentence(connections(50, None, step(50, 50))) == "All 50 requested connections were held."
    assert connections_sentence(connections(1_060, 2_000, step(2_000, 1_060))) == (
        "1,060 connections were held, and not 2,000: refused: b-1 40."
    )


def test_a_step_found_not_held_and_recorded_as_held_is_unknown() -> None:
    unknown = ConnectionStep(**{**step(100, 100), "held": None, "why": "it was found not held"})
    assert connections_sentence(connections(50, None, step(50, 50), unknown)) == (
        "50 connections are known to have been held. Whether 100 were is unknown: it was found not held."
    )


def test_the_table_has_a_row_a_step_with_the_brokers_that_refused() -> None:
    rows = connections_table(connections(60, 100, step(50, 50), step(100, 60, {"b-1": 30, "b-2": 10}))).rows
    assert [(row[0], row[3], row[4], row[5], row[-1]) for row in rows] == [
        (50, 50, 0, "", "yes"),
        (100, 60, 40, "b-1, b-2", "no"),
    ]
