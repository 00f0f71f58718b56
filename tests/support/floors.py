"""Declares the minimum number of passed tests for each broker product, protocol and kind of planted truth.

A tier with fewer passed tests fails, as it proves less than it claims.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Tests whose id matches ``pattern`` and which have one of ``markers`` (any test if there are none).

    ``least``: the number that must pass, in ``make test`` and ``make test-all``, or only in ``tier``. ``need``:
    without it, the group is left out.
    """

    name: str
    pattern: str
    markers: frozenset[str]
    least: int
    need: str = ""
    tier: str = ""

    def includes(self, nodeid: str, markers: Collection[str]) -> bool:
        return (not self.markers or not self.markers.isdisjoint(markers)) and bool(re.search(self.pattern, nodeid))


REAL = frozenset({"brokers", "containers"})
ANY: frozenset[str] = frozenset()

GROUPS: tuple[Group, ...] = (
    Group("ActiveMQ Classic, real brokers", r"classic|mesh|single|test_steady|stomp|openwire", REAL, 110),
    Group("ActiveMQ Artemis, real brokers", r"artemis|senders|core", REAL, 25),
    Group("STOMP", r"stomp", REAL, 55),
    Group("OpenWire", r"openwire", REAL, 40),
    Group("Core", r"core", REAL, 20),
    Group("AMQP", r"amqp", REAL, 10, need="amqp"),
    Group("brokers in memory", r"memory", ANY, 95),
    Group("planted truths, whole runs", r"^tests/planted/", REAL, 4, tier="all"),
    Group("planted truths, analysis", r"^tests/analysis/", frozenset({"spark"}), 40),
    Group("report", r"^tests/reports/", ANY, 85),
)
"""The numbers are about nine tenths of the tests that the tier ran at the time of writing."""


def groups_of(nodeid: str, markers: Collection[str]) -> list[str]:
    return [group.name for group in GROUPS if group.includes(nodeid, markers)]


def shortfalls(tier: str, passed: Mapping[str, int], left_out: Collection[str]) -> list[str]:
    """Return one sentence for each group of this tier with too few passed tests."""
    return [
        f"{group.name}: {passed.get(group.name, 0)} tests passed, at least {group.least} must"
        for group in GROUPS
        if tier != "nightly" and group.tier in ("", tier) and group.need not in left_out
        if passed.get(group.name, 0) < group.least
    ]
