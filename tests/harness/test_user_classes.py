"""Checks the user classes that a run makes. They have the settings of the options; the scenario's keep their own."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerbench import ConsumerUser, ProducerUser
from drivers.users.fixed_settings import fix_settings
from harness.options.run_options import read
from harness.options.user_classes import settings, users_of, with_settings
from records.errors import UserError
from tests.harness.test_options import Consumer, Producer, namespace, scenario


class Paced:
    sends_per_second = 20.0


class Orders(Paced, ProducerUser):
    """Orders of a shop."""

    destination, fixed_count = "queue://orders", 2

    def note(self) -> str:
        return f"{type(self).__name__} sends {self.sends_per_second:g} per second"


ARGUMENTS = {
    "--producers": st.integers(1, 50),
    "--consumers": st.integers(1, 50),
    "--rate": st.sampled_from(("5", "100,200@20s", "search(200)", "Producer=40")),
    "--body-bytes": st.integers(32, 5000),
    "--connections": st.sampled_from(("one", "pooled", "per-message")),
    "--selector": st.sampled_from(("TRUE", "FALSE")),
}


@given(st.fixed_dictionaries({}, optional=ARGUMENTS))
def test_a_run_changes_nothing_in_the_classes_of_its_scenario(chosen: dict[str, object]) -> None:
    before = [{**vars(user)} for user in (Producer, Consumer)]
    words = [str(word) for pair in chosen.items() for word in pair]
    made = users_of(scenario(), read(namespace(*words), scenario(), None))
    assert [{**vars(user)} for user in (Producer, Consumer)] == before
    assert [user.__mro__[1] for user in made.every] == [Producer, Consumer]


def test_a_class_of_a_run_has_the_name_and_the_methods_of_the_scenarios_class() -> None:
    made = with_settings(Orders, {"sends_per_second": 7.0})
    assert (made.__name__, made.__module__, made.__doc__) == (Orders.__name__, Orders.__module__, Orders.__doc__)
    assert cast(Any, Orders.note)(object.__new__(made)) == "Orders sends 7 per second"
    assert made.tasks == Orders.tasks
    assert not made.abstract


def test_a_later_change_of_a_base_does_not_reach_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made = with_settings(Orders, {})
    monkeypatch.setattr(Paced, "sends_per_second", 60.0)
    assert settings((made,))["Orders"]["sends_per_second"] == 20.0


class Sized(ProducerUser):
    """Its subclasses get a size and a queue of their own."""

    abstract = True
    made = 0

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        Sized.made += 1
        cls.body_bytes, cls.destination = 2048, f"queue://orders.{Sized.made}"


class SizedOrders(Sized):
    pass


def test_what_a_base_sets_in_its_subclasses_does_not_replace_what_the_options_chose() -> None:
    made = with_settings(SizedOrders, {"body_bytes": 64})
    assert (made.body_bytes, made.destination) == (64, SizedOrders.destination)


def test_a_class_that_allows_no_subclass_is_refused_with_a_sentence() -> None:
    class Only(ConsumerUser):
        def __init_subclass__(cls, **_: Any) -> None:
            raise TypeError("no more")

    with pytest.raises(
        UserError, match=r"^Only: a run makes its users of a subclass, and TypeError was raised .* no more; "
    ):
        with_settings(Only, {})


def test_the_settings_of_a_run_cannot_change() -> None:
    class Sure(ConsumerUser):
        destination = "queue://orders"

    made = with_settings(Sure, {"fixed_count": 3})
    fix_settings([made])
    for user in (made, Sure):
        with pytest.raises(AttributeError, match=r"Sure\.fixed_count = 4: the settings of a class are fixed"):
            user.fixed_count = 4
