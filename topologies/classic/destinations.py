"""Matches destinations by ActiveMQ Classic's wildcards: ``*`` is one level, ``>`` all that follow."""

from collections.abc import Iterable

from topologies.classic.network_connectors import NetworkConnector

ADVISORIES = "ActiveMQ.Advisory.Consumer."
"""Topics on which a broker tells of its consumers: this, ``Queue.`` or ``Topic.``, and the destination's name."""


def matches_any(patterns: Iterable[str], destination: str) -> bool:
    """Whether one of ``queue://orders.>``, … means ``queue://orders.eu``. Kinds must agree."""
    kind, _, name = destination.partition("://")
    split = (pattern.partition("://") for pattern in patterns)
    return any(kind == wanted and matches(pattern, name) for wanted, _, pattern in split)


def matches(pattern: str, name: str) -> bool:
    """By levels, which dots part: ``orders.>`` means ``orders`` and all below it, ``orders.*`` what is one below."""
    wanted, given = pattern.split("."), name.split(".")
    for at, part in enumerate(wanted):
        if part == ">" and at == len(wanted) - 1:
            return len(given) >= at
        if at >= len(given) or part not in ("*", given[at]):
            return False
    return len(wanted) == len(given)


def is_advised(link: NetworkConnector, destination: str) -> bool:
    """Whether the link listens for consumers of ``destination``: by its ``destination_filter``, or all it includes."""
    if not link.destination_filter:
        dynamic = link.dynamically_included_destinations
        return not dynamic or matches_any(dynamic, destination)
    kind, _, name = destination.partition("://")
    advisory = f"{ADVISORIES}{kind.capitalize()}.{name}"
    filters = link.destination_filter.split(",")
    # The broker puts the prefix before the whole text, so only the first one may go without it.
    first = filters[0] if link.destination_filter.startswith(ADVISORIES) else ADVISORIES + filters[0]
    return any(matches(pattern.strip(), advisory) for pattern in (first, *filters[1:]))
