"""Planted histories of clients and their brokers, as rows of `connections`. Each history is a separate client group.

Times are seconds from the start of a load of 40 s. The expected results are next to each history.
"""

from collections.abc import Iterator

from records.tables.connection_events import Cause
from tests.analysis.rows import LOAD_FROM_MS, MS, Row, connection

LOAD_S = 40
LOAD_BEGAN_NS = LOAD_FROM_MS * MS
LOAD_ENDED_NS = LOAD_BEGAN_NS + LOAD_S * 1_000 * MS


def event(event_name: str, at_s: float, client: int, broker: str, group: str, cause: str | None = None) -> Row:
    at_ms = round(LOAD_FROM_MS + at_s * 1_000, 3)
    return connection(event_name, at=at_ms, client=client, broker=broker, group=group, cause=cause)


def arrives(at_s: float, client: int, broker: str, group: str) -> Iterator[Row]:
    yield event("attempt", at_s - 0.01, client, broker, group)
    yield event("connected", at_s, client, broker, group)


def at_first(first_client: int, brokers: str, group: str) -> Iterator[Row]:
    """Return one client per letter, connected in the warm-up."""
    for client, broker in enumerate(brokers, first_client):
        yield from arrives(-0.5, client, broker, group)


def even() -> Iterator[Row]:
    """2/2/2 from the beginning to the end; the clients close after the load."""
    yield from at_first(10, "aabbcc", "even")
    for client, broker in enumerate("aabbcc", 10):
        yield event("closed", LOAD_S + 1, client, broker, "even")


def skewed() -> Iterator[Row]:
    """b is killed at 10 s and serves again at 20 s. Its two clients go to a and stay: 2/2/2, then 4/0/2."""
    yield from at_first(20, "aabbcc", "skewed")
    for client, off_s in ((22, 0.3), (23, 0.5)):
        yield event("lost", 10.005, client, "b", "skewed")
        yield event("attempt", 10.1, client, "b", "skewed", Cause.UNREACHABLE)
        yield from arrives(10 + off_s, client, "a", "skewed")
        yield event("moved", 10 + off_s, client, "a", "skewed", Cause.LOST)


def oscillating() -> Iterator[Row]:
    """From 10 s on four clients go to and fro each half second: 60 moves each, 59 stays of them are flaps."""
    yield from at_first(30, "aabb", "oscillating")
    for client, first_broker in enumerate("aabb", 30):
        here, there = first_broker, "ab"[first_broker == "a"]
        for step in range(60):
            at_s = 10 + step / 2
            yield event("closed", at_s, client, here, "oscillating", Cause.ORDER)
            yield from arrives(at_s + 0.02, client, there, "oscillating")
            yield event("moved", at_s + 0.02, client, there, "oscillating", Cause.ORDER)
            here, there = there, here


def joining() -> Iterator[Row]:
    """c joins at 15 s; a and b send a client each: 3/3, then 2/2/2."""
    yield from at_first(40, "aaabbb", "joining")
    for client, here, at_s in ((40, "a", 16.0), (43, "b", 16.4)):
        yield event("closed", at_s - 0.1, client, here, "joining", Cause.ORDER)
        yield from arrives(at_s, client, "c", "joining")


def causes() -> Iterator[Row]:
    """A client per reason for leaving, a client without a recorded end, and a client that reconnects before it
    leaves."""
    ends = (
        ("lost", Cause.REDIRECT),
        ("closed", Cause.PRIORITY),
        ("closed", Cause.ORDER),
        ("lost", Cause.REFUSED),
        ("lost", Cause.LOST),
        ("closed", Cause.CLOSED),
    )
    for at_s, (event_name, cause) in enumerate(ends):
        yield event("connected", at_s, 50, "ab"[at_s % 2], "causes")
        yield event(event_name, at_s + 0.75, 50, "ab"[at_s % 2], "causes", cause)
    yield event("connected", 1, 51, "a", "causes")
    yield event("connected", 2, 51, "b", "causes")
    yield event("connected", 1, 52, "a", "causes")
    yield event("connected", 2, 52, "b", "causes")
    yield event("closed", 2.5, 52, "a", "causes", Cause.ORDER)


HISTORIES = (even, skewed, oscillating, joining, causes)


def all_rows() -> list[Row]:
    return [row for history in HISTORIES for row in history()]
