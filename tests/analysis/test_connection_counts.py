"""Compares the brokers' counts of client connections with the clients': planted differences are found exactly."""

from collections.abc import Collection

import pyarrow as pa
import pytest

from analysis.clients.connections import connection_counts, harness_logins
from analysis.events.timeline import NS_PER_S, FaultSpan
from records.tables.results import CONNECTIONS, RESOURCES

SECONDS = 20


def clients(*by_second: int, broker: str = "a", group: str = "producers") -> list[tuple[int, str, str, int]]:
    return [(at_s, broker, group, count) for at_s, count in enumerate(by_second)]


def sampled(
    by_second: dict[int, int], broker: str = "a", connector: str = "stomp", seconds: int = SECONDS
) -> list[tuple[int, str, str, str, str, int]]:
    """The broker is sampled in every second; only the seconds in ``by_second`` have a row of the connector."""
    of_broker = [(at_s, broker, "broker", "", "connections", 9) for at_s in range(seconds)]
    return of_broker + [
        (at_s, broker, "connector", connector, "connections", count) for at_s, count in by_second.items()
    ]


def compare_counts(
    ours: list[tuple[int, str, str, int]],
    theirs: list[tuple[int, str, str, str, str, int]],
    left_out: Collection[tuple[str, int]] = (),
) -> object:
    connections, resources = (
        pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        for schema, rows in ((CONNECTIONS, ours), (RESOURCES, theirs))
    )
    return connection_counts(connections, resources, SECONDS, left_out)


def test_equal_counts_agree_in_every_second_but_first_and_last() -> None:
    """The broker counts the same connections as the clients."""
    ours = clients(*[3] * SECONDS) + clients(*[2] * SECONDS, group="consumers")
    theirs = sampled(dict.fromkeys(range(SECONDS), 4)) + sampled(dict.fromkeys(range(SECONDS), 1), connector="amqp")
    assert compare_counts(ours, theirs) == {"compared": 2 * (SECONDS - 2) // 2, "differed": 0, "brokers": []}


def test_connections_that_a_broker_still_holds_after_their_loss_are_counted() -> None:
    """Its two clients disconnect at second 8, and it counts them until second 12."""
    theirs = sampled({at_s: 2 for at_s in range(13)})
    assert compare_counts(clients(*[2] * 8, *[0] * 12), theirs) == {"compared": 16, "differed": 4, "brokers": ["a"]}


def test_a_broker_that_only_others_use_is_told_too() -> None:
    ours, theirs = clients(*[1] * SECONDS), sampled(dict.fromkeys(range(SECONDS), 1))
    strangers = sampled({5: 7}, broker="b")
    assert compare_counts(ours, theirs + strangers) == {"compared": 36, "differed": 1, "brokers": ["b"]}


def test_the_harness_logins_are_not_reported_as_a_difference() -> None:
    """A joining broker counts the harness in second 7 or 8, a killed one in 15. In 11, another client is connected."""
    began_ns = 40 * NS_PER_S

    def at(at_s: float) -> int:
        return began_ns + int(at_s * NS_PER_S)

    joined = FaultSpan(1, "join", "b", at(6.9), at(19), effective_ns=at(8.3), ended_ns=at(9), mended_ns=at(9))
    killed = FaultSpan(2, "kill", "b", at(12.5), at(19), ended_ns=at(14.2), restored_ns=at(15.1), mended_ns=at(15.1))
    logins = harness_logins([joined, killed], began_ns)
    assert logins == {("b", 6), ("b", 7), ("b", 8), ("b", 14), ("b", 15)}
    theirs = sampled({7: 1, 8: 1, 11: 1, 15: 1}, broker="b")
    assert compare_counts(clients(*[1] * SECONDS, broker="a"), theirs, logins) == {
        "compared": 13,
        "differed": 1,
        "brokers": ["b"],
    }


@pytest.mark.parametrize("at_s", [4, 5, 6])
def test_seconds_around_a_change_are_not_compared(at_s: int) -> None:
    """The fifth client connects in second 5. The broker's count in that second depends on when it was sampled."""
    counts = {counted_s: 4 if counted_s < 5 else 5 for counted_s in range(SECONDS)}
    wrong = compare_counts(clients(*counts.values()), sampled(counts | {at_s: 40}))
    assert wrong == {"compared": 16, "differed": int(at_s == 6), "brokers": ["a"] if at_s == 6 else []}


def test_a_broker_that_gives_no_samples_is_not_compared() -> None:
    ours = clients(*[3] * SECONDS) + clients(*[2] * SECONDS, broker="frozen")
    assert compare_counts(ours, sampled(dict.fromkeys(range(SECONDS), 3))) == {
        "compared": 18,
        "differed": 0,
        "brokers": [],
    }


def test_clients_stay_where_they_are_after_the_last_event_on_record() -> None:
    """The result table of a killed run ends with the last connection event."""
    theirs = sampled(dict.fromkeys(range(SECONDS), 3))
    assert compare_counts(clients(3, 3, 3), theirs) == {"compared": 18, "differed": 0, "brokers": []}
