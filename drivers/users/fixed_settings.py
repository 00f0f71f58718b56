"""Keeps the settings of user classes fixed once a run's options have set them: the run records them once."""

from collections.abc import Iterable, Iterator
from weakref import WeakSet

from locust.user.users import UserMeta

from drivers.users.declared_settings import kind_of, settings_of
from drivers.users.session import report_to_all

_fixed: WeakSet[type] = WeakSet()


class SettingsMeta(UserMeta):
    """Metaclass of all our user classes: AttributeError for a change of a fixed setting."""

    def __setattr__(self, name: str, value: object) -> None:
        _require_free(self, name, f"{self.__name__}.{name} = {value!r}", f"{name} = {value!r}")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        _require_free(self, name, f"del {self.__name__}.{name}", f"{name} = …")
        super().__delattr__(name)


def fix_settings(users: Iterable[type]) -> None:
    """Reject each change of a setting in these classes and their bases from now on: it would not reach the run."""
    for user in users:
        _fixed.update(_bases(user))


def _bases(user: type) -> Iterator[type]:
    return (base for base in user.__mro__ if isinstance(base, SettingsMeta))


def _require_free(user: type, name: str, attempt: str, in_the_class: str) -> None:
    """Report and raise a change of a fixed setting. An error in a greenlet or a listener alone would only be logged."""
    if user in _fixed and name in settings_of(kind_of(user)):
        problem = (
            f"{attempt}: the settings of a class are fixed once a run has begun, and the run records them; write "
            f"{in_the_class} in the class, or use _{name} for an attribute of your own"
        )
        report_to_all(problem)
        raise AttributeError(problem)
