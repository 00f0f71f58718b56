"""Destination names of a user class: one name, or several from a pattern with a placeholder for their numbers.

    expanded("queue://orders.{n}", 3)  ->  queue://orders.1, queue://orders.2, queue://orders.3

Each user of a class has a share of them, the same share in every run.
"""

from collections.abc import Sequence

PLACE = "{n}"


def expand_names(pattern: str, count: int) -> tuple[str, ...]:
    """Return the names of ``count`` destinations, numbered from 1. A single destination needs no number in its name.

    ValueError for a count below 1, and for several destinations without a placeholder for their numbers.
    """
    if count < 1:
        raise ValueError(f"destinations = {count}: must be at least 1")
    if count > 1 and PLACE not in pattern:
        raise ValueError(
            f"destinations = {count}: all of them would be {pattern}; write a destination with a place for the number, "
            f"such as {pattern}.{PLACE}"
        )
    return tuple(pattern.replace(PLACE, str(number)) for number in range(1, count + 1))


def replies_to(destination: str) -> str:
    """Return the name under which the replies to a destination's requests are recorded."""
    return f"{destination}.replies"


def share_of(user: int, users: int, destinations: Sequence[str]) -> tuple[str, ...]:
    """Return the destinations of one of ``users``, counted from 0. Together the users have every destination.

    A user has one destination if there are at least as many users as destinations, and otherwise every ``users``-th.
    """
    return tuple(destinations[user % len(destinations) :: users])
