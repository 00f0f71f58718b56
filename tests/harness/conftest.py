"""Restores the settings of the user classes in a test file, which its tests change."""

from collections.abc import Iterator

import pytest

from drivers.users.broker_user import BrokerUser
from drivers.users.declared_settings import kind_of, settings_of


@pytest.fixture(autouse=True)
def restore_user_classes(request: pytest.FixtureRequest) -> Iterator[None]:
    classes = [
        kind for kind in vars(request.module).values() if isinstance(kind, type) and issubclass(kind, BrokerUser)
    ]
    own = {user: {name: getattr(user, name) for name in settings_of(kind_of(user))} for user in classes}
    yield
    for user, settings in own.items():
        for name, value in settings.items():
            if getattr(user, name) is not value:
                setattr(user, name, value)
