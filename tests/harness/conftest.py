"""Restores the settings of the user classes in a test file, as a run's options change them."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from drivers.users.broker_user import BrokerUser
from harness.options.user_settings import remember, restore


@pytest.fixture(autouse=True)
def restore_user_classes(request: pytest.FixtureRequest) -> Iterator[None]:
    classes = [kind for kind in vars(request.module).values() if isinstance(kind, type)]
    own = remember(SimpleNamespace(users=[kind for kind in classes if issubclass(kind, BrokerUser)]))
    yield
    restore(own)
