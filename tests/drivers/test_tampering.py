"""Checks that a planned fault of the in-memory broker affects the chosen message, and no other."""

import pytest

from drivers.memory.network import Tamperer, Tampering
from drivers.memory.queues import Stored


def arrivals(tampering: Tampering) -> list[bytes]:
    """The messages that pass if the second of three is chosen. The second one of another destination is not."""
    tamperer, passed = Tamperer(), []
    tamperer.plan(tampering, "queue://orders", 2)
    for body in (b"a1", b"b1", b"c1"):
        passed += tamperer.passed("queue://orders", Stored(body, "broker-1", 0))
        assert tamperer.passed("queue://others", Stored(body, "broker-1", 0)) == [Stored(body, "broker-1", 0)]
    return [stored.body for stored in passed]


@pytest.mark.parametrize(
    ("tampering", "bodies"),
    [
        (Tampering.DROP, [b"a1", b"c1"]),
        (Tampering.DUPLICATE, [b"a1", b"b1", b"b1", b"c1"]),
        (Tampering.HOLD_BACK, [b"a1", b"c1", b"b1"]),
        (Tampering.CORRUPT, [b"a1", b"b\xce", b"c1"]),
    ],
)
def test_only_the_chosen_message_is_tampered_with(tampering: Tampering, bodies: list[bytes]) -> None:
    assert arrivals(tampering) == bodies
