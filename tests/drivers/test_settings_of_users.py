"""Checks that a user cannot change a setting of its class, and which attributes are settings."""

from typing import Any, cast

import pytest
from locust.env import Environment

from drivers.users.declared_settings import kind_of, settings_of
from drivers.users.locust_users import ConsumerUser, ProducerUser
from drivers.users.session import attach


class Producer(ProducerUser):
    group, fixed_count = "producers", 1


class Changed(Producer):
    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.body_bytes = 64  # type: ignore[misc]


class Problems(list[str]):
    """The part of a session that a user reports to."""

    report = list.append


SENTENCE = (
    "self.body_bytes = 64: body_bytes is a setting of the class {name}, the same for all of its users; write "
    "body_bytes = 64 in the class, or self._body_bytes for an attribute of your own"
)


@pytest.mark.parametrize("name", [*settings_of(ProducerUser)])
def test_a_user_cannot_change_a_setting(name: str) -> None:
    with pytest.raises(AttributeError, match=f"self.{name} = 64: {name} is a setting of the class Producer"):
        setattr(Producer(Environment()), name, 64)


def test_a_user_has_attributes_of_its_own() -> None:
    user = cast(Any, Producer(Environment()))
    user.counted = user._body_bytes = 5
    assert (user.counted, user._body_bytes) == (5, 5)


def test_a_setting_changed_in_init_ends_the_run() -> None:
    """Locust would log the error, and the run would wait for a user that never comes."""
    environment, problems = Environment(), Problems()
    attach(environment, cast(Any, problems))
    with pytest.raises(AttributeError):
        Changed(environment)
    assert problems == [f"Changed: {SENTENCE.format(name='Changed')}"]


def test_each_kind_of_user_has_its_own_settings() -> None:
    assert kind_of(Changed) is ProducerUser
    both = {*settings_of(ProducerUser)} & {*settings_of(ConsumerUser)}
    assert {"group", "destination", "fixed_count", "may_fail"} <= both
    assert {"body_bytes", "sends_per_second"} <= {*settings_of(ProducerUser)} - both
    assert {"prefetch", "work_ms", "stays"} <= {*settings_of(ConsumerUser)} - both
    assert "role" not in settings_of(ProducerUser)
