"""Describes a client's actions and their times in the same form for Java's log and our connection events."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.drivers.doubles import ConnectionRow

NS_PER_MS = 1_000_000


class Event(NamedTuple):
    """``told``: attempt X, connected X, lost, poll failed, moved X, give up."""

    told: str
    at_ms: float


def settled(events: Iterable[Event]) -> list[Event]:
    """Mark a client's attempts while it is connected as its search for a better broker.

    Java makes its attempt at that broker before it says so, we say so when we make it: it is left out for both.
    """
    result: list[Event] = []
    connected = False
    for told, at_ms in sorted(events, key=lambda event: event.at_ms):
        if connected and told.startswith("attempt"):
            continue
        if connected and told.startswith("connected"):
            result.append(Event(told.replace("connected", "moved"), at_ms))
            continue
        connected = told.startswith("connected") or (connected and told == "poll failed")
        result.append(Event(told, at_ms))
    return result


def of_ours(rows: Iterable[ConnectionRow], gave_up_ns: int | None) -> list[Event]:
    """Return the connection events of our client."""
    events: list[Event] = []
    current = ""
    for row in sorted(rows, key=lambda row: row.at_ns):
        at_ms = row.at_ns / NS_PER_MS
        if row.event == "attempt":
            events.append(Event("poll failed" if current and row.reason else f"attempt {row.broker}", at_ms))
        elif row.event == "connected":
            current = row.broker or ""
            events.append(Event(f"connected {row.broker}", at_ms))
        elif row.event == "lost":
            current = ""
            events.append(Event("lost", at_ms))
    if gave_up_ns is not None:
        events.append(Event("give up", gave_up_ns / NS_PER_MS))
    return settled(events)


def of_java(log: str, cases: Mapping[str, tuple[str, str]]) -> dict[str, list[Event]]:
    """Return the events in the Java client's log by case. ``cases``: the case and the letter behind each port.

    Lines without a port belong to the transport that their thread served last: each names its URIs before it waits.
    """
    result: dict[str, list[Event]] = {case: [] for case, _ in cases.values()}
    serving: dict[str, str] = {}
    last: dict[str, str] = {}
    for at_ns, thread, message in _lines(log):
        port = re.search(r"127\.0\.0\.1:(\d+)", message)
        if port and port[1] in cases:
            serving[thread] = cases[port[1]][0]
        case = serving.get(thread)
        if case is None:
            continue
        for told in _told(message, cases[port[1]][1] if port and port[1] in cases else "", last.get(case, "")):
            result[case].append(Event(told, at_ns / NS_PER_MS))
            last[case] = told
    return {case: settled(events) for case, events in result.items()}


def waited_for(told: Sequence[str], at: int) -> int | None:
    """Return the earlier event after which the client waited before the event at ``at``; None if it did not wait.

    That is the event before it, but for two: a loss, which the port decides on; and what follows a loss while the
    client polls, since it finishes the pause that its last poll began, whenever in it the connection went.
    """
    if told[at] == "lost":
        return None
    if told[at - 1] == "lost" and told[at - 2] == "poll failed":
        return at - 2
    return at - 1


def _lines(log: str) -> Iterator[tuple[int, str, str]]:
    for line in log.splitlines():
        at_ns, _, rest = line.partition(" ")
        thread, _, message = rest.partition(" ")
        if at_ns.isdigit():
            yield int(at_ns), thread, message


def _told(message: str, letter: str, last: str) -> tuple[str, ...]:
    if re.match(r"Attempting \d+th connect", message):
        return (f"attempt {letter}",)
    if message.startswith("Connection established"):
        return (last.replace("attempt", "connected"),)
    if message.startswith("Failed to build backup"):
        return ("poll failed",)
    if "failed, attempting to automatically reconnect" in message:
        return ("lost",)
    if "failed, not attempting" in message:
        return ("lost", "give up")
    return ("give up",) if re.match(r"Failed to connect to .* after: \d+ attempt\(s\)$", message) else ()
