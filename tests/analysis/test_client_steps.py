"""Checks the number of held connections: planted limits are found, and random histories match a count."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from analysis.latency.seconds import LatencyBySecond
from analysis.load.client_steps import NO_STEPS, client_steps
from records.figures.clients import Connections
from records.run import Phases, RunInfo, SearchedStep
from records.tables.results import RESOURCES
from tests.analysis.rows import latency_by_second, latency_row, resource_row

NS_PER_S = 1_000_000_000
LOAD_NS = 7 * NS_PER_S
INFO = RunInfo(
    run_id="",
    scenario="connections",
    topology="mesh",
    runtime="processes",
    protocol="stomp",
    client_steps="10,20,40@10s,connect=500,p99=100",
    machine={"cores": 4},
    phases=Phases(load_began_ns=LOAD_NS),
)
STEPS = ((0, 10), (10, 20), (20, 40))
"""The range of clients that each step adds."""


def event(client: int, event_name: str, at_s: float, broker: str = "b", cause: str | None = None) -> dict[str, Any]:
    at_ns = LOAD_NS + round(at_s * NS_PER_S)
    return {"client": client, "broker": broker, "event": event_name, "at_ns": at_ns, "ended_ns": at_ns, "cause": cause}


def join(client: int, at_s: float, took_ms: float = 5.0) -> list[dict[str, Any]]:
    return [event(client, "attempt", at_s), event(client, "connected", at_s + took_ms / 1_000)]


def refusals(client: int, at_s: float, until_s: float, broker: str = "b") -> list[dict[str, Any]]:
    """Samples once per second."""
    times = int(until_s - at_s)
    return [event(client, "attempt", at_s + after, broker, cause="unreachable") for after in range(times)]


def joined(steps: int = 3, most: int = 40, took_ms: float = 5.0) -> list[dict[str, Any]]:
    """The first step's clients connect 3 s before the load, the others at the start of each step."""
    return [
        row
        for number, (first_client, last_client) in enumerate(STEPS[:steps])
        for client in range(first_client, min(last_client, most))
        for row in join(client, 10.0 * number if number else -3.0, took_ms)
    ]


def latency(p99_ms: Mapping[int, float] | None = None, own_ms: float = 0.1) -> LatencyBySecond:
    """1,000 messages per second that took 5 ms, or ``p99_ms`` from the given second on."""
    rows = []
    for at_s in range(30):
        took_ms = max((ms for from_s, ms in (p99_ms or {}).items() if at_s >= from_s), default=5.0)
        rows += [
            latency_row("due_to_received", at_s, took_ms, 1_000),
            latency_row("ready_to_sent", at_s, own_ms, 1_000),
        ]
    return latency_by_second(rows)


def resources(brokers: float = 0.5, generator: float = 0.5) -> pa.Table:
    rows = [
        resource_row("cpu_ns", at_s, cores * NS_PER_S, broker=broker)
        for at_s in range(30)
        for broker, cores in (("b", brokers), ("", generator))
    ]
    return pa.Table.from_pylist(rows, RESOURCES)


def connection_steps(
    events: Iterable[Mapping[str, Any]],
    load_s: float | None = 30.0,
    timed: LatencyBySecond | None = None,
    used: pa.Table | None = None,
) -> Connections:
    timed, used = timed or latency(), used or resources()
    return client_steps(INFO, list(events), load_s, timed, used)


def test_where_every_client_connects_in_time_every_step_is_held() -> None:
    connections = connection_steps(joined())
    assert (connections["held"], connections["not_held"], connections["limited_by"]) == (40, None, None)
    assert [step["connected"] for step in connections["steps"]] == [10, 20, 40]
    assert [step["connect_ms"] for step in connections["steps"]] == [{"p50": 5.0, "max": 5.0}] * 3
    assert [step["due_to_received_ms"]["count"] for step in connections["steps"]] == [10_000] * 3


@pytest.mark.parametrize("limit", [20, 23, 39])
def test_the_limit_of_a_broker_is_the_number_held_and_the_broker_is_named(limit: int) -> None:
    turned_away = [row for client in range(limit, 40) for row in refusals(client, 20.0, 30.0, "b-2")]
    connections = connection_steps(joined(most=limit) + turned_away)
    assert (connections["held"], connections["not_held"]) == (limit, 40)
    assert (connections["limited_by"], connections["brokers"]) == ("refused", ["b-2"])
    assert connections["steps"][-1]["refused_by"] == {"b-2": 40 - limit}
    assert connections["steps"][-1]["refused"] == 40 - limit
    assert connections["why"] == f"clients refused or not answered: b-2 {40 - limit}"


def test_a_client_that_another_broker_takes_is_no_limit() -> None:
    moved = [row for client in range(30, 40) for row in refusals(client, 20.0, 21.0, "b-2") + join(client, 20.1)]
    connections = connection_steps(joined(most=30) + moved)
    assert (connections["held"], connections["limited_by"]) == (40, None)
    assert (connections["steps"][-1]["refused"], connections["steps"][-1]["refused_by"]) == (10, {"b-2": 10})
    assert connections["steps"][-1]["connect_ms"]["max"] == pytest.approx(105)


def test_a_client_that_takes_too_long_to_connect_is_the_limit_at_the_step_before() -> None:
    slow = joined(most=39) + join(39, 21.0, took_ms=501)
    connections = connection_steps(slow)
    assert (connections["held"], connections["not_held"], connections["limited_by"]) == (20, 40, "connecting")
    assert "a client took 501 ms to connect; the limit is 500 ms" in connections["why"]


def test_messages_that_take_too_long_are_the_limit_at_the_step_before() -> None:
    connections = connection_steps(joined(), timed=latency({20: 150.0}))
    assert (connections["held"], connections["not_held"], connections["limited_by"]) == (20, 40, "latency")
    assert connections["brokers"] == []


def test_a_step_that_was_not_held_ends_what_is_held_though_a_later_one_is() -> None:
    connections = connection_steps(joined(), timed=latency({10: 150.0, 20: 5.0}))
    assert (connections["held"], connections["not_held"]) == (10, 20)


@pytest.mark.parametrize(
    ("events", "timed", "used", "limited_by", "why"),
    [
        (joined(most=35), None, None, "generator", "began only 35 connections in time"),
        (joined(), latency({20: 150.0}, own_ms=70.0), None, "generator", "sends were late by 70 ms"),
        (joined(), latency({20: 150.0}), resources(2.4, 1.2), "host", "used up the 4 cores"),
        (
            [*joined(most=39), event(39, "attempt", 21.0)],
            None,
            None,
            "connecting",
            "not connected at the end of the step: 1",
        ),
    ],
    ids=["begun late", "sent late", "no cores left", "never answered"],
)
def test_a_limit_that_is_no_brokers_is_named(
    events: Sequence[Mapping[str, Any]], timed: LatencyBySecond | None, used: pa.Table | None, limited_by: str, why: str
) -> None:
    connections = connection_steps(events, timed=timed, used=used)
    assert (connections["limited_by"], connections["brokers"]) == (limited_by, [])
    assert why in connections["why"]
    assert connections["held"] == 20


def test_a_connection_that_was_lost_does_not_count() -> None:
    connections = connection_steps([*joined(), event(3, "lost", 25.0)])
    assert [step["connected"] for step in connections["steps"]] == [10, 20, 39]
    assert connections["held"] == 20


def test_unfinished_steps_are_omitted_and_a_constant_load_has_none() -> None:
    assert [step["clients"] for step in connection_steps(joined(), load_s=21.3)["steps"]] == [10, 20]
    assert connection_steps(joined(), load_s=None)["held"] is None
    assert client_steps(replace(INFO, client_steps=""), [], 30.0, latency(), resources()) == NO_STEPS


@pytest.mark.parametrize("seed", range(20))
def test_connected_clients_match_a_count_event_by_event(seed: int) -> None:
    """Random clients that connect, lose their connection, are rejected and come back, at two brokers."""
    rng = random.Random(seed)
    events: list[dict[str, Any]] = []
    for client in range(40):
        at_s, on = rng.uniform(-5, 28), False
        while at_s < 32:
            events.append(event(client, "attempt", at_s, cause=None if on or rng.random() < 0.7 else "refused"))
            event_name = ("lost" if rng.random() < 0.5 else "closed") if on else "connected"
            if events[-1]["cause"] is None:
                events.append(event(client, event_name, at_s + 0.001, rng.choice("bc")))
                on = not on
            at_s += rng.uniform(0.5, 15)
    rng.shuffle(events)
    counted = []
    for until_s in (10, 20, 30):
        on_now: dict[int, bool] = {}
        for row in sorted(events, key=lambda row: int(row["at_ns"])):
            if row["at_ns"] < LOAD_NS + until_s * NS_PER_S and row["event"] != "attempt":
                on_now[row["client"]] = row["event"] == "connected"
        counted.append(sum(on_now.values()))
    assert [step["connected"] for step in connection_steps(events)["steps"]] == counted


def test_a_step_is_unknown_if_the_load_ended_for_it() -> None:
    """While the load ran, a client was missing. According to the events, all were connected at the end of the step."""
    found = replace(INFO, searched=(SearchedStep(10, False, "19 connected"),))
    connections = client_steps(found, joined(), 20.0, latency(), resources())
    assert [step["held"] for step in connections["steps"]] == [True, None]
    assert (connections["held"], connections["not_held"]) == (10, None)
    assert "while the load ran it was found not held: 19 connected" in connections["steps"][1]["why"]
