"""Models the users of Artemis links, with their permissions as in ``security-settings``.

Artemis applies only the most specific ``security-setting`` that matches an address. So each rendered setting also has
the users with a permission for a wider pattern.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from topologies.artemis.matching import overlap
from topologies.model.users import LinkUser
from topologies.model.validity import plains

ALL = "#"


@dataclass(frozen=True)
class ArtemisUser(LinkUser):
    """A user at one Artemis broker; its permissions are lists of addresses, with ``#`` and ``*`` as wildcards."""

    EVERYTHING: ClassVar[tuple[str, ...]] = (ALL,)

    send: tuple[str, ...] = plains(ALL)
    consume: tuple[str, ...] = plains(ALL)
    browse: tuple[str, ...] = plains(ALL)
    create: tuple[str, ...] = plains(ALL)  # addresses and queues
    delete: tuple[str, ...] = plains(ALL)


def matches_of(users: Sequence[ArtemisUser]) -> list[str]:
    """The patterns that need a ``security-setting``: ``#`` and those in the users' permissions."""
    patterns = (pattern for user in users for held in user.permissions.values() for pattern in held)
    return list(dict.fromkeys((ALL, *patterns)))


def permitted(users: Sequence[ArtemisUser], permission: str, match: str) -> list[str]:
    """The logins of the users with a permission for all addresses that ``match`` matches."""
    return [user.login for user in users if any(covers(pattern, match) for pattern in user.permissions[permission])]


def covers(wider: str, pattern: str) -> bool:
    """Whether each address that ``pattern`` matches also matches ``wider``."""
    return _covers(tuple(wider.split(".")), tuple(pattern.split(".")))


def _covers(wider: tuple[str, ...], words: tuple[str, ...]) -> bool:
    if not wider:
        return not words
    if wider[0] == "#":
        return any(_covers(wider[1:], words[at:]) for at in range(len(words) + 1))
    if not words or (words[0] == "#" and wider[0] != "#"):
        return False
    return wider[0] in ("*", words[0]) and _covers(wider[1:], words[1:])


def ambiguous(users: Sequence[ArtemisUser]) -> Iterator[tuple[str, str]]:
    """Pairs of patterns that match common addresses although neither covers the other: only one of them applies."""
    patterns = matches_of(users)
    for at, pattern in enumerate(patterns):
        for other in patterns[at + 1 :]:
            if overlap(pattern, other) and not (covers(pattern, other) or covers(other, pattern)):
                yield pattern, other
