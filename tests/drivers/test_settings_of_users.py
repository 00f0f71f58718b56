"""Checks that nothing changes a setting of a user class in a run, and which attributes are settings."""

from collections.abc import Iterator
from typing import Any, cast
from weakref import WeakSet

import pytest
from locust.env import Environment

from drivers.users import fixed_settings
from drivers.users.broker_user import BrokerUser
from drivers.users.declared_settings import kind_of, settings_of
from drivers.users.fixed_settings import fix_settings
from drivers.users.locust_users import ConsumerUser, ProducerUser
from drivers.users.session import attach, detach


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


@pytest.mark.parametrize("name", ["_index", "_number", "_ready", "index", "guard", "role"])
def test_a_user_cannot_replace_what_is_ours(name: str) -> None:
    with pytest.raises(AttributeError, match=f"self.{name} = 0: a ProducerUser uses {name} itself"):
        setattr(Producer(Environment()), name, 0)


class Mixin:
    sends_per_second = 20.0


class Base(ProducerUser):
    abstract = True
    durable = False


class Fixed(Mixin, Base):
    fixed_count = 1


@pytest.fixture
def problems(monkeypatch: pytest.MonkeyPatch) -> Iterator[Problems]:
    """The reports to the run while the settings of `Fixed` are fixed."""
    environment, problems = Environment(), Problems()
    attach(environment, cast(Any, problems))
    monkeypatch.setattr(fixed_settings, "_fixed", WeakSet())
    fix_settings([Fixed])
    yield problems
    detach(environment)


@pytest.mark.parametrize("name", [*settings_of(ProducerUser)])
def test_fixed_settings_do_not_change(name: str, problems: Problems) -> None:
    before = getattr(Fixed, name)
    for user in (Fixed, Base, ProducerUser, BrokerUser):
        if user is BrokerUser and name not in settings_of(BrokerUser):
            continue
        with pytest.raises(AttributeError, match=f"{user.__name__}.{name} = 64: the settings of a class are fixed"):
            setattr(user, name, 64)
    with pytest.raises(AttributeError, match=f"del Fixed.{name}: the settings of a class are fixed"):
        delattr(Fixed, name)
    assert getattr(Fixed, name) == before
    assert problems[0] == (
        f"Fixed.{name} = 64: the settings of a class are fixed once a run has begun, and the run records them; write "
        f"{name} = 64 in the class, or use _{name} for an attribute of your own"
    )


def test_a_fixed_class_has_attributes_of_its_own(problems: Problems) -> None:
    cast(Any, Fixed)._counted = 5
    assert cast(Any, Fixed)._counted == 5
    assert not problems


def test_each_kind_of_user_has_its_own_settings() -> None:
    assert kind_of(Changed) is ProducerUser
    both = {*settings_of(ProducerUser)} & {*settings_of(ConsumerUser)}
    assert {"group", "destination", "fixed_count", "may_fail"} <= both
    assert {"body_bytes", "sends_per_second"} <= {*settings_of(ProducerUser)} - both
    assert {"prefetch", "work_ms", "stays"} <= {*settings_of(ConsumerUser)} - both
    assert "role" not in settings_of(ProducerUser)
