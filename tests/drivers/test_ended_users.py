"""Checks that users which end before the load is over are reported, and others are not."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from gevent import GreenletExit
from locust.env import Environment
from locust.exception import StopUser

from drivers.contract import DriverError
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from drivers.users.session import Session, Tally, attach, detach

Bench = Callable[..., tuple[BrokerUser, Session]]


class EndedOrders(ProducerUser):
    group = "producers"


class EndedTakers(ConsumerUser):
    group = "consumers"


class EndedGuests(ProducerUser):
    group, may_fail = "producers", True


@pytest.fixture
def bench() -> Iterator[Bench]:
    environments: list[Environment] = []

    def user_of(kind: type[BrokerUser], *, load_s: float = 6.24, producing: bool = True) -> tuple[BrokerUser, Session]:
        session = cast(Any, Session.__new__(Session))
        session.problems, session.tally, session.producing = [], Tally(), producing
        session.load_s = lambda: load_s
        session.recorder = SimpleNamespace(member=lambda *_: None)
        session.clock = lambda: 0
        session._stopped_ns, session._stop_producing = 0, SimpleNamespace(wait=lambda: None)
        environments.append(Environment(user_classes=[kind]))
        attach(environments[-1], session)
        user = kind(environments[-1])
        user.record_member(session, 4, 4)
        return user, session

    yield user_of
    for environment in environments:
        detach(environment)


def stopped(_: Session) -> None:
    raise GreenletExit


@pytest.mark.parametrize(
    ("kind", "named"), [(EndedOrders, "EndedOrders: producer 4"), (EndedTakers, "EndedTakers: consumer 4")]
)
def test_a_user_stopped_in_the_load_is_reported(bench: Bench, kind: type[BrokerUser], named: str) -> None:
    user, session = bench(kind)
    with pytest.raises(GreenletExit):
        user.guard(stopped)
    assert session.problems == [
        f"{named} was stopped at 6.2 s of the load, although the scenario did not request it: find out what ended it, "
        "and run again"
    ]


def test_a_user_stopped_in_the_warm_up_is_reported(bench: Bench) -> None:
    user, session = bench(EndedOrders, load_s=-1.5)
    with pytest.raises(GreenletExit):
        user.guard(stopped)
    assert "was stopped before the load" in session.problems[0]


def test_users_stopped_after_the_load_are_not_reported(bench: Bench) -> None:
    user, session = bench(EndedOrders, producing=False)
    with pytest.raises(GreenletExit):
        user.guard(stopped)
    assert session.problems == []


def test_a_producer_that_may_fail_is_on_record(bench: Bench) -> None:
    """By its number, so that the analysis knows that its schedule ended."""

    def fails(_: Session) -> None:
        raise DriverError("broker b is gone")

    user, session = bench(EndedGuests)
    cast(Any, user)._keep(_joins_later=True)  # it leaves without a schedule
    with pytest.raises(StopUser):
        user.guard(fails)
    assert (session.problems, session.tally.failed_producers) == ([], [4])
