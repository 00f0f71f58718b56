"""Compares a worker's user classes with the master's. Both read the locustfile, which may differ between hosts."""

import inspect
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from drivers.users.broker_user import BrokerUser
from drivers.users.declared_settings import kind_of, settings_of
from harness.options.user_classes import CONFIGURED

SOURCE = "source file"
"""The key in a class's settings with a digest of the file that defines the class."""


def own_settings(users: Iterable[type]) -> dict[str, dict[str, str]]:
    """Return the repr of the attributes that no option changes, with role and source digest, by class."""
    return {
        user.__name__: {
            **{
                name: repr(getattr(user, name))
                for name in ("role", *settings_of(kind_of(user)))
                if name not in CONFIGURED
            },
            SOURCE: _source_digest(user),
        }
        for user in users
        if issubclass(user, BrokerUser)
    }


def _source_digest(user: type) -> str:
    """Return a digest of the file that defines a class; '' for a class without a file. Its methods count too."""
    try:
        return sha256(Path(inspect.getfile(user)).read_bytes()).hexdigest()[:12]
    except (TypeError, OSError):
        return ""


def other_settings(own: Mapping[str, Mapping[str, str]], masters: Mapping[str, Mapping[str, str]]) -> str:
    """Return a sentence if a worker's `own_settings` differ from the master's; '' if they are the same."""
    next_step = "; give both the same locustfile and the same environment"
    for name in [*masters, *own]:
        if name not in own or name not in masters:
            has, lacks = ("the master", "this worker") if name in masters else ("this worker", "the master")
            return f"{has} has a user class {name}, but {lacks} does not{next_step}"
        differences = [
            f"{_named(name, setting)} is {own[name][setting]} here, and {value} in the master"
            for setting, value in masters[name].items()
            if setting in own[name] and own[name][setting] != value  # roles have different settings
        ]
        if differences:
            return "; ".join(differences) + next_step
    return ""


def _named(user_class: str, setting: str) -> str:
    return f"the SHA-256 of the file of {user_class}" if setting == SOURCE else f"{user_class}.{setting}"
