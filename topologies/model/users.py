"""Users for links: their names, which brokers have them, and the permissions that each broker gives them.

Every run has one user for clients, and one for links, ``brokerbench-bridge``. Both may do everything. A link with a
``user_name`` logs in as another user. Each broker has its own list of these users, as in real networks: a user may be
missing at a broker, may have another password there, or fewer permissions. A run generates the passwords.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

from topologies.model.site import BRIDGE_USER
from topologies.model.validity import require_name, require_rules


@dataclass(frozen=True)
class LinkUser:
    """A user at one broker. Each product adds its permissions: lists of destinations, by default all of them.

    ``other_password``: the broker has a second password for the user, which brokers without this setting reject.
    """

    KEY: ClassVar[tuple[str, ...]] = ("name",)
    EVERYTHING: ClassVar[tuple[str, ...]] = ()  # the patterns that cover all destinations

    name: str
    other_password: bool = False

    def __post_init__(self) -> None:
        require_name("user", self.name)
        require_rules(f"user {self.name!r}", self)

    @property
    def login(self) -> str:
        """The user name at the broker. Its prefix distinguishes links from clients."""
        return login_of(self.name)

    @property
    def permissions(self) -> dict[str, tuple[str, ...]]:
        """The destinations by permission, such as ``write``."""
        names = (field.name for field in fields(self) if field.name not in ("name", "other_password"))
        return {name: getattr(self, name) for name in names}

    @property
    def limits(self) -> tuple[str, ...]:
        """The permissions that do not cover all destinations, as ``write: queue://orders``."""
        limited = {name: held for name, held in self.permissions.items() if not {*self.EVERYTHING} <= {*held}}
        return tuple(f"{name}: {', '.join(held) or 'nothing'}" for name, held in limited.items())


def login_of(name: str) -> str:
    """The name with which a user of this name in a topology logs in."""
    return f"{BRIDGE_USER}-{name}"


def password_key(name: str, *, other: bool) -> str:
    """The key of a user's password in the secrets of a run."""
    return f"brokerbench.user.{'other-password' if other else 'password'}.{name}"


def user_at(users: Iterable[LinkUser], name: str) -> LinkUser | None:
    """The user of this name; None if it is missing."""
    return next((user for user in users if user.name == name), None)


def link_password_key(users_of_opener: Iterable[LinkUser], name: str) -> str:
    """The key of the password with which a broker logs in at others: its own password for the user, if it has one."""
    user = user_at(users_of_opener, name)
    return password_key(name, other=user is not None and user.other_password)


Owned = tuple[str, Iterable[LinkUser]]
"""A broker's name and its users."""


def login_problems(name: str, opener: Owned, ends: Iterable[Owned]) -> Iterator[str]:
    """Yield why brokers reject a link's login: one sentence per end that lacks the user or has another password."""
    key = link_password_key(opener[1], name)
    for broker, users in ends:
        user = user_at(users, name)
        if user is None:
            yield f"{broker} has no user {name!r}"
        elif password_key(name, other=user.other_password) != key:
            yield f"{broker} has another password for user {name!r} than {opener[0]}"
