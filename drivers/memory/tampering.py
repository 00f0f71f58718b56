"""Loses, doubles or spoils a message that a test chose, after the network has confirmed it.

Plain data without a lock of its own: `drivers.memory.network` guards it.
"""

from collections import Counter
from dataclasses import replace
from enum import StrEnum

from drivers.memory.queues import Stored


class Tampering(StrEnum):
    """The change that the network makes to a chosen message after it has confirmed it."""

    DROP = "drop"
    DUPLICATE = "duplicate"
    HOLD_BACK = "hold back"  # delivered behind the message after it
    CORRUPT = "corrupt"  # the last byte of the body is flipped


class Tamperer:
    """Counts what is accepted for each destination (``queue://x``), and does to the chosen ones what was planned."""

    def __init__(self) -> None:
        self._planned: dict[tuple[str, int], Tampering] = {}
        self._accepted: Counter[str] = Counter()
        self._held_back: dict[str, list[Stored]] = {}

    def plan(self, what: Tampering, destination: str, nth: int) -> None:
        """Do that to the nth message (1, 2 …) for ``destination``."""
        self._planned[destination, nth] = what

    def passed(self, destination: str, stored: Stored) -> list[Stored]:
        """The messages that go on in place of one that came in."""
        self._accepted[destination] += 1
        what = self._planned.get((destination, self._accepted[destination]))
        if what is Tampering.DROP:
            return []
        if what is Tampering.HOLD_BACK:
            self._held_back.setdefault(destination, []).append(stored)
            return []
        if what is Tampering.CORRUPT:
            flipped = stored.body[:-1] + bytes([stored.body[-1] ^ 0xFF])
            stored = replace(stored, body=flipped)
        copies = 2 if what is Tampering.DUPLICATE else 1
        return [stored] * copies + self._held_back.pop(destination, [])
