"""Models the users of Classic links, with their permissions as in an ``authorizationEntry``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from topologies.model.users import LinkUser
from topologies.model.validity import destinations

EVERYTHING = ("queue://>", "topic://>")


@dataclass(frozen=True)
class ClassicUser(LinkUser):
    """A user at one Classic broker.

    It always has all permissions for advisory topics and temporary destinations: bridges need them.
    """

    EVERYTHING: ClassVar[tuple[str, ...]] = EVERYTHING

    read: tuple[str, ...] = destinations(*EVERYTHING)  # queue://NAME or topic://NAME, wildcards allowed
    write: tuple[str, ...] = destinations(*EVERYTHING)
    admin: tuple[str, ...] = destinations(*EVERYTHING)  # create and delete destinations


def authorizes(users: Sequence[ClassicUser]) -> bool:
    """Whether a broker with these users checks permissions. Otherwise each user may do everything."""
    return any(user.limits for user in users)
